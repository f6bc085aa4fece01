"""Recorded trials, predicted again with errors drawn in several ways."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.model.noise import WhiteNoise
from vfpilco.rollout.draws import Independent
from vfpilco.studies.draws import WAYS, DrawsRecord, Persistent, compare_draws, table_of
from vfpilco.studies.records import read_lines
from vfpilco.trials.comparison import Coverage
from vfpilco.trials.learn import learn


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A folder with a tiny run."""
    folder = tmp_path_factory.mktemp("runs")
    small = {"trials": 1, "steps": 2, "particles": 100, "basis_functions": 5, "kernel": vfpilco.SE(), "inducing": 32}
    learn("cartpole", seed=100, out=folder / "study" / "a", m_q=2, m_u=1, noise=WhiteNoise(), **small)
    return folder


def test_every_trial_is_predicted_in_every_way_and_once(runs, tmp_path, capsys):
    lines: list[str] = []
    compared = compare_draws(runs, tmp_path, lines.append)
    assert lines == ["study/a, trial 1"]
    (record,) = read_lines(tmp_path / "draws.jsonl", DrawsRecord)
    assert list(record.bands) == list(WAYS)
    assert (record.task, record.trial, record.solved) == ("cartpole", 1, False)
    shown = vfpilco.Result.load(runs / "study" / "a").rows[-1]
    ours = record.bands["one function"]
    # Other particles of the same model and policy, so that only the random numbers differ.
    np.testing.assert_allclose(ours.band_width, shown.band_width, rtol=0.4)
    assert compared.table in (tmp_path / "draws.md").read_text()
    main(["reproduce", "draws", "--out", str(runs), "--results", str(tmp_path)])
    assert len(read_lines(tmp_path / "draws.jsonl", DrawsRecord)) == 1
    assert "study/a" not in capsys.readouterr().out


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds no runs of a built-in machine"):
        compare_draws(tmp_path, tmp_path)


def test_persistent_errors_are_standard_normal_and_correlated():
    known, numbers = (jnp.zeros((), bool), jnp.zeros((4000, 1))), []
    for key in jax.random.split(jax.random.key(0), 3):
        known = Persistent(0.7).next(known, jax.random.normal(key, (4000, 1)))
        numbers.append(known[1])
    z = np.concatenate(numbers, axis=1)
    np.testing.assert_allclose(z.std(0), 1, atol=0.05)
    np.testing.assert_allclose(np.corrcoef(z.T)[0], [1, 0.7, 0.49], atol=0.05)


def test_widths_are_relative_to_independent_errors():
    def band(width: float, coverage: float) -> Coverage:
        return Coverage(coverage, coverage / 2, [width, 3 * width], 1.5)

    bands = dict(zip(WAYS, (band(0.1, 0.8), band(0.3, 1.0), band(0.2, 0.9)), strict=True))
    assert isinstance(WAYS["independent"], Independent)
    rows = table_of([DrawsRecord("a", "furuta", 3, True, "0", bands)]).splitlines()
    assert rows[4] == "| furuta, from the first success on | 1 | one function | 90 % | 45 % | 2.00 | 1.50 |"
    assert "before" not in "".join(rows)
