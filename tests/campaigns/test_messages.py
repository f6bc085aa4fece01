"""Hostile messages against both sides of the plant protocol."""

from __future__ import annotations

import random

import pytest
from campaign import Run, campaign, flat, handles, memory, sample, threads
from hostile import HostilePlant, Rig, attack_client, attack_server, served, serves

FEW, MORE = 300, 5_000
"""Messages to each side: in `make test`, and in `make test-long`."""


class Usage:
    """Memory, open files and threads of this process, over time."""

    def __init__(self) -> None:
        self.used: list[tuple[float, int, int]] = []

    def note(self) -> None:
        self.used.append((memory(), handles(), threads()))

    def check(self) -> None:
        if len(self.used) < 3:
            return
        after = max(2, len(self.used) // 4)
        for numbers, more in zip(zip(*self.used, strict=True), (10, 3, 1), strict=True):
            flat(numbers, after, more)


def against_server(run: Run) -> None:
    rig, usage = Rig(), Usage()

    def attack(seed: int) -> str | None:
        found = attack_server(place, rig, random.Random(seed))
        if seed % 100 == 0:
            usage.note()
            found = found or (None if serves(place) else "a learner is not served any more")
        return found

    with served(rig) as place:
        run(attack, usage.check)
    assert not rig.moving


def against_client(run: Run) -> None:
    usage = Usage()

    def attack(seed: int) -> str | None:
        if seed % 100 == 0:
            usage.note()
        return attack_client(plant, random.Random(seed))

    with HostilePlant() as plant:
        run(attack, usage.check)


SIDES = {"messages to a server": against_server, "messages to a client": against_client}


@pytest.mark.parametrize("side", SIDES)
def test_both_sides_survive_hostile_messages(side):
    SIDES[side](sample(FEW))


@pytest.mark.long
@pytest.mark.parametrize("side", SIDES)
def test_both_sides_survive_many_hostile_messages(side):
    SIDES[side](sample(MORE))


@pytest.mark.campaign
@pytest.mark.parametrize("side", SIDES)
def test_hostile_messages(side):
    SIDES[side](campaign(side))
