"""MCAP files: messages in JSON, and ROS 2 messages (CDR), by topic and field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.recordings.formats.base import flatten, package, readable, short_names
from vfpilco.recordings.formats.streams import Messages, Place, Streams
from vfpilco.recordings.table import MOST_ROWS

MOST_FIELDS = 200
"""A message with more numbers, such as an image, is not a measurement."""


def read(path: Path) -> Streams:
    """The numbers in the messages of an MCAP file.

    Raises:
        UserError: If a package is missing, or if no message in JSON or from ROS 2 contains numbers.
    """
    reader = package("mcap.reader", "an MCAP file")
    with open(path, "rb") as file:
        summary = reader.make_reader(file).get_summary()
    if summary is None:
        raise UserError(f"{path} ends in the middle of a recording: repair it with the command mcap recover.")
    places: list[Place] = []
    skipped = []
    for topic in sorted({channel.topic for channel in summary.channels.values()}):
        first = next(iter(_messages(path, topic)), None)
        numbers = [] if first is None else [place for place, value in _fields(topic, first[1]) if value is not None]
        if 0 < len(numbers) <= MOST_FIELDS:
            places += numbers
        else:
            skipped.append(topic)
    if not places:
        raise UserError(
            f"{path} has no numbers in JSON or ROS 2 messages, only the topics {', '.join(skipped)[:200] or '(none)'}: "
            "record a topic that has."
        )
    names = short_names([(*topic.strip("/").split("/"), *rest) for topic, *rest in places])
    full = tuple(".".join(place) for place in places)
    return Streams(path, tuple(places), tuple(names), full, tuple(skipped), lambda *what: _read(path, *what))


def _read(path: Path, topic: str, places: Sequence[Place]) -> Messages:
    times, rows = [], []
    with readable(path, "an MCAP file"):
        for time, content in _messages(path, topic):
            fields = dict(_fields(topic, content))
            values = [fields.get(place) for place in places]
            times.append(time)
            rows.append([np.nan if value is None else value for value in values])
            if len(rows) > MOST_ROWS:
                raise UserError(f"{path} has more than {MOST_ROWS} messages of {topic}: record a single trial.")
    return np.array(times, dtype=np.int64), np.array(rows, dtype=float).reshape(len(rows), len(places))


def _messages(path: Path, topic: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The messages of a topic with their times: that in the header if there is one, else when it was recorded."""
    reader = package("mcap.reader", "an MCAP file")
    decoders: dict[int, Callable[[bytes], Any] | None] = {}
    with open(path, "rb") as file:
        for schema, channel, message in reader.make_reader(file).iter_messages(topics=[topic]):
            if channel.id not in decoders:
                decoders[channel.id] = _decoder(channel.message_encoding, schema)
            decode = decoders[channel.id]
            content = None if decode is None else decode(message.data)
            if isinstance(content, Mapping):
                yield _stamp(content) or message.log_time, content


def _decoder(encoding: str, schema: Any) -> Callable[[bytes], Any] | None:
    """What decodes the messages of a topic; None if they are in another encoding."""
    if encoding == "json":
        return json.loads
    if encoding == "cdr" and schema is not None and schema.encoding == "ros2msg":
        decode = package("mcap_ros2.decoder", "ROS 2 messages").DecoderFactory().decoder_for(encoding, schema)
        return lambda data: _plain(decode(data))
    return None


def _plain(value: Any) -> Any:
    """A ROS message as a dictionary; long arrays are cut, since they are not read."""
    if isinstance(value, int | float | str | bytes):
        return value
    if hasattr(value, "__slots__"):
        return {name.lstrip("_"): _plain(getattr(value, name)) for name in value.__slots__}
    return [_plain(entry) for entry in value[: MOST_FIELDS + 1]]


def _stamp(content: Mapping[str, Any]) -> int | None:
    """The stamp of a header in nanoseconds."""
    header = content.get("header")
    stamp = header.get("stamp") if isinstance(header, Mapping) else None
    if not isinstance(stamp, Mapping) or not all(isinstance(part, int) for part in stamp.values()):
        return None
    return 10**9 * stamp.get("sec", 0) + stamp.get("nanosec", 0)


def _fields(topic: str, content: Mapping[str, Any]) -> Iterator[tuple[Place, float | None]]:
    """The fields of a message except its header; None for one that is not a number."""
    for path, value in flatten({key: each for key, each in content.items() if key != "header"}):
        yield (topic, *path), float(value) if isinstance(value, int | float) else None
