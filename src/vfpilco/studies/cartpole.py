"""The paper's cart-pole experiments (Sec. IV)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from vfpilco.model.kernels import SE, Poly
from vfpilco.model.noise import WhiteNoise
from vfpilco.model.prior_mean import ZeroMean
from vfpilco.policy.rbf import RBF, PhysicalRBF
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman
from vfpilco.state.window import VelocityFree
from vfpilco.studies.base import Configuration, Study
from vfpilco.studies.figures import Quantity, draw_errors, draw_study
from vfpilco.studies.groups import groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.statistics import success_table
from vfpilco.studies.tables import markdown_table
from vfpilco.tasks.exploration import SumOfSines

PINNED = {
    "state": VelocityFree(2, 1),
    "kernel": SE() * Poly(1, on=("rates", "inputs")),
    "policy": RBF(200),
    "particles": 400,
    "steps": 600,
    "tolerance": 0.002,
    "gradient_decay": 0.97,
    "clip": 0.0,
    "inducing": 128,
    "input_change_penalty": 0.0,
}
"""The settings of the published table, whatever the defaults are now; "default" is the row without any change."""
PAPER_GPS = {"kernel": SE(), "noise": WhiteNoise()}
"""The GPs of the paper's methods, apart from their prior mean."""
PAPER = {"prior_mean": ZeroMean(), **PAPER_GPS}
"""How the GPs of the paper's VF-MC-PILCO differ from those."""


def _row(name: str, changes: Mapping[str, Any], *published: float) -> Configuration:
    return Configuration(name, {**PINNED, **changes}, published)


def _velocity_free(m_q: int, m_u: int, *published: float) -> Configuration:
    return _row(f"vf-mq{m_q}-mu{m_u}", {"state": VelocityFree(m_q, m_u), **PAPER}, *published)


PMS = {"state": Filtered(), **PAPER_GPS}
"""MC-PILCO4PMS with the optimiser and the exploration of all rows."""
AUTHORS: dict[str, Mapping[str, Any]] = {
    "sines": {"exploration": SumOfSines(), "first_share": 1.0},
    "unit-signal": {"kernel": SE(signal=1.0)},
    "long-exact": {
        **{"first_steps": 2000, "steps": 4000, "stop_rule": "drift"},
        **{"gradient_decay": 1.0, "precision": "float64"},
    },
    "step-dropout": {"dropout_draw": "step"},
    "physical-centers": {"policy": PhysicalRBF(200)},
}
"""How the authors of MC-PILCO4PMS set it up, one choice each."""
PMS_RATES = (0.00, 0.14, 0.82, 0.98, 0.96)

MEMORY = Study(
    name="cartpole-memory",
    summary="success and cost with memories of positions and inputs, with filters (PMS) and with true states",
    task="cartpole",
    trials=5,
    configurations=(
        _row("default", {}),
        _velocity_free(2, 1, 0.00, 0.20, 0.73, 0.93, 1.00),
        _row("constant-velocity", PAPER_GPS),
        _velocity_free(1, 1, 0.00, 0.08, 0.52, 0.86, 0.96),
        _velocity_free(1, 0, 0.00, 0.14, 0.34, 0.46, 0.56),
        _velocity_free(2, 0, 0.00, 0.10, 0.18, 0.28, 0.52),
        _row("pms", PMS, *PMS_RATES),
        _row("pms-kalman", {"state": Filtered(offline=Kalman()), **PAPER_GPS}),
        _row("full-state", {"state": FullState(), **PAPER_GPS}),
    ),
    figure=draw_study,
    table=success_table,
)

DEFAULT = Study(
    name="cartpole-default",
    summary="success and cost with the default settings: everything is chosen from the data",
    task="cartpole",
    trials=5,
    configurations=(Configuration("default", {}, (0.00, 0.20, 0.73, 0.93, 1.00)),),
    figure=draw_study,
    table=success_table,
)

PMS_SETUP = Study(
    name="cartpole-pms",
    summary="MC-PILCO4PMS with each of its authors' choices alone, and with all of them",
    task="cartpole",
    trials=5,
    configurations=(
        _row("pms", PMS, *PMS_RATES),
        *(_row(name, {**PMS, **choice}, *PMS_RATES) for name, choice in AUTHORS.items()),
        _row(
            "authors",
            {**PMS, **{name: value for choice in AUTHORS.values() for name, value in choice.items()}},
            *PMS_RATES,
        ),
    ),
    figure=draw_study,
    table=success_table,
)

INPUTS = Study(
    name="cartpole-inputs",
    summary="past positions as consecutive differences, or the positions themselves",
    task="cartpole",
    trials=7,
    configurations=(
        _row("differences", PAPER, 0.00, 0.20, 0.73, 0.93, 1.00),
        _row("naive", {**PAPER, "encoding": "positions"}, *(np.nan,) * 6, 0.79),
    ),
    figure=draw_study,
    table=success_table,
)


def _errors_table(study: Study, records: list[RunRecord]) -> str:
    """Median and 95 percent quantile of the absolute one-step errors."""
    rows = []
    for group in groups(study, records):
        errors = 1e3 * np.concatenate([np.array(record.one_step_errors) for record in group.records], axis=1)
        cells = [f"{np.median(row):.2f}, {np.quantile(row, 0.95):.2f}" for row in errors]
        rows.append([group.name, str(len(group.records)), *cells])
    return markdown_table(["configuration", "runs", "p: median, 95 % [mm]", "α: median, 95 % [mrad]"], rows)


MODEL = Study(
    name="cartpole-model",
    summary="one-step errors of models trained on all trials but the last, tested on the last",
    task="cartpole",
    trials=5,
    configurations=tuple(c for c in MEMORY.configurations if isinstance(c.settings["state"], VelocityFree)),
    figure=partial(draw_errors, positions=[Quantity("p", "mm", 1e3), Quantity("α", "mrad", 1e3)]),
    table=_errors_table,
    records="cartpole-memory",
)
