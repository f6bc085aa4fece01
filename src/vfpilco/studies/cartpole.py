"""The paper's cart-pole experiments (Sec. IV)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vfpilco.studies import figures
from vfpilco.studies.base import Configuration, Record, Study
from vfpilco.studies.statistics import success_table

SE = {"kernel": "se", "noise": "white"}
"""The GPs of the paper's methods, but for their prior mean."""
PAPER = {"prior_mean": "zero", **SE}
"""Where the GPs of the paper's VF-MC-PILCO differ from our default."""


def _vf(m_q: int, m_u: int, *published: float) -> Configuration:
    settings = {"m_q": m_q, "m_u": m_u, **PAPER}
    return Configuration(f"vf-mq{m_q}-mu{m_u}", settings, published)


MEMORY = Study(
    name="cartpole-memory",
    summary="success and cost with memories of positions and inputs, with filters (PMS) and with true states",
    task="cartpole",
    trials=5,
    configurations=(
        Configuration("default", {}),
        _vf(2, 1, 0.00, 0.20, 0.73, 0.93, 1.00),
        Configuration("constant-velocity", SE),
        _vf(1, 1, 0.00, 0.08, 0.52, 0.86, 0.96),
        _vf(1, 0, 0.00, 0.14, 0.34, 0.46, 0.56),
        _vf(2, 0, 0.00, 0.10, 0.18, 0.28, 0.52),
        Configuration("pms", {"method": "pms", **SE}, (0.00, 0.14, 0.82, 0.98, 0.96)),
        Configuration("pms-kalman", {"method": "pms", "offline": "kalman", **SE}),
        Configuration("full-state", {"method": "full-state", **SE}),
    ),
    figure=figures.costs,
    table=success_table,
)

INPUTS = Study(
    name="cartpole-inputs",
    summary="past positions as consecutive differences, or as they are",
    task="cartpole",
    trials=7,
    configurations=(
        Configuration("differences", PAPER, (0.00, 0.20, 0.73, 0.93, 1.00)),
        Configuration("naive", {**PAPER, "inputs": "naive"}, (np.nan,) * 6 + (0.79,)),
    ),
    figure=figures.costs,
    table=success_table,
)


def _errors_table(study: Study, records: list[Record]) -> str:
    """Median and 95 percent quantile of the absolute one-step errors."""
    lines = ["| configuration | runs | p: median, 95 % [mm] | α: median, 95 % [mrad] |", "|---|---|---|---|"]
    for configuration in study.configurations:
        mine = [record for record in records if record["configuration"] == configuration.name]
        if mine:
            errors = 1e3 * np.concatenate([np.array(record["one_step_errors"]) for record in mine], axis=1)
            cells = [f"{np.median(row):.2f}, {np.quantile(row, 0.95):.2f}" for row in errors]
            lines.append(f"| {configuration.name} | {len(mine)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _errors_figure(study: Study, records: list[Record], file: Path) -> None:
    figures.boxes(study, records, file, [("p", "mm", 1e3), ("α", "mrad", 1e3)])


MODEL = Study(
    name="cartpole-model",
    summary="one-step errors of models trained on all trials but the last, tested on the last",
    task="cartpole",
    trials=5,
    configurations=tuple(c for c in MEMORY.configurations if "method" not in c.settings),
    figure=_errors_figure,
    table=_errors_table,
    records="cartpole-memory",
)
