from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from vfpilco import UserError
from vfpilco.recordings.channels import Channels, guess
from vfpilco.recordings.logs import read_log, read_recording, trial_of
from vfpilco.storage.trialfile import trial_to_csv, write_log

COLUMNS = ["p", "alpha", "force"]


@pytest.fixture(scope="module")
def trial(explore):
    return explore(0)


@pytest.fixture(scope="module")
def lines(trial, task) -> list[str]:
    """A file that this package writes: line 1 names the columns, sample i is on line i + 2."""
    return trial_to_csv(trial.q, trial.u, task.machine.sampling_time, COLUMNS).splitlines()


@pytest.fixture
def log(tmp_path, task):
    """Reads lines as a file; findings as (severity, kind, line, column)."""

    def log(lines: list[str] | bytes):
        path = tmp_path / "log.csv"
        path.write_bytes(lines if isinstance(lines, bytes) else "\n".join(lines).encode())
        trial, findings = read_log(path, task)
        assert all(f.sentence.endswith(".") and f.line >= 1 for f in findings)
        return trial, [(f.severity, f.kind, f.line, f.column) for f in findings]

    return log


def cells(line: str) -> list[str]:
    return line.split(",")


def with_cell(lines: list[str], line: int, column: int, cell: str) -> list[str]:
    """The lines with one cell changed; `line` counts from 1."""
    changed = list(lines)
    row = cells(changed[line - 1])
    row[column] = cell
    changed[line - 1] = ",".join(row)
    return changed


def test_a_file_of_this_package_is_read_to_the_bit(log, lines, trial, task):
    found, findings = log(lines)
    assert findings == []
    np.testing.assert_array_equal(found.q, trial.q)
    np.testing.assert_array_equal(found.u, trial.u)
    assert found.sampling_time == task.machine.sampling_time


def test_the_checksum_of_a_log_of_this_package_is_not_a_sample(tmp_path, trial, task):
    write_log(tmp_path / "log.csv", trial, COLUMNS)
    assert (tmp_path / "log.csv").read_text().splitlines()[-1].startswith("sha256,")
    found, findings = read_log(tmp_path / "log.csv", task)
    assert found is not None
    assert [f.kind for f in findings] == ["other columns"]  # the true positions
    np.testing.assert_array_equal(found.q, trial.q)


def foreign(lines: list[str], separator: str, *, point: str = ".", header: str, scale: float = 1.0) -> list[str]:
    """The lines as other programs write them, the time in another unit and every number with six digits."""
    rows = [[str(scale * float(t)), *rest] for t, *rest in map(cells, lines[1:])]
    rows = [[f"{float(cell):.6f}" if cell else "" for cell in row] for row in rows]
    return [header, *(separator.join(row).replace(".", point) for row in rows)]


@pytest.mark.parametrize(
    ("separator", "point", "header", "scale"),
    [
        (",", ".", "time [s],P,ALPHA [rad], force (N)", 1),
        (";", ",", "t_ms;p;alpha;force", 1e3),
        (";", ".", '"Time (us)";"p [m]";"alpha";"force"', 1e6),
        ("\t", ",", "timestamp\tp\talpha\tforce", 1),
        ("\t", ".", "millis\tp\talpha\tforce", 1e3),
    ],
)
def test_dialects(log, lines, trial, separator, point, header, scale):
    rows = foreign(lines, separator, point=point, header=header, scale=scale)
    for content in (
        "\r\n".join(rows) + "\r\n\r\n\n",
        "\ufeff" + "\n".join(rows),
        "\r".join(rows),
    ):
        found, findings = log(content.encode())
        assert findings == []
        np.testing.assert_allclose(found.q, trial.q, atol=1e-6)
        np.testing.assert_allclose(found.u, trial.u, atol=1e-6)
    found, findings = log("\r\n".join(rows).encode("utf-16"))
    assert findings == []
    np.testing.assert_allclose(found.q, trial.q, atol=1e-6)


def test_quoted_cells_and_decimal_commas_within(log, lines, trial):
    rows = [",".join(f'"{cell.replace(".", ",")}"' for cell in cells(line)) for line in lines[1:]]
    found, findings = log(['"t","p","alpha","force"', *rows])
    assert findings == []
    np.testing.assert_array_equal(found.q, trial.q)


def test_columns_in_another_order_and_other_columns(log, lines, trial):
    rows = [",".join([a, "x", f, t, p]) for t, p, a, f in map(cells, lines[1:])]
    found, findings = log(["alpha,note,force,t,p", *rows])
    assert findings == [("remark", "other columns", 1, None)]
    np.testing.assert_array_equal(found.q, trial.q)


def test_units_in_the_header_are_converted_to_the_tasks(log, lines, trial):
    rows = [",".join([t, str(1e3 * float(p)), str(np.rad2deg(float(a))), f]) for t, p, a, f in map(cells, lines[1:])]
    found, findings = log(["t,p [mm],alpha [deg],force [lbf]", *rows])
    assert findings == [("warning", "unit", 1, "force"), ("remark", "unit", 1, "p"), ("remark", "unit", 1, "alpha")]
    np.testing.assert_allclose(found.q, trial.q, atol=1e-12)


def test_no_times_and_times_without_a_unit(log, lines):
    assert log([line.split(",", 1)[1] for line in lines])[1] == [("remark", "no time", 1, None)]
    assert log(foreign(lines, ",", header="t,p,alpha,force", scale=1e6))[1] == [("remark", "unit", 1, None)]


def test_comments_before_the_header_count_as_lines(log, lines):
    assert log(["# bench 3", "% MATLAB", "", *with_cell(lines, 10, 1, "")])[1] == [("error", "missing", 13, "p")]


@pytest.mark.parametrize(
    ("line", "column", "cell", "found"),
    [
        (17, 1, "", ("error", "missing", 17, "p")),
        (18, 2, "n/a", ("error", "not a number", 18, "alpha")),
        (18, 2, "1_0", ("error", "not a number", 18, "alpha")),
        (19, 1, "NaN", ("error", "not finite", 19, "p")),
        (20, 3, "-inf", ("error", "not finite", 20, "force")),
        (21, 3, "", ("error", "missing", 21, "force")),
        (92, 1, "", ("error", "missing", 92, "p")),
        (22, 3, "10.5", ("warning", "beyond limit", 22, "force")),
        (23, 0, "x", ("error", "not a number", 23, "t")),
    ],
)
def test_a_bad_cell_is_found_where_it_is(log, lines, line, column, cell, found):
    trial, findings = log(with_cell(lines, line, column, cell))
    assert findings == [found]
    assert (trial is None) == (found[0] == "error")


def test_findings_are_in_the_order_of_lines(log, lines):
    bad = with_cell(with_cell(with_cell(lines, 40, 1, "?"), 12, 2, ""), 30, 3, "99")
    assert [f[1:3] for f in log(bad)[1]] == [("missing", 12), ("beyond limit", 30), ("not a number", 40)]


def test_frequent_findings_of_a_kind_are_counted(log, lines, tmp_path, task):
    bad = list(lines)
    for line in range(20, 60):
        bad = with_cell(bad, line, 1, "")
    assert len(log(bad)[1]) == 11
    _, findings = read_log(tmp_path / "log.csv", task)
    assert any("30 more" in f.sentence and "line 59" in f.sentence for f in findings)


def test_gaps_repeated_samples_and_time_going_back(log, lines, trial):
    assert log(lines[:30] + lines[32:])[1] == [("error", "gap", 31, None), ("remark", "short", 90, None)]
    found, findings = log(lines[:30] + lines[29:])
    assert findings == [("warning", "repeated sample", 31, None)]
    np.testing.assert_array_equal(found.q, trial.q)
    swapped = [*lines[:40], lines[41], lines[40], *lines[42:]]
    assert ("error", "backwards", 42, None) in log(swapped)[1]
    coarse = [lines[0], *(f"{float(t):.1f},{rest}" for t, rest in (line.split(",", 1) for line in lines[1:]))]
    assert log(coarse)[1] == [("error", "coarse time", 3, None)]


def test_jitter_beyond_a_fifth_and_another_rate(log, lines, task):
    h = task.machine.sampling_time
    late = with_cell(lines, 50, 0, str(48 * h + 0.3 * h))
    assert log(late)[1] == [("warning", "jitter", 50, None), ("warning", "jitter", 51, None)]
    assert log(with_cell(lines, 50, 0, str(48 * h + 0.15 * h)))[1] == []
    assert log(foreign(lines, ",", header="t [s],p,alpha,force", scale=1.5))[1] == [("error", "rate", 2, None)]
    assert log(foreign(lines, ",", header="t [s],p,alpha,force", scale=1.03))[1] == [("warning", "rate", 2, None)]
    assert log(foreign(lines, ",", header="t [s],p,alpha,force", scale=1.005))[1] == []


def test_wrapped_angles_are_unwrapped(log, lines, trial):
    turning = trial.q[:, 1] + np.linspace(0, 9, 91)
    wrapped = np.arctan2(np.sin(turning), np.cos(turning))
    jumps = np.flatnonzero(np.abs(np.diff(wrapped)) > np.pi)
    assert len(jumps) > 0
    rows = [",".join([t, p, repr(float(a)), f]) for (t, p, _, f), a in zip(map(cells, lines[1:]), wrapped, strict=True)]
    found, findings = log([lines[0], *rows])
    assert findings == [("remark", "wrapped", int(i) + 3, "alpha") for i in jumps]
    np.testing.assert_allclose(found.q[:, 1], turning, atol=1e-12)


def with_angle(lines: list[str], angle: np.ndarray, name: str = "alpha") -> list[str]:
    """The lines with another angle."""
    rows = (",".join([t, p, repr(float(a)), f]) for (t, p, _, f), a in zip(map(cells, lines[1:]), angle, strict=True))
    return [f"t,p,{name},force", *rows]


@pytest.mark.parametrize("wrap", [None, 180.0, 360.0])
def test_degrees_are_refused_unless_the_header_has_the_unit(log, lines, trial, wrap):
    degrees = np.rad2deg(trial.q[:, 1] + np.linspace(0, 9, 91))
    degrees = degrees if wrap is None else (degrees + 360 - wrap) % 360 - 360 + wrap
    found, findings = log(with_angle(lines, degrees))
    assert (found, findings) == (None, [("error", "degrees", 1, "alpha")])
    found, findings = log(with_angle(lines, degrees, "alpha [Deg]"))
    assert {f[1] for f in findings} <= {"unit", "wrapped"}
    np.testing.assert_allclose(np.diff(found.q[:, 1]), np.diff(trial.q[:, 1]) + 0.1, atol=1e-9)
    assert log(with_angle(lines, degrees, "alpha [rad]"))[0] is not None


def test_many_turns_in_radians_are_a_warning(log, lines, trial):
    turning = trial.q[:, 1] + np.linspace(0, 60, 91)
    found, findings = log(with_angle(lines, turning))
    assert findings == [("warning", "degrees", 1, "alpha")]
    np.testing.assert_array_equal(found.q[:, 1], turning)
    assert log(with_angle(lines, turning, "alpha [rad]"))[1] == []
    found, findings = log(with_angle(lines, np.arctan2(np.sin(turning), np.cos(turning))))
    assert {f[1] for f in findings} == {"wrapped"}
    np.testing.assert_allclose(found.q[:, 1], turning, atol=1e-9)


def test_a_position_that_is_not_an_angle_and_jumps_by_a_turn_is_reported(log, lines):
    bad = list(lines)
    for line in range(60, 93):
        bad = with_cell(bad, line, 1, repr(float(cells(lines[line - 1])[1]) - 2 * np.pi))
    assert log(bad)[1] == [("warning", "jump", 60, "p")]


def test_saturated_for_long_and_constant_columns(log, lines):
    at_limit = list(lines)
    for line in range(30, 60):
        at_limit = with_cell(at_limit, line, 3, "-10")
    assert log(at_limit)[1] == [("warning", "saturated", 30, "force")]
    dead = [lines[0], *(",".join([t, "0.25", a, f]) for t, _, a, f in map(cells, lines[1:]))]
    assert log(dead)[1] == [("error", "constant", 1, "p")]
    idle = [lines[0], *(",".join([t, p, a, "0" if f else ""]) for t, p, a, f in map(cells, lines[1:]))]
    assert log(idle)[1] == [("warning", "constant", 1, "force")]
    rest = [lines[0], *(",".join([t, "0", a, "0"]) for t, _, a, _ in map(cells, lines[1:]))]
    assert log(rest)[1] == [("warning", "constant", 1, "force"), ("warning", "constant", 1, "p")]


def test_length(log, lines, trial):
    assert log(lines[:60])[1] == [("remark", "short", 60, None)]
    assert log(lines[:5])[1] == [("error", "too short", 5, None)]
    assert log(lines[:6])[1] == [("remark", "short", 6, None)]
    h = 1 / 30
    longer = [*with_cell(lines, 92, 3, "1"), *(f"{i * h},{1 + 0.01 * i},{0.1 * np.sin(i)},2" for i in range(91, 100))]
    found, findings = log(longer)
    assert findings == [("warning", "long", 101, None)]
    np.testing.assert_array_equal(found.q, trial.q)


def test_rows_with_too_many_cells_are_reported(log, lines):
    findings = log([lines[0], *("1,3,7,1,9,2,1,5" for _ in range(3))])[1]
    assert ("error", "too many cells", 2, None) in findings
    assert log([lines[0], *(f"{line},," for line in lines[1:])])[1] == []


def test_only_a_recording_without_errors_becomes_a_trial(tmp_path, lines, task, trial):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("\n".join(lines))
    bad.write_text("\n".join(with_cell(lines, 9, 1, "")))
    np.testing.assert_array_equal(trial_of(read_recording(good, Channels.of(task)), task).q, trial.q)
    with pytest.raises(UserError, match=r"bad.csv cannot be learned from, it has an error on line 9: p has no value"):
        trial_of(read_recording(bad, Channels.of(task)), task)


def refused(path: Path, task) -> str:
    with pytest.raises(UserError) as error:
        read_log(path, task)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_missing_and_ambiguous_columns(tmp_path, lines, task):
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["t,p,alhpa,force", *lines[1:]]))
    message = (
        "has no column called 'alpha', only t, p, alhpa, force: did you mean 'alhpa'? Rename it to 'alpha' in the "
        "file, or use --columns 'alpha=alhpa'."
    )
    assert message in refused(path, task)
    path.write_text("\n".join(["t,p,Alpha_deg,u", *lines[1:]]))
    message = "has no columns called 'alpha' and 'force', only t, p, Alpha_deg, u: did you mean 'Alpha_deg'?"
    assert f"{message} Rename it to 'alpha [deg]' in the file, or use --columns 'alpha [deg]=Alpha_deg'." in refused(
        path, task
    )
    path.write_text("\n".join(["t,p,alpha,u", *lines[1:]]))
    assert "did you mean 'u'? Rename it to 'force' in the file, or use --columns 'force=u'." in refused(path, task)
    path.write_text("\n".join(["t,p,alpha,u,v", *(f"{line},0" for line in lines[1:])]))
    assert "rename the column that contains 'force', add it, or name it with --columns force=COLUMN" in refused(
        path, task
    )
    path.write_text("\n".join(["t,p,alpha,u,alpha_raw", *(f"{line},0" for line in lines[1:])]))
    assert "did you mean" not in refused(path, task)  # alpha, which is there, is not force
    path.write_text("\n".join(["t,p,alpha,force,P [mm]", *lines[1:]]))
    assert "2 columns called 'p'" in refused(path, task)


def test_decimal_commas_and_mixed_separators_are_named(tmp_path, lines, task):
    path = tmp_path / "log.csv"
    rows = [[f"{float(cell):.4f}".replace(".", ",") if cell else "" for cell in cells(line)] for line in lines[1:]]
    for header in (lines[0], f"{lines[0]},a,b,c,d,e,f"):
        path.write_text("\n".join([header, *(",".join(row) for row in rows)]))
        assert "has decimal commas and commas between the columns, as line 2 shows" in refused(path, task)
    path.write_text("\n".join([lines[0], *(";".join(row) for row in rows)]))
    assert "column names by commas and the samples from line 2 on by semicolons" in refused(path, task)
    path.write_text("\n".join([lines[0].replace(",", ";"), *lines[1:]]))
    assert "column names by semicolons and the samples from line 2 on by commas" in refused(path, task)
    path.write_text("\n".join([lines[0].replace(",", " "), *lines[1:]]))
    assert "'t p alpha force', which is the name of a single column" in refused(path, task)
    path.write_text("\n".join([lines[0].replace(",", ";"), *(";".join(["1.000,5", *row[1:]]) for row in rows)]))
    _, findings = read_log(path, task)
    assert "t is '1.000,5', which is not a number: remove the thousands separators" in findings[0].sentence


def test_other_files_are_refused_in_one_sentence(tmp_path, lines, task):
    path = tmp_path / "log.csv"
    assert "There is no file" in refused(path, task)
    assert "There is no file" in refused(Path("a\0b"), task)
    assert "is not a file" in refused(tmp_path, task)
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in refused(tmp_path / "pipe", task)
    for content, words in {
        b"": "has no lines",
        b"\n\n \r\n": "has no lines",
        bytes(range(256)) * 40: "is not text",
        b"\x89PNG\r\n\x1a\n" + bytes(range(128)) * 9: "is not text",
        b"t,p,alpha,force\n": "no samples",
        "\n".join(lines[1:]).encode(): "does not name the columns",
        b"t,p,alpha,force\n" + b"1" * 30_000: "Line 2",
    }.items():
        path.write_bytes(content)
        assert words in refused(path, task)
    with open(path, "wb") as file:
        file.truncate(2**27)
    assert "more than any trial" in refused(path, task)


def test_damaged_files_never_cause_a_traceback(tmp_path, lines, task):
    path, complete = tmp_path / "log.csv", "\n".join(lines[:40]).encode()
    outcomes = set()
    for seed in range(250):
        rng = np.random.default_rng(seed)
        content = bytearray(complete)
        for _ in range(rng.integers(1, 6)):
            at, kind = int(rng.integers(len(content))), rng.integers(7)
            if kind == 0:
                content[at] = rng.integers(256)
            elif kind == 1:
                del content[at : at + int(rng.integers(1, 200))]
            elif kind == 2:
                content[at:at] = rng.choice([b'"', b"\n", b",,,", b"\r", b";", b"\t", b"1e999", b"nan", b"\xff", b"-"])
            elif kind == 3:
                content[at:at] = content[: int(rng.integers(300))]
            elif kind == 4:
                content[at:at] = rng.bytes(int(rng.integers(1, 6)))
            else:
                content[at] = ord("0") + int(rng.integers(10))
        path.write_bytes(bytes(content))
        try:
            trial, findings = read_log(path, task)
        except UserError as error:
            outcomes.add("refused" if "\n" not in str(error) else "refused in several lines")
            continue
        outcomes.add("read" if trial is not None else "found")
        last = len(bytes(content).decode("latin-1").replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        assert all(1 <= f.line <= last for f in findings)
        if trial is not None:
            assert np.all(np.isfinite(trial.q))
            assert np.all(np.isfinite(trial.u))
            assert len(trial.q) == len(trial.u) + 1
    assert outcomes == {"refused", "found", "read"}


def test_channels_are_guessed_by_name():
    found = guess(["time [ms]", "x [m]", "Pole angle [deg]", "u1", "voltage [V]"], [], [], [])
    assert [(p.name, p.unit, p.angle) for p in found.positions] == [("x", "m", False), ("Pole angle", "rad", True)]
    assert [i.name for i in found.inputs] == ["u1", "voltage"]
    found = guess(["t", "a", "b", "c"], ["a"], ["c"], ["a"])
    assert ([p.name for p in found.positions], found.angles) == (["a"], (True,))
    with pytest.raises(UserError, match="--positions"):
        guess(["t", "a", "b"], [], [], [])
    with pytest.raises(UserError, match="did you mean 'alpha'"):
        guess(["t", "alpha", "u"], [], [], ["alhpa"])
