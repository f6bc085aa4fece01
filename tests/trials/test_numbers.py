"""Numbers that no sensor measures, arrays that a driver shares, and particles that do not fit in memory."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from variants import variant

import vfpilco
from vfpilco import PlantError, Position, UserError
from vfpilco.cli.main import main
from vfpilco.policy.limits import Slew
from vfpilco.trials.execute import Conditions, execute
from vfpilco.trials.plan import Plan

TINY = {"particles": 4, "policy": vfpilco.RBF(5), "steps": 4, "inducing": 16, "shards": 2}


class Faulty:
    """Measures something absurd at the tenth sample of its first trial."""

    def __init__(self, values) -> None:
        self.plant = vfpilco.task("cartpole").machine.plant()
        self.values, self.samples, self.stops = values, 0, 0

    def reset(self, seed):
        self.samples += 1
        return self.plant.reset(seed)

    def step(self, u):
        q = self.plant.step(u)
        self.samples += 1
        return np.array([self.values[self.samples % len(self.values)], q[1]]) if self.samples > 9 else q

    def stop(self):
        self.stops += 1


@pytest.mark.parametrize("values", [[1e200], [1.7e308, -1.7e308], [-1e10], [np.nan], [np.inf]], ids=str)
def test_an_absurd_sample_is_rejected_with_its_number_and_the_rest_is_kept(tmp_path, task, values):
    plant = Faulty(values)
    with pytest.raises(PlantError, match=r"returned p = .* at sample 9 \(t = 0.3 s\): check the sensor"):
        vfpilco.learn(variant(task, plant=lambda: plant), trials=1, out=tmp_path / "a", **TINY)
    assert plant.stops == 1
    assert len((tmp_path / "a/trials/000.partial.csv").read_text().splitlines()) == 1 + 9
    assert "nan" not in (tmp_path / "a/trials/000.partial.csv").read_text()


@pytest.mark.long
def test_a_run_is_resumed_after_an_absurd_sample(tmp_path, task):
    with pytest.raises(PlantError, match="plausible range"):
        vfpilco.learn(variant(task, plant=lambda: Faulty([1e200])), trials=1, out=tmp_path / "a", **TINY)
    result = vfpilco.learn(task, trials=1, out=tmp_path / "a", resume=True, **TINY)
    assert len(result.rows) == 2


def test_the_plausible_range_is_given_or_derived():
    assert Position("p", "m", plausible=(-1.0, 2.0)).plausible_range == (-1.0, 2.0)
    assert Position("p", "m").plausible_range == (-1e9, 1e9)
    assert Position("p", "counts", scale=1e5).plausible_range == (-1e14, 1e14)
    assert Position("p", "m", safe=(-50.0, np.inf)).plausible_range == (-5e10, 5e10)
    base = vfpilco.task("cartpole")
    cart = dataclasses.replace(base.machine.positions[0], plausible=(1.0, -1.0))
    with pytest.raises(UserError, match="lower and an upper value as plausible"):
        variant(base, positions=(cart, base.machine.positions[1])).check()


@pytest.mark.parametrize(
    ("value", "why"), [("1e12", "plausible range"), ("1e200", "too large to be"), ("-1.7e308", "too large to be")]
)
def test_a_log_with_an_absurd_value_is_refused_and_the_run_stays_usable(tmp_path, task, value, why, capsys):
    trial = execute(task, task.machine.plant(), lambda q: np.sin(30 * q[:1]) + 1, 0)
    rows = [f"{i / 30},{q[0]},{q[1]},{u}" for i, (q, u) in enumerate(zip(trial.q, [*trial.u[:, 0], ""], strict=True))]
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("\n".join(["t,p,alpha,force", *rows]) + "\n")
    cells = rows[7].split(",")
    bad.write_text("\n".join(["t,p,alpha,force", *rows[:7], ",".join([cells[0], value, *cells[2:]]), *rows[8:]]) + "\n")
    run = str(tmp_path / "run")
    assert main(["tell", run, str(bad), "--task", "cartpole"]) == 2
    said = capsys.readouterr()
    assert "line 9: p is" in said.err + said.out
    assert why in said.err + said.out
    assert not Path(run).exists()
    assert main(["tell", run, str(good), "--task", "cartpole"]) == 0
    absurd = trial.q.copy()
    absurd[3, 0] = float(value)
    with pytest.raises(UserError, match=r"Trial 1 of those given has p = .* at sample 3"):
        vfpilco.tell(run, task, [dataclasses.replace(trial, q=absurd)])


def test_arrays_are_copied_on_their_way_to_and_from_a_driver(task):
    class Sharing:
        """Returns its own buffer, and changes the inputs it was given."""

        def __init__(self):
            self.buffer, self.applied = np.zeros(2), []

        def reset(self, seed):
            return self.buffer

        def step(self, u):
            self.applied.append(u.copy())
            u[:] = 100.0
            self.buffer += 0.1
            return self.buffer

        def stop(self):
            self.buffer[:] = 0.0

    def controller(q):
        q[:] = 50.0
        return np.array([10.0])

    def ends(q):
        q[:] = 70.0
        return False

    plant = Sharing()
    trial = execute(variant(task, horizon=4, ends=ends), plant, controller, 0, Conditions(slew=Slew((1.0,))))
    np.testing.assert_allclose(trial.q[:, 0], [0, 0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(trial.u[:, 0], [1, 2, 3, 4])
    np.testing.assert_array_equal(np.array(plant.applied), trial.u)


def test_particles_that_do_not_fit_in_memory_are_refused_before_the_machine_moves(task, tmp_path, capsys):
    assert main(["learn", "cartpole", "--particles", "50000000", "--out", str(tmp_path / "a")]) == 2
    said = capsys.readouterr().err
    assert "50000000 particles need at least" in said
    assert "use at most" in said
    assert not (tmp_path / "a").exists()
    Plan(task, vfpilco.Settings().replace(particles=4000)).check()
