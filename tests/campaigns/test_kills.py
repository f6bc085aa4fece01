"""Commands that are killed at random moments: nothing is lost, and the next attempt ends like an undisturbed one."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from campaign import Run, campaign, nothing, sample
from folders import SIZE_FLAGS, TINY_FLAGS
from killing import Commands, Scenario, kept

SOME = 18
"""Cases of `make test-long`; a case has one kill or two."""


def without_times(work: Path) -> dict[str, bytes]:
    """The runs and the records of a study, without how long they took and when its page was drawn."""
    found = {name: data for name, data in kept(work).items() if not name.endswith((".md", ".png"))}
    for name in [name for name in found if name.endswith("cartpole-memory.jsonl")]:
        records = [json.loads(line) for line in found[name].splitlines()]
        found[name] = json.dumps([{**record, "seconds": 0} for record in records]).encode()
    return found


def scenarios(commands: Commands, place: Path) -> list[Scenario]:
    """Every command that computes or writes, with the folder that it begins with, made in `place`."""
    empty, learned, logged, asked, told = (place / name for name in ("empty", "learned", "logged", "asked", "told"))
    empty.mkdir(parents=True)
    log = shutil.copy(Path(__file__).parents[1] / "samples/run-format4/trials/000.csv", place / "log.csv")
    second = shutil.copy(Path(__file__).parents[1] / "samples/run-format4/trials/001.csv", place / "second.csv")

    def run(*argv: object) -> None:
        code, said = commands.run([str(word) for word in argv])
        assert code == 0, said

    run("learn", "cartpole", "--out", learned / "run", "--quiet", *TINY_FLAGS)
    run("tell", logged / "run", log, "--task", "cartpole", "--steps", "12", *SIZE_FLAGS)
    shutil.copytree(logged, asked)
    run("ask", asked / "run", "--quiet")
    shutil.copytree(asked, told)
    run("tell", told / "run", second)
    begin = ["tell", "RUN", str(log), "--task", "cartpole", "--steps", "12", *SIZE_FLAGS]
    same, used = "holds the same measurements", "is not empty"
    return [
        Scenario("learn", empty, ["learn", "cartpole", "--out", "RUN", "--quiet", "--resume", *TINY_FLAGS]),
        Scenario("tell", empty, begin, same),
        Scenario("tell after ask", asked, ["tell", "RUN", str(second)], same),
        Scenario("ask", logged, ["ask", "RUN", "--quiet"]),
        Scenario("ask again", told, ["ask", "RUN", "--quiet"]),
        Scenario("export", learned, ["export", "RUN", "--to", "c", "--out", "RUN-c"], used),
        Scenario("report", learned, ["report", "RUN"]),
        Scenario("evaluate", learned, ["evaluate", "RUN", "--episodes", "2"], prints=True),
        Scenario(
            "reproduce",
            empty,
            ["reproduce", "cartpole-memory", "--seeds", "1", "--out", "RUN", "--results", "RUN", "--json"],
            compare=without_times,
        ),
    ]


def kill(run: Run, place: Path) -> None:
    """Kill the commands in turn; all files are in `place`."""
    work = place / "work"
    with Commands(place / "output.txt") as commands:
        listed = scenarios(commands, place / "bases")
        for scenario in listed:
            scenario.measure(commands, work)
        print(", ".join(f"{scenario.name} {scenario.seconds:.1f} s" for scenario in listed))

        def case(seed: int) -> str | None:
            scenario = listed[seed % len(listed)]
            problem = scenario.kill(commands, work, random.Random(seed))
            return f"{scenario.name}: {problem}" if problem else None

        run(case, nothing)


@pytest.mark.long
def test_kills_at_random_moments_lose_nothing(tmp_path):
    kill(sample(SOME), tmp_path)


@pytest.mark.campaign
def test_kills(tmp_path):
    kill(campaign("kills"), tmp_path)
