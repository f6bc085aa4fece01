"""Run folders of format 3, as version 0.1 wrote them, can be read and resumed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from folders import learn, one_sentence

import vfpilco
from vfpilco import RBF, SE, Poly, Settings, VelocityFree
from vfpilco.machines.runs import open_run, summary
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import MODEL, PREDICTION
from vfpilco.trials.learn import planned

SAMPLE = Path(__file__).parents[1] / "samples/run-format3"


@pytest.fixture
def run(tmp_path) -> Path:
    """A copy of the run."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "run"))


@pytest.fixture
def folder(run) -> RunFolder:
    return RunFolder(run)


def files(run: Path) -> dict[str, bytes]:
    """The content of all files that belong to a trial."""
    found = [path for path in run.rglob("*.*") if path.parent != run]
    return {str(path.relative_to(run)): path.read_bytes() for path in found}


def test_the_header_is_read_with_its_settings(folder, task):
    header = folder.header()
    assert (header.format, header.seed, header.trials, header.external) == (3, 0, 2, False)
    assert header.task.name == "cartpole"
    assert [position.name for position in header.task.positions] == ["p", "alpha"]
    assert header.versions["vfpilco"] == "0.1.0"
    assert header.machine is not None
    settings = planned(task, folder, header).settings
    assert settings == Settings().replace(
        state=VelocityFree(2, 1),
        kernel=SE() * Poly(1, on=("rates", "inputs")),
        inducing=128,
        policy=RBF(30),
        steps=20,
        particles=40,
        tolerance=0.002,
        input_change_penalty=0.0,
        gradient_decay=0.97,
        clip=0.0,
    )


def test_the_results_are_read(folder):
    rows = folder.results()
    lines = [json.loads(line) for line in (folder.path / "results.jsonl").read_text().splitlines()]
    assert [row.kind for row in rows] == ["explore", "policy", "policy"]
    assert [row.trial for row in rows] == [None, 1, 2]
    assert [row.cost for row in rows] == [line["cost"] for line in lines]
    assert rows[2].predicted_cost.high == lines[2]["predicted_cost"]["high"]
    assert rows[2].model.posterior.points == 2 * 88
    assert rows[2].model.lengthscales == lines[2]["model"]["lengthscales"]
    assert {timing.phase for timing in folder.timings()} == {"plant", "model", "policy", "prediction"}


def test_the_run_is_complete(folder):
    folder.check()
    found = summary(folder)
    assert (found.state, found.done, found.task, found.problem) == ("finished", 2, "cartpole", None)
    assert open_run(folder.path)[1].name == "cartpole"


@pytest.mark.parametrize("trial", [1, 2])
def test_policies_compute_the_recorded_inputs(folder, trial):
    policy, recorded = folder.policy(trial), folder.trial(trial, 2)
    assert recorded.true is not None
    assert recorded.velocity is not None
    replayed = np.array([policy(q) for q in recorded.q[:-1]])
    np.testing.assert_allclose(replayed, recorded.u, rtol=0, atol=1e-12)


@pytest.mark.parametrize("trial", [1, 2])
def test_models_predict_with_the_recorded_noise(folder, task, trial):
    model, notes = folder.artifact(MODEL, trial)
    plan, row = planned(task, folder, folder.header()), folder.results()[trial]
    assert notes == []
    assert model.points == trial * 88
    np.testing.assert_allclose(model.noise, row.model.noise, rtol=1e-12)
    np.testing.assert_allclose(model.lengthscales, row.model.lengthscales, rtol=1e-12)
    data = plan.dynamics.training_set(folder.trial(trial, 2))
    mean, _ = model.predict(data.x)
    error = np.sqrt(np.mean((data.y - data.prior - mean) ** 2, axis=0))
    np.testing.assert_allclose(error, row.model.one_step_error, rtol=1e-6)


@pytest.mark.parametrize("trial", [1, 2])
def test_predictions_have_the_recorded_cost(folder, trial):
    rollout, _ = folder.artifact(PREDICTION, trial)
    assert (rollout.q.shape, rollout.u.shape, rollout.cost.shape) == ((91, 40, 2), (90, 40, 1), (91, 40))
    assert rollout.cost.sum(0).mean() == pytest.approx(folder.results()[trial].predicted_cost.mean, rel=1e-6)


def test_a_run_is_resumed_with_more_trials(run, task):
    before, rows = files(run), RunFolder(run).results()
    result = vfpilco.learn(task, trials=3, out=run, resume=True)
    assert [row.trial for row in result.rows] == [None, 1, 2, 3]
    assert result.rows[:3] == rows
    after, folder = files(run), RunFolder(run)
    assert {name: after[name] for name in before} == before
    added = {name for name in after if name not in before}
    assert added == {
        *(f"{kind}/003.safetensors" for kind in ("models", "optimisations", "policies", "predictions")),
        *(f"trials/003.{end}" for end in ("csv", "csv.sha256", "true.csv", "true.csv.sha256")),
    }
    assert len(result.policy.params["weights"]) == 30
    assert result.model.points == 3 * 88
    assert len(folder.arrays("optimisations", 3)[0]["cost"]) == 20
    header = folder.header()
    assert (header.format, header.trials, header.seed) == (5, 3, 0)
    assert Settings.from_description(header.settings) == result.settings
    folder.check()
    # Once more, as format 5.
    again = vfpilco.learn(task, out=run, resume=True)
    assert again.rows == result.rows


def test_an_interrupted_run_is_resumed(run, task):
    folder = RunFolder(run)
    lines = (run / "results.jsonl").read_text().splitlines(keepends=True)
    (run / "results.jsonl").write_text("".join(lines[:2]))
    kept = folder.trial(2, 2)
    for name in ("predictions/002.safetensors", "policies/002.safetensors"):
        (run / name).unlink()
    result = vfpilco.learn(task, out=run, resume=True)
    assert [row.trial for row in result.rows] == [None, 1, 2]
    # The execution was finished and is not repeated; model and optimisation of the trial were kept too.
    np.testing.assert_array_equal(result.trials[2].q, kept.q)
    assert folder.has("policies/002.safetensors")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 21}, "was learned with steps 20, got 21: leave --steps out, or start a new run"),
        ({"policy": RBF(31)}, "was learned with basis_functions 30, got 31: leave --basis-functions out"),
        ({"gradient_decay": 1.0}, "was learned with gradient_decay 0.97, got 1.0: leave --gradient-decay out"),
        ({"kernel": SE()}, r"was learned with kernel se \* poly1\(rates, inputs\), got se: leave --kernel out"),
        ({"m_q": 1}, "was learned with m_q 2, got 1: leave --m-q and --inspected out"),
        ({"seed": 1}, "was learned with seed 0, got 1: leave --seed out"),
    ],
)
def test_different_settings_are_refused_by_name(run, task, changes, words):
    before = files(run), (run / "run.json").read_bytes()
    with pytest.raises(vfpilco.UserError, match=words):
        vfpilco.learn(task, trials=3, out=run, resume=True, **changes)
    assert (files(run), (run / "run.json").read_bytes()) == before


def test_the_command_line_knows_the_settings_of_format_3(run, capsys):
    assert learn(run, "--resume", "--tolerance", "0.01") == 2
    assert "was learned with tolerance 0.002, got 0.01" in one_sentence(capsys.readouterr().err)
    assert learn(run, "--resume", "--steps", "20", "--basis-functions", "30", "--tolerance", "0.002") == 0
    assert RunFolder(run).header().format == 5


def test_recordings_of_another_kind_are_refused_when_a_run_is_resumed(run, capsys):
    assert learn(run, "--resume", "--inspected", str(run / "trials/001.csv")) == 2
    assert " and --inspected out, or start a new run" in one_sentence(capsys.readouterr().err)


def test_an_unreadable_format_is_refused(run):
    content = (run / "run.json").read_text()
    (run / "run.json").write_text(content.replace('"format": 3', '"format": 2'))
    with pytest.raises(vfpilco.UserError, match="its format is 2, this version reads 3, 4 and 5"):
        RunFolder(run).header()
