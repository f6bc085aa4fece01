"""A folder of files that are complete or absent, each with a checksum, and without links."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vfpilco.common.components import classes
from vfpilco.common.errors import UserError
from vfpilco.common.files import Damaged, read_arrays, read_file, write_file
from vfpilco.storage.store import About, Arrays, Store


class Folder(Store):
    """Files with checksums in a folder.

    Args:
        path: The folder.
        components: Objects of the user's own classes that its files may name, such as a task's settings.
    """

    def __init__(self, path: str | Path, *components: Any) -> None:
        self.path, self.components, self.known = Path(path), components, classes(*components)

    def inside(self, name: str) -> Path:
        """The path of a file of this folder; refuses to follow a link, which may lead anywhere."""
        path = self.path
        for part in Path(name).parts:
            path = path / part
            if path.is_symlink():
                raise Damaged(f"{path} is a link, and a run folder has none")
        return path

    def checked(self, name: str) -> Path:
        """The path of a file to be read, after comparing it with what the folder says about it elsewhere."""
        return self.inside(name)

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return os.path.lexists(self.path / name)

    def arrays(self, kind: str, trial: int) -> tuple[Arrays, About]:
        """The arrays written for a trial to the folder `kind`, and what is known about them."""
        return self.read_arrays(f"{kind}/{trial:03d}.safetensors")

    def read_arrays(self, name: str) -> tuple[Arrays, About]:
        """The arrays in a file."""
        with self.explaining_damage():
            try:
                return read_arrays(self.checked(name))
            except FileNotFoundError as error:
                raise Damaged(f"{self.path / name} is missing") from error

    def write_with_checksum(self, name: str, content: bytes) -> None:
        """Write a file that has no place for a checksum, and beside it one with its checksum, as sha256sum would."""
        path = self.inside(name)
        write_file(self.inside(f"{name}.sha256"), _sum(path, content))
        write_file(path, content)

    def verified(self, name: str) -> Path:
        """The path of a file whose checksum is in another one beside it."""
        path, beside = self.inside(name), self.inside(f"{name}.sha256")
        try:
            if _sum(path, read_file(path)).encode() != read_file(beside):
                raise Damaged(f"{path} or {beside.name} is damaged (the checksum is wrong)")
        except FileNotFoundError as error:
            raise Damaged(f"{error.filename} is missing") from error
        return path

    def content(self, name: str) -> bytes:
        """What a file holds; nothing if it does not exist."""
        return read_file(self.inside(name)) if self.has(name) else b""

    @contextmanager
    def explaining_damage(self) -> Iterator[None]:
        """Report a damaged file together with what can still be used."""
        try:
            yield
        except Damaged as error:
            raise UserError(f"{error}. {self.usable()}") from error

    def usable(self) -> str:
        """What can still be used if a file is damaged, in a sentence."""
        return ""


def _sum(path: Path, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {path.name}\n"
