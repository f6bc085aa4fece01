"""The documentation site: `make docs` builds it with Sphinx, warnings as errors."""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "vfpilco"
author = "The vfpilco developers"
copyright = "The vfpilco developers, Apache-2.0"
release = version = installed("vfpilco")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",
    "mathml",
    "spaces",
]
exclude_patterns = ["_build", "results/*.jsonl"]

# -- Markdown and notebooks ------------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
myst_update_mathjax = False
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# A cached notebook is executed again when its own text changes. `make clean` removes the cache.
nb_execution_cache_path = str(HERE / "_build" / "notebooks")

# Notebooks run without the user's own IPython start-up files, and kernels do not warn about their local sockets.
_profile = HERE / "_build" / "ipython" / "profile_default"
_profile.mkdir(parents=True, exist_ok=True)
(_profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(_profile.parent)
logging.getLogger("traitlets").setLevel(logging.WARNING)
# With settings this small most of the time is compiling.
_fast = "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
if tuple(map(int, installed("jaxlib").split(".")[:2])) < (0, 11):  # later ones end at flags that they do not know
    _fast += " --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_fast}".strip()

# -- API reference ---------------------------------------------------------------------------------------------------

default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "special-members": "__call__"}
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
toc_object_entries_show_parents = "hide"

# Every reference to something of this package must lead somewhere; other packages are not part of the site.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!vfpilco\.).*"),
    ("py:.*", r"vfpilco\..*\.(T|Bound)"),  # type variables
    ("py:class", r"vfpilco\.(report\.movie\.Film|storage\.trialfile\.NoLog)"),  # of inner methods
]

# -- HTML ------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"vfpilco {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0f766e", "color-brand-content": "#0f766e"},
    "dark_css_variables": {"color-brand-primary": "#2dd4bf", "color-brand-content": "#2dd4bf"},
}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
linkcheck_ignore = [r"https?://.*"]
