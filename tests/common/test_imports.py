from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vfpilco

IMPORTING = """
import signal, sys, threading
before = {name: signal.getsignal(number) for name, number in signal.Signals.__members__.items()}
modules = set(sys.modules)
import vfpilco
import json
print(json.dumps({
    "imported": sorted(set(sys.modules) - modules - {"json"}),
    "handlers": before == {name: signal.getsignal(number) for name, number in signal.Signals.__members__.items()},
    "threads": threading.active_count(),
}))
"""
CONFIGURED = """
import sys
import jax
before = dict(jax.config.values)
import vfpilco
names = [getattr(vfpilco, name) for name in vfpilco.__all__]
slow = [name for name in ("scipy.signal", "scipy.stats", "matplotlib.pyplot", "mujoco") if name in sys.modules]
assert not slow, slow  # they take a second, which is for those who need them
changed = sorted(name for name, value in jax.config.values.items() if before.get(name) != value)
assert not changed, changed
import os
assert not any(name.startswith(("JAX_", "XLA_")) for name in os.environ), os.environ
vfpilco.configure()
assert jax.config.jax_enable_x64
assert len(jax.devices()) >= 2
"""


def run(program: str, **environment: str) -> str:
    """What a program prints, without the environment variables of JAX."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**mine, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_nothing_else_and_changes_nothing():
    found = json.loads(run(IMPORTING))
    ours = [name for name in found["imported"] if name.startswith("vfpilco")]
    assert ours == ["vfpilco"]
    for heavy in ("jax", "numpy", "scipy", "optax", "matplotlib", "mujoco", "gymnasium"):
        assert heavy not in found["imported"]
    assert found["handlers"]
    assert found["threads"] == 1


def test_only_configure_changes_the_configuration_of_jax(tmp_path):
    run(CONFIGURED, XDG_CACHE_HOME=str(tmp_path))
    assert list(tmp_path.glob("vfpilco/compiled-*"))


@pytest.mark.parametrize("name", vfpilco.__all__)
def test_every_public_name_can_be_imported_and_is_documented(name):
    value = getattr(vfpilco, name)
    assert value.__doc__
    assert not name.startswith("_")


def test_names_that_were_public_lead_to_their_modules():
    assert not set(vfpilco.ELSEWHERE) & set(vfpilco.__all__)
    for name, module in vfpilco.ELSEWHERE.items():
        with pytest.warns(DeprecationWarning, match=f"Import {name} from {module}, not from vfpilco"):
            assert getattr(vfpilco, name).__name__ == name


def test_public_names_are_listed_and_others_are_unknown():
    assert set(vfpilco.__all__) <= set(dir(vfpilco))
    assert len(set(vfpilco.__all__)) == len(vfpilco.__all__)
    assert vfpilco.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="module 'vfpilco' has no attribute 'lern'"):
        vfpilco.lern  # noqa: B018


def test_the_public_names_are_those_that_type_checkers_see():
    stated = Path(vfpilco.__file__).read_text().split("if TYPE_CHECKING:")[1].split("_PLACES")[0]
    for name in vfpilco.__all__:
        assert f" {name}" in stated, name
