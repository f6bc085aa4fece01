import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import vfpilco

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs/guide.md").read_text()


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.S)


def test_the_guide_lists_every_setting_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^`|]+?)`? \|", GUIDE, flags=re.M))
    defaults = {f.name: str(f.default) for f in fields(vfpilco.Settings)}
    assert {name: rows.get(name) for name in defaults} == defaults


def test_links_between_the_documents_lead_somewhere():
    for file in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read_text()):
            assert (file.parent / target).exists(), f"{file.name} -> {target}"


def test_every_name_in_the_symbol_table_stands_in_its_file():
    rows = re.findall(r"^\|.*\|.*\| (.*`.*) \| (.*\.py.*) \|$", (ROOT / "docs/symbols.md").read_text(), flags=re.M)
    assert len(rows) > 20
    for names, files in rows:
        code = "\n".join((ROOT / "src/vfpilco" / file).read_text() for file in re.findall(r"`([\w/]+\.py)`", files))
        for name in re.findall(r"`([A-Za-z_][\w.]*)", names):
            assert re.search(rf"\b{name.split('.')[-1]}\b", code), (name, files)


@pytest.mark.long
def test_the_own_task_of_the_guide_is_learned_as_it_stands(tmp_path):
    (tmp_path / "pendulum.py").write_text(python_blocks(GUIDE)[0])
    command = [sys.executable, "pendulum.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1200, check=True)
    assert "'success_rate': 1.0" in done.stdout
