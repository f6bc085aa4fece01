"""--max-risk: a policy with a high predicted risk is optimised further, restricted, and in the end refused."""

from __future__ import annotations

import dataclasses
import io
import shutil

import numpy as np
import pytest
from folders import SIZES, content, hurried
from rich.console import Console
from variants import variant

import vfpilco
from vfpilco.cli import prompts
from vfpilco.cli.commands import learn as command
from vfpilco.cli.display import Display
from vfpilco.data.results import CostBand, Forecast
from vfpilco.data.risk import RangeRisk, Risk
from vfpilco.data.watcher import Watcher, Watchers
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import OPTIMISATION
from vfpilco.tasks.task import Task
from vfpilco.trials.learner import Learner
from vfpilco.trials.max_risk import SHARES
from vfpilco.trials.tell import ask

SMALL = {"seed": 1, "trials": 1, "steps": 4, **SIZES}
HIGH = Risk(4, 0.75, [RangeRisk("p", 0.75, "above", 0.5)])


def on_a_rail(half: float) -> Task:
    """The cart-pole on a rail."""
    base = vfpilco.task("cartpole")
    cart = dataclasses.replace(base.machine.positions[0], safe=(-half, half))
    return variant(base, positions=(cart, base.machine.positions[1]))


class Notes(Watcher):
    def __init__(self, accept: bool = False):
        self.notes, self.asked, self.accept = [], [], accept

    def accepts(self, trial, forecast):
        self.asked.append((trial, forecast.risk.leaving))
        return self.accept

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def risks(monkeypatch):
    """Replaces the risks that the attempts of a trial are predicted to have; None is low enough."""

    def replace(*risks: Risk | None) -> None:
        left = iter(risks)
        monkeypatch.setattr(Learner, "excessive_risk", lambda *_: next(left))

    return replace


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A run that ended because every attempt was too risky."""
    out, watch = tmp_path_factory.mktemp("refused") / "run", Notes()
    with pytest.raises(vfpilco.TooRisky) as caught:
        vfpilco.learn(on_a_rail(0.4), out=out, watch=watch, max_risk=0.0, **SMALL)
    return out, watch, str(caught.value)


def test_a_policy_that_stays_too_risky_is_kept_but_not_executed(refused):
    out, watch, message = refused
    folder = RunFolder(out)
    rows = folder.results()
    assert {row.kind for row in rows} == {"explore"}
    assert len(list((out / "trials").glob("???.csv"))) == len(rows)
    assert folder.policy(1).policy.inputs.limits == (SHARES[-1] * 10.0,)
    assert not (out / "checkpoint.safetensors").exists()
    (trial, leaving), *others = watch.asked
    assert (trial, others) == (1, [])
    assert leaving > 0
    assert message.startswith(f"Trial 1 was not executed. The predicted risk of {100 * leaving:.0f} % (leaving p ")
    assert "is above --max-risk 0 %, also after more optimisation and with inputs of at most 50 %" in message


def test_every_attempt_is_noted(refused):
    _, watch, _ = refused
    remarks = [note.split(": the optimisation continues ")[1] for note in watch.notes if "--max-risk" in note]
    limits = "with inputs of at most {} % of their limits."
    assert remarks == ["with narrower safe ranges that weigh more.", limits.format(70), limits.format(50)]


def test_a_refused_run_can_be_resumed_with_another_bound_and_executes_that_policy(refused, tmp_path):
    out = shutil.copytree(refused[0], tmp_path / "run")
    policy = (out / "policies/001.safetensors").read_bytes()
    with pytest.raises(vfpilco.TooRisky):
        vfpilco.learn(on_a_rail(0.4), out=out, resume=True)
    assert content(out) == content(refused[0])
    result = vfpilco.learn(on_a_rail(0.4), out=out, resume=True, max_risk=1.0)
    assert (out / "policies/001.safetensors").read_bytes() == policy
    assert result.settings.limits.max_risk == 1
    assert RunFolder(out).header().settings["limits"]["max_risk"] == 1
    assert np.abs(result.trials[-1].u).max() <= SHARES[-1] * 10 + 1e-9
    assert result.rows[-1].kind == "policy"


def test_other_settings_still_may_not_change(refused):
    with pytest.raises(vfpilco.UserError, match="learned with steps 4, got 5"):
        vfpilco.learn(on_a_rail(0.4), out=refused[0], resume=True, max_risk=1.0, steps=5)


def test_a_person_may_allow_it(refused, tmp_path):
    out, watch = shutil.copytree(refused[0], tmp_path / "run"), Notes(accept=True)
    result = vfpilco.learn(on_a_rail(0.4), out=out, resume=True, watch=Watchers(Watcher(), watch))
    assert watch.asked == refused[1].asked
    assert any(note.endswith("the trial was allowed by hand.") for note in result.rows[-1].notes)
    assert result.settings.limits.max_risk == 0


@pytest.mark.parametrize(("risky", "share"), [(0, 1.0), (1, 1.0), (2, 0.7), (3, 0.5)])
def test_attempts_end_with_the_first_one_that_is_safe_enough(risks, tmp_path, risky, share):
    risks(*[HIGH] * risky, None)
    vfpilco.learn(on_a_rail(1e3), out=tmp_path / "run", max_risk=0.1, **SMALL)
    folder = RunFolder(tmp_path / "run")
    assert folder.policy(1).policy.inputs.limits == (share * 10,)
    costs, _ = folder.artifact(OPTIMISATION, 1)
    assert len(costs) == (risky + 1) * SMALL["steps"]
    assert np.abs(folder.trial(1, 2).u).max() <= share * 10


def test_without_a_bound_every_policy_is_executed_and_nobody_is_asked():
    watch = Notes()
    result = vfpilco.learn(on_a_rail(0.4), watch=watch, **SMALL)
    assert result.rows[-1].kind == "policy"
    assert result.rows[-1].risk.leaving > 0
    assert result.policy.policy.inputs.limits == (10.0,)
    assert not watch.asked


class Interrupting(Notes):
    """Interrupts the run a few steps after a note."""

    def __init__(self, after: str, steps: int):
        super().__init__()
        self.after, self.left = after, steps

    def step(self, done, total, cost):
        if any(self.after in note for note in self.notes):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt


@pytest.mark.parametrize("after", ["weigh more", "at most 70 %"])
def test_an_attempt_that_is_interrupted_continues_to_the_bit(refused, tmp_path, monkeypatch, after):
    hurried(monkeypatch)
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        vfpilco.learn(on_a_rail(0.4), out=out, watch=Interrupting(after, 3), max_risk=0.0, **SMALL)
    assert (out / "checkpoint.safetensors").exists()
    assert not (out / "policies/001.safetensors").exists()
    with pytest.raises(vfpilco.TooRisky):
        vfpilco.learn(on_a_rail(0.4), out=out, resume=True)
    assert content(out) == content(refused[0])


def test_ask_refuses_a_policy_until_a_higher_risk_is_allowed(refused, tmp_path):
    task = on_a_rail(0.4)
    folder = RunFolder(refused[0])
    explored = [folder.trial(i, 2) for i in range(len(folder.results()))]
    settings = {name: value for name, value in SMALL.items() if name != "trials"}
    vfpilco.tell(tmp_path / "run", task, explored, max_risk=0.0, **settings)
    with pytest.raises(vfpilco.TooRisky, match="Trial 1 was not executed"):
        ask(tmp_path / "run", task)
    with pytest.raises(vfpilco.UserError, match="learned with steps 4"):
        ask(tmp_path / "run", task, steps=5)
    asked = ask(tmp_path / "run", task, max_risk=1.0)
    assert asked.risk.leaving > 0
    assert asked.policy.policy.inputs.limits == (SHARES[-1] * 10,)


@pytest.mark.parametrize("bad", [-0.1, 1.5, "much"])
def test_a_bound_that_is_no_probability_is_refused(as_users_run_it, bad):
    with pytest.raises(vfpilco.UserError, match="max_risk must be"):
        vfpilco.learn("cartpole", max_risk=bad)


# -- the command line ----------------------------------------------------------------------------------------------


def forecast() -> Forecast:
    return Forecast(CostBand(10.0, 5.0, 20.0), 0.5, HIGH)


@pytest.mark.parametrize(("answer", "agreed"), [("yes", True), ("no", False), ("", False), (EOFError, False)])
def test_with_wait_a_person_is_asked(monkeypatch, answer, agreed):
    questions = []

    def reply(self, question, **_):
        questions.append(question)
        if answer is EOFError:
            raise EOFError
        return answer

    monkeypatch.setattr(prompts.Console, "input", reply)
    with Display(Console(file=io.StringIO()), 1, wait=True) as display:
        assert display.accepts(2, forecast()) is agreed
    assert "risk of trial 2 is 75 % (leaving p 75 % (above, at about 0.5 s))" in questions[0]


def test_without_wait_nobody_is_asked():
    with Display(Console(file=io.StringIO()), 1) as display:
        assert display.accepts(2, forecast()) is False


def test_the_command_ends_with_the_reason_and_how_to_resume(tmp_path, monkeypatch):
    def too_risky(*_, **__):
        raise vfpilco.TooRisky("Trial 2 was not executed.")

    monkeypatch.setattr(command, "learn", too_risky)
    with pytest.raises(vfpilco.UserError) as caught:
        command.run(["cartpole", "--max-risk", "0.05", "--out", str(tmp_path / "run"), "--quiet"])
    assert caught.value.exit_code == 2
    resume = f"learn cartpole --out {tmp_path / 'run'} --resume --wait"
    assert str(caught.value).startswith("Trial 2 was not executed. To be asked instead, resume with: ")
    assert str(caught.value).endswith(resume)
