"""Files with a JSON value in every line are read completely, or refused with the line."""

from __future__ import annotations

import pytest

from vfpilco.common.errors import UserError
from vfpilco.common.files import read_json_lines
from vfpilco.studies.calibration import calibrate


def test_every_line_is_converted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n[2]\n')
    assert read_json_lines(tmp_path / "a.jsonl", str) == ["{'a': 1}", "[2]"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1\n\xbc\n", "cannot be read .'utf-8' codec"),
        (b"1\n{\n", "is damaged in line 2"),
        (b'1\n"\\u001b[31m"\n', "is damaged in line 2 .it contains .* which cannot be printed"),
        (b"1\n" + 100_000 * b"[" + b"\n", "is damaged in line 2"),
    ],
)
def test_what_cannot_be_read_is_reported(tmp_path, content, words):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=words):
        read_json_lines(tmp_path / "a.jsonl", str)


def test_what_is_no_file_is_reported(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UserError, match="cannot be read"):
            read_json_lines(path, str)


def test_results_that_are_not_text_are_no_runs(tmp_path):
    (tmp_path / "study.jsonl").write_bytes(b"\xbc\xff\n")
    with pytest.raises(UserError, match="holds no runs"):
        calibrate(tmp_path)
