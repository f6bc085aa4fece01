"""Hostile messages against both sides of the plant protocol."""

from __future__ import annotations

import random

import pytest
from campaign import Campaign, flat, handles, memory, threads
from hostile import HostilePlant, Rig, attack_client, attack_server, served, serves

SAMPLE, MANY = 300, 50_000
"""Messages to each side: in `make test`, and in `make test-long`."""


def against_server(campaign: Campaign) -> None:
    rig, used = Rig(), []
    with served(rig) as place:
        for seed in campaign.seeds():
            found = attack_server(place, rig, random.Random(seed))
            if found:
                campaign.problem(f"{seed}: {found}")
            if seed % 100 == 0:
                if not serves(place):
                    campaign.problem(f"{seed}: a learner is not served any more")
                used.append((memory(), handles(), threads()))
    assert not rig.moving
    campaign.note(f"steps applied: {rig.steps}; MB, handles, threads at the end: {used[-1]}")
    check(campaign, used)


def against_client(campaign: Campaign) -> None:
    used = []
    with HostilePlant() as plant:
        for seed in campaign.seeds():
            found = attack_client(plant, random.Random(seed))
            if found:
                campaign.problem(f"{seed}: {found}")
            if seed % 100 == 0:
                used.append((memory(), handles(), threads()))
    campaign.note(f"MB, handles, threads at the end: {used[-1]}")
    check(campaign, used)


def check(campaign: Campaign, used: list[tuple[float, int, int]]) -> None:
    campaign.check()
    megabytes, files, running = zip(*used, strict=True)
    after = max(2, len(used) // 4)
    flat(megabytes, after, 10)
    flat(files, after, 3)
    flat(running, after, 1)


def test_a_server_survives_hostile_messages():
    against_server(Campaign("messages to a server, sample", SAMPLE, hours=0.1))


def test_a_client_survives_hostile_messages():
    against_client(Campaign("messages to a client, sample", SAMPLE, hours=0.1))


@pytest.mark.long
def test_a_server_survives_many_hostile_messages():
    against_server(Campaign("messages to a server", MANY, hours=2))


@pytest.mark.long
def test_a_client_survives_many_hostile_messages():
    against_client(Campaign("messages to a client", MANY, hours=2))
