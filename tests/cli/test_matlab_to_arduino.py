"""The commands of the page matlab-to-arduino.md, exactly as they are written there."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import jax
import numpy as np
import pytest
from boards import sketch_for_uno

from exports import small_check  # noqa: F401
from vfpilco.cli.main import main
from vfpilco.exports.boards import BOARDS
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.rbf import RBF
from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/howto/matlab-to-arduino.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, flags=re.S) for line in block.strip().splitlines()]
RECORD, INSPECT, TELL, ASK, EXPORT = COMMANDS
PINS = "struct { long read() { return 0; } } encoder;\nenum { DIRECTION = 4, PWM = 5 };\n"


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Path:
    """The working directory of a new user: the examples and the task of the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "motor.py").write_text(re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)[0])
    assert RECORD == "python examples/motor_log.py"
    runpy.run_path(str(tmp_path / "examples/motor_log.py"), run_name="__main__")
    return tmp_path


def run(line: str, more: str = "") -> None:
    program, *words = shlex.split(f"{line} {more}")
    assert program == "vfpilco"
    assert main(words) == 0


def add_policy(folder: Path) -> None:
    """What `vfpilco ask` adds to a run: a policy, here with random parameters, because learning takes a while."""
    state = VelocityFree(m_q=2, m_u=1).bind(Signals((True,), 1, 0.02, std=(5e-4,)))
    policy = RBF(30).bind(PolicyInputs((1.0,) * 4, (6.0,)))
    RunFolder(folder).add_policy(1, LearnedPolicy(state, policy, policy.init(jax.random.key(0))))


@pytest.mark.usefixtures("small_check")
def test_a_log_of_matlab_becomes_a_sketch_that_fits_an_uno(bench, capsys):
    run(INSPECT)
    inspected = capsys.readouterr().out
    assert "cut at 1 gap into 2 trials" in inspected
    assert "0 samples, clear" in inspected
    run(TELL)
    assert capsys.readouterr().out.count("exploration") == 2
    add_policy(bench / "runs/motor")
    run(EXPORT)
    exported = capsys.readouterr().out
    assert "agrees with the learned policy" in exported
    assert re.search(r"it fits Uno R3.*\n.*\n.* AVR at 16 MHz, .*: fast enough", exported)
    check_sketch(bench)


def check_sketch(bench: Path) -> None:
    """The sketch with the functions of the page is built for an Uno, and prints what `vfpilco tell` reads."""
    library = bench / "motor_policy"
    sketch = (library / "examples/Control/Control.ino").read_text()
    code = re.findall(r"```cpp\n(.*?)```", TEXT, flags=re.S)[0]
    for function in re.findall(r"^void .*?^}\n", code, flags=re.S | re.M):
        name = re.findall(r"void (\w+)\(", function)[0]
        sketch, replaced = re.subn(rf"^void {name}\(.*?^}}\n", lambda _, text=function: text, sketch, flags=re.S | re.M)
        assert replaced == 1
    flash, ram = sketch_for_uno(library, PINS + sketch, bench)
    assert flash < BOARDS[0].flash
    assert ram < BOARDS[0].ram
    assert re.findall(r'F\("(t_us.*?)"\)', sketch) == [re.findall(r"```text\n(t_us.*)\n", TEXT)[0]]


@pytest.mark.long
def test_the_policy_that_is_learned_from_the_log_turns_the_motor(bench, capsys):
    motor = runpy.run_path(str(bench / "examples/motor_log.py"))
    for line in (INSPECT, TELL, ASK, EXPORT):
        run(line)
    assert "fast enough" in capsys.readouterr().out
    policy = LearnedPolicy.load(bench / "runs/motor/policies/001.safetensors")
    policy.reset()
    angle = speed = 0.0
    for _ in range(50):
        voltage = float(policy(np.array([angle]))[0])
        for _ in range(20):
            speed += 0.001 * (motor["GAIN"] * voltage - speed) / motor["TIME_CONSTANT"]
            angle += 0.001 * speed
    assert abs(angle - np.pi / 2) < 0.05
