import json

import pytest

from vfpilco.cli.main import main


@pytest.mark.long
def test_bench_prints_every_ratio_of_one_run(capsys, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS")  # fast code is wanted here
    assert main(["bench", "--sizes", "40", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    (row,) = measured["gradient_step"]
    assert row["n"] == 40
    assert row["seconds"] > 0
    assert row["speedup_vs_reference"] > 1
    assert row["ratio_to_floor"] > 1
    assert row["peak_mb"] > 100
    assert row["compile_seconds"] > 0
    assert measured["six_joints"]["d_x"] == 36
    assert 0 < measured["six_joints"]["seconds"] < 1


def test_bench_refuses_sizes_that_are_too_small(capsys):
    assert main(["bench", "--sizes", "3"]) == 2
    assert "sizes must be an integer of at least 20" in capsys.readouterr().err
