"""The documentation agrees with the code; `make docs` builds the site itself and checks links between its pages."""

import ast
import dataclasses
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import ledger
import pytest

import vfpilco
from vfpilco.model.kernels.expression import to_text
from vfpilco.policy.limits import InputLimits
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.tasks.task import Task
from vfpilco.trials.choosing import KERNELS
from vfpilco.trials.options import Options
from vfpilco.trials.settings import ModelSettings, Settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES]
SETTINGS = (DOCS / "reference/settings.md").read_text()
CHOSEN = (DOCS / "theory/chosen.md").read_text()
TASK_GUIDE = (DOCS / "howto/describe-a-task.md").read_text()


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```(?:python|\{code-cell\} ipython3)\n(.*?)```", text, flags=re.S)


def anchors(text: str) -> set[str]:
    """What a link may name after the #: headings as GitHub and MyST write them."""
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    titles = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", title) for title in re.findall(r"^#+ (.+)$", prose, flags=re.M)]
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


# -- settings ----------------------------------------------------------------------------------------------------


def documented() -> dict[str, str]:
    return dict(re.findall(r"^\| `(\w+)` \| `?([^`|]+?)`? \|", SETTINGS, flags=re.M))


def test_every_setting_is_documented_with_its_default():
    defaults = {f.name: "chosen" if f.default is None else str(f.default) for f in dataclasses.fields(Options)}
    assert documented() == defaults


@pytest.mark.parametrize("group", [OptimiserSettings, InputLimits])
def test_the_documented_defaults_are_those_of_the_groups(group):
    rows = documented()
    assert {f.name: rows[f.name] for f in dataclasses.fields(group)} == {
        f.name: str(f.default) for f in dataclasses.fields(group)
    }


def test_the_documented_model_is_the_default_model():
    model, rows = ModelSettings(), documented()
    assert (model.kernel, model.inducing) == (None, None)
    assert (rows["kernel"], rows["inducing"]) == ("auto", "chosen")


def called_default(text: str) -> list[tuple[str, str]]:
    """The settings that a page calls default, with their values: in comments of code, and in sentences."""
    commented = re.findall(r"^ *(\w+)=.*,  # default: (.+)$", text, flags=re.M)
    said = re.findall(r"\b(trials|steps|particles|basis functions) \(default: (\d+)\)", text)
    return [*commented, *((name.replace(" ", "_"), value) for name, value in said)]


def test_what_a_page_calls_default_is_the_default():
    defaults = {f.name: f.default for f in dataclasses.fields(Options)} | Settings().flat()
    defaults["trials"] = Task.__dataclass_fields__["trials"].default
    found = [(page.name, *each) for page in PAGES for each in called_default(page.read_text())]
    assert len(found) >= 8
    for page, name, value in found:
        assert value in (str(defaults[name]), str(defaults[name]).replace("basis_functions=", "")), (page, name)
    for page in PAGES:  # no other way of saying it; results have the defaults of their time
        text = re.sub(r"\(default: \d+\)|# default: ", "", page.read_text())
        assert "results" in page.parts or not re.search(r"\bdefault:? \d", text), page


def test_the_documented_constants_of_choices_are_those_of_the_code():
    rows = re.findall(r"^\| `([\w/]+)\.py` \| `(\w+)` \| ([^|]+) \|", CHOSEN, flags=re.M)
    assert len(rows) > 20
    for file, name, shown in rows:
        value = getattr(importlib.import_module(f"vfpilco.{file.replace('/', '.')}"), name)
        assert shown == ", ".join(map(str, value if isinstance(value, tuple) else (value,))), name


def test_the_documented_kernels_are_those_that_are_chosen_from():
    shown = re.findall(r"^\| `([^`]+)` \| [^|]+ \|$", CHOSEN, flags=re.M)
    assert shown == [to_text(kernel) for kernel in KERNELS]


# -- campaigns ---------------------------------------------------------------------------------------------------


def test_the_documented_numbers_of_cases_are_those_that_were_recorded():
    page = ledger.PAGE.read_text()
    assert page == ledger.written(page)


def test_every_campaign_counts_for_a_promise():
    counted = [name for _, _, campaigns in ledger.PROMISES for name in campaigns]
    assert sorted(counted) == sorted(ledger.GOALS)
    pages = "".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    for name in ledger.GOALS:
        assert name in pages or name in ledger.FAULTS, name


def test_a_campaign_uses_every_seed_once():
    following = dict.fromkeys(ledger.GOALS, 0)
    for record in ledger.records():
        assert record.first == following[record.campaign], record
        following[record.campaign] += record.cases


# -- names and files ---------------------------------------------------------------------------------------------


def test_every_name_in_the_symbol_table_is_in_its_file():
    rows = re.findall(r"^\|.*\|.*\| (.*`.*) \| (.*\.py.*) \|$", (DOCS / "theory/symbols.md").read_text(), flags=re.M)
    assert len(rows) > 25
    for names, files in rows:
        code = "\n".join((ROOT / "src/vfpilco" / file).read_text() for file in re.findall(r"`([\w/]+\.py)`", files))
        for name in re.findall(r"`([A-Za-z_][\w.]*)", names):
            assert re.search(rf"\b{name.split('.')[-1]}\b", code), (name, files)


def test_the_picture_of_the_layers_shows_those_of_the_contract():
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    picture = (DOCS / "images/layers.svg").read_text()
    shown = re.findall(r'class="name">(\w+)', picture)
    assert shown == contract["layers"]
    listed = re.findall(r"^\| `(\w+)` \|", (DOCS / "architecture.md").read_text(), flags=re.M)
    assert listed == shown[::-1]


def test_every_public_name_is_in_the_api_reference():
    text = "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    shown = re.findall(r"auto(?:class|function|exception):: ([\w.]+)", text)
    assert len(shown) == len(set(shown))
    things = {name: getattr(vfpilco, name) for name in vfpilco.__all__}
    things |= {name: getattr(importlib.import_module(module), name) for name, module in vfpilco.ELSEWHERE.items()}
    for name, thing in things.items():
        assert any(_place(path) is thing for path in shown), name


def _place(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)


# -- links and code ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_to_files_and_headings_lead_somewhere(file):
    text = re.sub(r"```.*?```", "", file.read_text(), flags=re.S)
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        goal = file if not target else Path(os.path.normpath(file.parent / target))
        assert goal.exists(), f"{file.name} -> {target}"
        if anchor and goal.suffix == ".md":
            assert anchor in anchors(goal.read_text()), f"{file.name} -> {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_python_on_a_page_compiles(page):
    for block in python_blocks(page.read_text()):
        ast.parse(block)


def test_what_is_included_from_other_files_exists():
    for page in PAGES:
        for target in re.findall(r"```\{(?:literalinclude|include|figure)\} (\S+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


@pytest.mark.long
def test_the_task_of_the_guide_is_learned_without_changes(tmp_path):
    (tmp_path / "pendulum.py").write_text(python_blocks(TASK_GUIDE)[0])
    command = [sys.executable, "pendulum.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1200, check=True)
    assert "success_rate=1.0" in done.stdout
