"""results.jsonl: a chain of records.

Every line contains the digest of all that is before it, and the digests of the files of its execution. A line that was
removed, repeated or exchanged breaks the chain, and so does a file that was. Lines of formats 3 and 4 have only a
checksum of their own; a later line includes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from vfpilco.common.files import Damaged, from_json, to_json
from vfpilco.data.records import from_json_types, to_json_types
from vfpilco.data.results import TrialResult

FILE = "results.jsonl"
KINDS = ("models", "optimisations", "policies", "predictions")
"""The folders with a file for every trial."""


@dataclass(frozen=True)
class Record:
    """A line of results.jsonl."""

    result: TrialResult
    files: Mapping[str, str] | None
    """The digests of its files, by name; None in formats 3 and 4."""


@dataclass(frozen=True)
class _Link:
    """What makes a line part of the chain."""

    previous: str
    files: dict[str, str]


def digest(content: bytes) -> str:
    """The digest of a file, or of a part of one."""
    return hashlib.sha256(content).hexdigest()


def names_of(index: int, trial: int | None) -> list[str]:
    """The files that execution `index` may have, with the policy of `trial` if there is one."""
    own = [f"trials/{index:03d}.csv", f"trials/{index:03d}.true.csv", f"scenes/{index:03d}.safetensors"]
    return own + ([] if trial is None else [f"{kind}/{trial:03d}.safetensors" for kind in KINDS])


def line_after(before: bytes, result: TrialResult, files: Mapping[str, str]) -> bytes:
    """The line of a result, to be appended to what the file holds."""
    row = {**to_json_types(result), "files": dict(files), "previous": digest(before)}
    return to_json(row).encode() + b"\n"


def parse(content: bytes, where: str) -> list[Record]:
    """The records in the content of results.jsonl.

    Raises:
        Damaged: If a line is damaged, or does not continue those before it; `where` names the file.
    """
    records: list[Record] = []
    lines = content.splitlines(keepends=True)
    begin = 0
    for number, line in enumerate(lines, start=1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("it ends in the middle of a line")
            record = _record(line[:-1], content[:begin], chained=bool(records) and records[-1].files is not None)
            _check_place(record, records)
        except ValueError as error:
            raise Damaged(f"{where} is damaged in line {number} ({error})") from error
        records.append(record)
        begin += len(line)
    return records


def _record(line: bytes, before: bytes, chained: bool) -> Record:
    row = from_json(line)
    link = {name: row.pop(name) for name in ("previous", "files") if name in row}
    result = from_json_types(row, TrialResult)
    if not link and not chained:
        return Record(result, None)
    found = from_json_types(link, _Link)
    if found.previous != digest(before):
        raise ValueError("it does not continue the lines before it: one was removed, repeated, exchanged or changed")
    return Record(result, found.files)


def _check_place(record: Record, before: list[Record]) -> None:
    """Raise a `ValueError` if a record is not the next one."""
    result, index = record.result, len(before)
    trial = 1 + sum(each.result.kind == "policy" for each in before) if result.kind == "policy" else None
    if result.trial != trial or result.file not in ("", f"trials/{index:03d}.csv"):
        raise ValueError(
            f"it is {result.file or 'an execution'} of trial {result.trial}, where execution {index} of trial {trial} "
            "should be: a line was removed, repeated or exchanged"
        )
    if record.files is not None and not set(record.files) <= set(names_of(index, trial)):
        raise ValueError("it names files that are not its own")


def digests(records: list[Record]) -> dict[str, str | None]:
    """The digest of every file that belongs to a chained record, by name; None for one that should not exist."""
    return {
        name: record.files.get(name)
        for index, record in enumerate(records)
        if record.files is not None
        for name in names_of(index, record.result.trial)
    }
