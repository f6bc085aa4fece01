"""Logs in binary formats, and results of studies, with hostile content."""

from __future__ import annotations

import contextlib
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.io
from mcap.writer import Writer

import vfpilco

ROOT = Path(__file__).parents[2]
TRIAL = ROOT / "tests/samples/run-format4/trials/000.csv"
STUDY = ROOT / "docs/results/cartpole-zero.jsonl"
NUMBERS = [np.nan, np.inf, -1e308, 1e200, 1e-320, 1e9, 0.0]
NAMES = ["", "t", "p", "\x1b[31m", "[/]", "p [deg]", "a" * 5000, "\u202e", "../x", "1"]
CHANGES: list[Callable[[np.ndarray], Any]] = [
    lambda values: values[:0],
    lambda values: values[:-5],
    lambda values: values > 0,
    lambda values: (100 * np.nan_to_num(values)).astype(np.int8),
    lambda values: np.stack([values, values], 1),
    lambda values: [str(value) for value in values],
    lambda values: values.astype(np.complex128),
    lambda values: np.zeros(len(values), "datetime64[ns]"),
    lambda values: 0 * values,
]
"""What may happen to a column."""


def columns(rng: random.Random) -> dict[str, Any]:
    """The columns of a trial, with a number, a column or a name changed."""
    table = np.genfromtxt(TRIAL, delimiter=",", names=True)
    found: dict[str, Any] = {name: np.nan_to_num(table[name]) for name in table.dtype.names}
    for _ in range(rng.choice([0, 1, 1, 2])):
        name, kind = rng.choice(sorted(found)), rng.choice(["number", "number", "column", "name", "gone"])
        values = found.pop(name)
        if kind == "number" and isinstance(values, np.ndarray) and values.dtype == float and len(values):
            values[rng.randrange(len(values))] = rng.choice(NUMBERS)
        if kind == "column" and isinstance(values, np.ndarray) and values.dtype == float and values.ndim == 1:
            values = rng.choice(CHANGES)(values)
        if kind != "gone":
            found[rng.choice(NAMES) if kind == "name" else name] = values
    return found


def binary_log(stem: Path, rng: random.Random) -> Path:
    """A log in a binary format with something changed in it; `stem` is its path without the ending."""
    ending, write = rng.choice([(".mat", _to_mat), (".parquet", _to_parquet), (".mcap", _to_mcap)])
    path = stem.with_name(stem.name + ending)
    path.touch()
    with contextlib.suppress(Exception), warnings.catch_warnings():  # A writer may refuse what a reader has to survive.
        warnings.simplefilter("ignore")
        write(path, columns(rng))
    content = bytearray(path.read_bytes())
    if rng.random() < 0.3 and content:
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(bytes(content[: rng.choice([len(content), rng.randrange(len(content))])]))
    return path


def _to_mat(path: Path, found: dict[str, Any]) -> None:
    scipy.io.savemat(path, {"log": found} if len(found) % 2 else found)


def _to_parquet(path: Path, found: dict[str, Any]) -> None:
    pyarrow.parquet.write_table(pyarrow.table(found), path)


def _to_mcap(path: Path, found: dict[str, Any]) -> None:
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/rig", "json", writer.register_schema("any", "jsonschema", b"{}"))
        for i in range(min(map(len, found.values()))):
            content = {name: np.asarray(values).tolist()[i] for name, values in found.items()}
            data, time = json.dumps(content, default=str).encode(), i * 33_000_000
            writer.add_message(channel, log_time=time, publish_time=time, data=data)
        writer.finish()


def study(path: Path) -> Path:
    """Two runs of a study, as if this version had made them."""
    lines = [json.loads(line) for line in STUDY.read_text().splitlines()[:2]]
    for line in lines:
        line["versions"] = {**line["versions"], "vfpilco": vfpilco.__version__}
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
