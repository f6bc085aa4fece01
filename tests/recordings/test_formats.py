"""Logs in other formats than CSV, and logs that are cut into several trials."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import mcap_ros2.writer
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io
from folders import one_sentence
from mcap.writer import Writer

from vfpilco import UserError
from vfpilco.cli.main import main
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.formats import read_file
from vfpilco.recordings.logs import read_log, read_recordings

RENAMED = {"alpha": "theta", "force": "u"}
START_NS = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def trial(explore):
    return explore(0)


@pytest.fixture(scope="module")
def columns(trial) -> dict[str, np.ndarray]:
    """The columns of a trial; the last input is held."""
    times = trial.sampling_time * np.arange(len(trial.q))
    return {"t": times, "p": trial.q[:, 0], "theta": trial.q[:, 1], "u": np.append(trial.u, trial.u[-1])}


def to_mat(path: Path, columns: dict[str, np.ndarray]) -> None:
    scipy.io.savemat(path, {**columns, "gains": np.eye(3), "note": "bench"})


def to_struct(path: Path, columns: dict[str, np.ndarray]) -> None:
    rig = {name: values for name, values in columns.items() if name != "u"}
    scipy.io.savemat(path, {"log": {"rig": rig, "drive": {"u": columns["u"]}}, "sampling_time": 1 / 30})


def to_structure_with_time(path: Path, columns: dict[str, np.ndarray]) -> None:
    signals = [{"values": columns[name], "label": name, "dimensions": 1} for name in ("p", "theta", "u")]
    scipy.io.savemat(path, {"out": {"time": columns["t"], "signals": signals, "blockName": "rig/Scope"}})


def to_mat73(path: Path, columns: dict[str, np.ndarray]) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_group("#refs#")
        log = file.create_group("log")
        log.attrs["MATLAB_class"] = np.bytes_("struct")
        for name, values in columns.items():
            log[name] = values[None].astype(np.float64)  # a column of MATLAB is a row of HDF5
            if name != "u":  # other programs than MATLAB do not say what it is
                log[name].attrs["MATLAB_class"] = np.bytes_("double")
        log["mode"] = np.array([[115], [119]], dtype=np.uint16)
        log["mode"].attrs["MATLAB_class"] = np.bytes_("char")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


def to_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    stamps = np.datetime64("2026-01-02T03:04:05", "ns") + np.round(1e9 * columns["t"]).astype("timedelta64[ns]")
    rig = pyarrow.StructArray.from_arrays([columns["p"], columns["theta"]], ["p", "theta"])
    table = {"stamp": stamps, "rig": rig, "u": columns["u"], "mode": ["swing"] * len(stamps)}
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def to_json_mcap(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Measurements and commands on topics of their own; a command comes 4 ms after the measurement."""
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("any", "jsonschema", b"{}")
        topics = ("/rig/state", "/rig/u", "/log")
        channels = {topic: writer.register_channel(topic, "json", schema) for topic in topics}

        def add(topic: str, time: int, content: Any) -> None:
            data = json.dumps(content).encode()
            writer.add_message(channels[topic], log_time=time, publish_time=time, data=data)

        for t, p, theta, u in zip(*columns.values(), strict=True):
            time = START_NS + round(1e9 * t)
            add("/rig/state", time, {"p": p, "theta": theta, "mode": "swing"})
            add("/rig/u", time + 4_000_000, {"data": u})
        add("/log", START_NS, {"text": "hello"})
        writer.finish()


JOINTS = """std_msgs/Header header
string[] name
float64[] position
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


def to_ros2_mcap(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Joint states with stamps, recorded 50 ms later, and commands at twice the rate."""
    with open(path, "wb") as file:
        writer = mcap_ros2.writer.Writer(file)
        joints = writer.register_msgdef("sensor_msgs/msg/JointState", JOINTS)
        command = writer.register_msgdef("std_msgs/msg/Float64", "float64 data")
        for t, p, theta, u in zip(*columns.values(), strict=True):
            time = START_NS + round(1e9 * t)
            stamp = {"sec": time // 10**9, "nanosec": time % 10**9}
            content = {"header": {"stamp": stamp, "frame_id": ""}, "name": ["p", "theta"], "position": [p, theta]}
            writer.write_message("/joint_states", joints, content, time + 50_000_000, time + 50_000_000)
            for later in (3_000_000, 19_000_000):
                writer.write_message("/drive/u", command, {"data": u}, time + later, time + later)
        writer.finish()


FORMATS = {
    "vectors.mat": to_mat,
    "struct.mat": to_struct,
    "simulink.mat": to_structure_with_time,
    "new.mat": to_mat73,
    "log.parquet": to_parquet,
    "json.mcap": to_json_mcap,
    "ros2.mcap": to_ros2_mcap,
}


@pytest.fixture(scope="module")
def folder(columns, tmp_path_factory) -> Path:
    """A file of every format with the same trial."""
    folder = tmp_path_factory.mktemp("formats")
    for name, write in FORMATS.items():
        write(folder / name, columns)
    return folder


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_trial_that_was_recorded(folder, name, trial, task):
    (found,) = read_recordings(folder / name, Channels.of(task), RENAMED)
    assert {f.severity for f in found.findings} <= {"remark"}
    np.testing.assert_array_equal(found.q, trial.q)
    np.testing.assert_array_equal(found.u[:-1], trial.u)
    np.testing.assert_allclose(found.times, np.arange(len(trial.q)) / 30, atol=1e-8)


def test_columns_have_short_names_and_long_ones(folder):
    assert read_file(folder / "struct.mat").numeric_names == ("t", "p", "theta", "u")
    assert read_file(folder / "log.parquet").numeric_names == ("time [s]", "p", "theta", "u")
    streams = read_file(folder / "ros2.mcap")
    assert streams.names == ("u", "p", "theta")
    assert streams.full == ("/drive/u.data", "/joint_states.position.p", "/joint_states.position.theta")


def test_columns_are_named_by_topic_and_field_and_a_wrong_name_is_refused(folder, trial, task):
    full = {"force": "/drive/u.data", "alpha": "joint_states.position.theta"}
    (found,) = read_recordings(folder / "ros2.mcap", Channels.of(task), full)
    np.testing.assert_array_equal(found.q, trial.q)
    with pytest.raises(UserError, match=r"ros2.mcap.*'thetta'.*did you mean 'theta'"):
        read_recordings(folder / "ros2.mcap", Channels.of(task), {"alpha": "thetta"})
    with pytest.raises(UserError, match=r"has no columns called 'alpha' and 'force', only time|only u, p, theta"):
        read_recordings(folder / "ros2.mcap", Channels.of(task))


def test_a_unit_that_a_variable_of_matlab_cannot_have_is_given_with_its_name(columns, trial, task, tmp_path):
    degrees = {**columns, "theta": np.rad2deg(columns["theta"])}
    to_mat(tmp_path / "log.mat", degrees)
    (found,) = read_recordings(tmp_path / "log.mat", Channels.of(task), {"alpha [deg]": "theta", "force": "u"})
    np.testing.assert_allclose(found.q, trial.q, atol=1e-12)


def test_what_is_not_used_is_reported_once(folder, task):
    for name, words in {
        "vectors.mat": "ignored columns: gains, note.",
        "log.parquet": "ignored columns: mode (text).",
        "json.mcap": "ignored columns: /log.",
    }.items():
        (found,) = read_recordings(folder / name, Channels.of(task), RENAMED)
        assert [f.sentence for f in found.findings if f.kind == "other columns"] == [words]


def test_findings_name_samples_where_there_are_no_lines(columns, task, tmp_path):
    bad = {name: values.copy() for name, values in columns.items()}
    bad["p"][16], bad["u"][20] = np.nan, 99.0
    to_mat(tmp_path / "log.mat", bad)
    (found,) = read_recordings(tmp_path / "log.mat", Channels.of(task), RENAMED)
    listed = {f.kind: str(f) for f in found.findings}
    assert listed["not finite"].startswith("sample 17: p is nan")
    assert listed["beyond limit"].startswith("sample 21: force is 99")
    assert listed["other columns"].startswith("columns: ")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("new.mat", "h5py"),
        ("log.parquet", "pyarrow.parquet"),
        ("json.mcap", "mcap.reader"),
        ("ros2.mcap", "mcap_ros2.decoder"),
    ],
)
def test_a_missing_package_is_named_with_its_pip_command(folder, name, module, task, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"needs the package {module.split('.')[0]}: pip install 'vfpilco\[logs\]'"):
        read_recordings(folder / name, Channels.of(task), RENAMED)


@pytest.mark.parametrize("name", ["struct.mat", "new.mat", "log.parquet", "json.mcap", "ros2.mcap"])
def test_damaged_files_are_refused_in_one_sentence(folder, name, task, tmp_path):
    complete, outcomes = (folder / name).read_bytes(), set()
    path = tmp_path / name
    for seed in range(25):
        rng = np.random.default_rng(seed)
        content = bytearray(complete)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(content)))
            if rng.integers(2):
                content[at : at + 8] = rng.bytes(8)
            else:
                del content[at : at + int(rng.integers(1, 3000))]
        path.write_bytes(bytes(content))
        try:
            read_recordings(path, Channels.of(task), RENAMED)
            outcomes.add("read")
        except UserError as error:
            outcomes.add("refused" if "\n" not in str(error) else "refused in several lines")
    assert "refused" in outcomes
    assert outcomes <= {"read", "refused"}


def test_other_content_is_refused_in_one_sentence(task, tmp_path):
    for name, content, words in [
        ("a.mat", b"", "cannot be read as a MATLAB file"),
        ("a.parquet", b"t,p\n1,2\n", "cannot be read as a Parquet file"),
        ("a.mcap", b"\x89MCAP0\r\n", "cannot be read as an MCAP file"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=words):
            read_log(tmp_path / name, task)
    with pytest.raises(UserError, match="There is no file"):
        read_log(tmp_path / "none.mat", task)
    (tmp_path / "folder.mat").mkdir()
    with pytest.raises(UserError, match="is not a file"):
        read_log(tmp_path / "folder.mat", task)
    scipy.io.savemat(tmp_path / "b.mat", {"gain": 3.0})
    with pytest.raises(UserError, match="has no columns of numbers, it has gain"):
        read_log(tmp_path / "b.mat", task)


def test_a_file_that_crashes_its_reader_is_refused_too(task, tmp_path):
    file = tmp_path / "log.mat"
    scipy.io.savemat(file, {"log": {"t": np.arange(3.0)}})
    content = bytearray(file.read_bytes())
    assert content[144] == 2, "a struct"
    content[144] = 5  # a sparse matrix with the content of a struct
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"log\.mat cannot be read as a MATLAB file \(SciPy's reader crashes\)"):
        read_log(file, task)


def test_tables_that_only_matlab_can_read_are_named(task, tmp_path, monkeypatch):
    class MatlabOpaque(np.ndarray):
        pass

    opaque = np.zeros(1, dtype=object).view(MatlabOpaque)
    monkeypatch.setattr(scipy.io, "loadmat", lambda *_, **__: {"T": opaque})
    (tmp_path / "a.mat").write_bytes(b"MATLAB 5.0 MAT-file")
    with pytest.raises(UserError, match="table2struct"):
        read_log(tmp_path / "a.mat", task)


# -- columns of text ---------------------------------------------------------------------------------------------


def csv_lines(columns: dict[str, np.ndarray], mode: str = "auto") -> list[str]:
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return ["t,p,alpha,force,mode", *(",".join([*map(repr, row), mode]) for row in rows)]


def test_columns_of_text_are_skipped(columns, tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text("\n".join(csv_lines(columns)))
    assert main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["name"] for p in found["positions"]] == ["p", "alpha"]
    assert [f["sentence"] for f in found["files"][0]["findings"]] == ["ignored columns: mode (text)."]


def test_a_column_of_text_that_is_needed_is_one_error(columns, task, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["t,p,alpha,mode,force", *csv_lines(columns)[1:]]))
    _, findings = read_log(path, task)
    errors = [f for f in findings if f.severity == "error"]
    assert [(f.kind, f.line, f.column) for f in errors] == [("text", 1, "force")]
    assert "only text such as 'auto'" in errors[0].sentence


# -- cutting -----------------------------------------------------------------------------------------------------


def cut(path: Path, lines: list[str], task, **changes: Any) -> list[Any]:
    path.write_text("\n".join(lines))
    return read_recordings(path, Channels.of(task), split=True, **changes)


def test_a_file_is_cut_at_gaps_and_where_cells_are_missing(columns, trial, task, tmp_path):
    lines = csv_lines(columns)
    lines[60] = lines[60].replace(lines[60].split(",")[1], "", 1)  # a position is missing
    found = cut(tmp_path / "log.csv", lines[:30] + lines[33:], task)
    sizes = [(29, "lines 2 to 30"), (27, "lines 31 to 57"), (31, "lines 59 to 89")]
    assert [(len(r.q), r.part.strip(", ")) for r in found] == sizes
    assert [{f.severity for f in r.findings} for r in found] == [{"remark"}] * 3
    assert "is cut at 2 gaps into 3 trials." in found[0].findings[0].sentence
    np.testing.assert_array_equal(found[0].q, trial.q[:29])
    np.testing.assert_array_equal(found[2].q, trial.q[60:])
    np.testing.assert_array_equal(found[2].u[:-1], trial.u[60:])


def test_a_sample_without_inputs_ends_a_part(columns, trial, task, tmp_path):
    lines = csv_lines(columns)
    t, p, alpha, _, mode = lines[40].split(",")
    lines[40] = ",".join([t, p, alpha, "", mode])
    found = cut(tmp_path / "log.csv", lines, task)
    assert [len(r.q) for r in found] == [40, 51]
    np.testing.assert_array_equal(found[0].q, trial.q[:40])


def test_a_file_is_cut_where_the_time_starts_again_and_at_the_horizon(columns, trial, task, tmp_path):
    lines = csv_lines(columns)
    found = cut(tmp_path / "log.csv", lines + lines[1:], task)
    assert [len(r.q) for r in found] == [91, 91]
    long = {name: np.concatenate([values, values[1:]]) for name, values in columns.items()}
    long["t"] = np.arange(181) / 30
    (tmp_path / "long.csv").write_text("\n".join(csv_lines(long)))
    found = read_recordings(tmp_path / "long.csv", Channels.of(task), split=True)
    assert [len(r.q) for r in found] == [91, 91]
    np.testing.assert_array_equal(found[0].q[-1], found[1].q[0])
    assert all(f.kind != "long" for r in found for f in r.findings)


def test_parts_that_are_too_short_are_left_out(columns, task, tmp_path):
    lines = csv_lines(columns)
    found = cut(tmp_path / "log.csv", lines[:4] + lines[8:], task)
    assert [len(r.q) for r in found] == [84]
    assert "1 part with fewer than 5 samples left out" in found[0].findings[0].sentence
    with pytest.raises(UserError, match="no 5 consecutive samples"):
        cut(tmp_path / "log.csv", [lines[0], *lines[1::3]][:4], task)


def test_a_file_without_gaps_is_not_cut(columns, task, tmp_path):
    (found,) = cut(tmp_path / "log.csv", csv_lines(columns), task)
    assert found.part == ""
    assert [f.kind for f in found.findings] == ["other columns"]


# -- the command line --------------------------------------------------------------------------------------------


def test_a_matlab_log_with_a_gap_is_added(columns, tmp_path, capsys):
    kept = np.r_[0:40, 44:91]
    log = tmp_path / "log.mat"
    to_struct(log, {name: values[kept] for name, values in columns.items()})
    named = ["--columns", "alpha=theta, force=u"]
    run = tmp_path / "run"
    assert main(["tell", str(run), "--task", "cartpole", str(log), *named]) == 2
    assert not run.exists()
    assert "which --split does" in capsys.readouterr().err
    assert main(["tell", str(run), "--task", "cartpole", str(log), *named, "--split"]) == 0
    printed = capsys.readouterr()
    assert f"{log}, samples 1 to 40: exploration" in printed.out
    assert printed.err.count("ignored columns") <= 1
    assert len((run / "results.jsonl").read_text().splitlines()) == 2
    assert main(["tell", str(run), str(log), "--columns", "alpha", "--split"]) == 2
    assert "--columns takes NAME=COLUMN" in one_sentence(capsys.readouterr().err)


def test_reading_warns_of_nothing(folder, task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FORMATS:
            read_recordings(folder / name, Channels.of(task), RENAMED)
