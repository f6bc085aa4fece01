import dataclasses
import io
import json
import time

import pytest
from rich.console import Console

from vfpilco.cli.bench_table import bench_tables
from vfpilco.cli.main import main
from vfpilco.studies.bench import ArmRow, BenchResult, Breakdown, Scaling, StepRow, TimeToSuccess
from vfpilco.studies.bench.success import COMPILING, Stopwatch


@pytest.mark.long
def test_bench_prints_every_ratio_of_one_run(capsys, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS")  # fast code is wanted here
    assert main(["bench", "--sizes", "40", "--runs", "1", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    (row,) = measured["gradient_step"]
    assert row["n"] == 40
    assert row["seconds"] > 0
    assert row["speedup_vs_reference"] > 1
    assert row["ratio_to_floor"] > 1
    assert row["peak_mb"] > 100
    assert row["compile_seconds"] > 0
    assert measured["breakdown"]["kernels"] > 0
    assert measured["breakdown"]["rest"] > 0
    assert 0 < measured["scaling"]["all_cores"] < 1.5 * measured["scaling"]["one_core"]
    (run,) = measured["to_success"]
    assert 1 <= run["trials"] <= 5
    assert run["gradient_steps"] >= 100
    assert min(run["compiling"], run["fitting"], run["optimising"], run["predicting"]) > 0
    parts = run["compiling"] + run["fitting"] + run["optimising"] + run["predicting"]
    assert 0.7 * run["seconds"] < parts < 1.3 * run["seconds"]
    assert measured["six_joints"]["d_x"] == 36
    assert 0 < measured["six_joints"]["seconds"] < 1


def test_the_tables_show_medians_of_runs_and_parts_of_a_step():
    step = StepRow(450, 0.022, 25.0, 1.5, 600.0, 3.0, 1e6, 1.2)
    arm = ArmRow(800, 36, 0.2, 5.0, 900.0, 1e6)
    runs = [TimeToSuccess(seconds, 3, 1400, 20.0, 5.0, 30.0, 4.0, 900.0) for seconds in (50.0, 61.0, 90.0)]
    measured = BenchResult([step], Breakdown(0.004, 0.006, 0.004, 0.005), Scaling(2, 0.036, 0.02), arm, runs, 2)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(*bench_tables(measured), sep="\n")
    text = console.export_text()
    assert [line.split() for line in text.splitlines() if "variances" in line] == [["│", "variances", "│", "4.0", "│"]]
    assert "efficiency 90%" in text
    assert "median of 3 runs" in text
    assert "1400" in text
    assert " 61 " in text
    assert len(bench_tables(dataclasses.replace(measured, to_success=[]))) == 2


def test_a_stopwatch_separates_compiling_from_the_phase_it_happens_in():
    watch = Stopwatch()
    watch.phase(1, "learning the model")
    watch.compiling(COMPILING[0], 0.004)
    watch.compiling("/jax/something/else", 7.0)
    time.sleep(0.01)
    watch.phase(1, "predicting")
    assert watch.compiled == {"learning the model": 0.004}
    assert 0.005 < watch.without_compiling("learning the model") < 5
    assert watch.without_compiling("optimising the policy") == 0


def test_bench_refuses_sizes_that_are_too_small(capsys):
    assert main(["bench", "--sizes", "3"]) == 2
    assert "sizes must be an integer of at least 20" in capsys.readouterr().err
