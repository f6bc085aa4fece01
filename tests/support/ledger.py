"""The record of all campaigns, docs/results/campaigns.jsonl, and the table of docs/reliability.md made from it."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

import vfpilco

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs/results/campaigns.jsonl"
PAGE = ROOT / "docs/reliability.md"
PART = r"(?<=<!-- {0}: begin -->\n).*?(?=<!-- {0}: end -->)"
EPISODES = 10
"""Those of one evaluation."""
GOALS = {
    "faults while learning": 4_000,
    "faults in an evaluation": 7_000,
    "faults in a dry run": 2_500,
    "faults while serving": 1_500,
    "kills": 500,
    "mutated runs and logs": 20_000,
    "mutated policies": 20_000,
    "messages to a server": 50_000,
    "messages to a client": 50_000,
    "evaluations over TCP": 100,
    "trials over TCP": 200,
}
"""Every campaign, with the number of cases that a version should pass; then it waits until the others have theirs."""

FAULTS = tuple(name for name in GOALS if name.startswith("faults"))
PROMISES = (
    (
        "The machine stops after the last step, and no input exceeds its limits",
        "faults at every line of a trial",
        FAULTS,
    ),
    ("Nothing is lost when a command is killed", "kills of seven commands, which are then given again", ("kills",)),
    (
        "No content of a run folder, a log or a policy gives a traceback",
        "mutated folders, logs and policies, read by every command",
        ("mutated runs and logs", "mutated policies"),
    ),
    (
        "No peer harms the other side of a connection",
        "hostile messages to a served plant and to a learner",
        ("messages to a server", "messages to a client"),
    ),
    (
        f"Memory, open files and threads stay the same over episodes ({EPISODES} each)",
        "evaluations over TCP in one process",
        ("evaluations over TCP",),
    ),
    ("The same over trials", "tasks that are learned over TCP in one process", ("trials over TCP",)),
)
"""What is promised, how campaigns test it, and which ones."""


@dataclass(frozen=True)
class Record:
    """A batch of cases that is done."""

    campaign: str
    first: int
    """Seed of its first case; the others follow."""
    cases: int
    failures: int
    version: str
    commit: str
    date: str
    seconds: float
    problems: list[tuple[int, str]]
    """The seed of every case that failed, and how."""


def records() -> list[Record]:
    """All batches so far, the oldest first."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    return [Record(**json.loads(line)) for line in lines]


def append(record: Record) -> None:
    """Record a batch, and count it in the documentation."""
    with FileLock(Path(tempfile.gettempdir()) / "vfpilco-campaigns.lock"):
        with FILE.open("a") as file:
            file.write(json.dumps(asdict(record)) + "\n")
        PAGE.write_text(written(PAGE.read_text()))


def next_seed(campaign: str) -> int:
    """The first seed that the campaign has not used."""
    return max((r.first + r.cases for r in records() if r.campaign == campaign), default=0)


def waiting() -> dict[str, int]:
    """The campaigns that have not yet tried their number of cases with this version, and how many are left."""
    left = dict(GOALS)
    for record in records():
        if record.version == vfpilco.__version__:
            left[record.campaign] -= record.cases
    return {name: cases for name, cases in left.items() if cases > 0}


def left(campaign: str) -> float:
    """How many cases a campaign is to try: those without their number come first, then all go on without end."""
    missing = waiting()
    return missing.get(campaign, 0) if missing else math.inf


def share(campaign: str, seconds: float) -> float:
    """The part of `seconds` that a campaign gets: those without their number of cases share it, or else all."""
    sharing = list(waiting() or GOALS)
    at_once = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return seconds / math.ceil(len(sharing) / at_once) if campaign in sharing else 0.0


def written(page: str) -> str:
    """The page with the tables of what was recorded."""
    for name, make in (("promises", promises), ("campaigns", table)):
        page, found = re.subn(PART.format(name), make().replace("\\", r"\\"), page, flags=re.S)
        assert found == 1, name
    return page


def promises() -> str:
    """Every promise with the number of cases that tried to break it, as a Markdown table."""
    rows = ["| promise | tested by | cases | wanted | failed |", "|---|---|---|---|---|"]
    for promise, how, campaigns in PROMISES:
        own = [record for record in records() if record.campaign in campaigns]
        cases, wanted = sum(record.cases for record in own), sum(GOALS[name] for name in campaigns)
        rows.append(f"| {promise} | {how} | {cases:,} | {wanted:,} | {sum(record.failures for record in own)} |")
    return "\n".join(rows) + "\n"


def table() -> str:
    """How many cases of every campaign have been run, as a Markdown table."""
    rows = ["| campaign | cases | failed | wanted | reached with | last run |", "|---|---|---|---|---|---|"]
    for name in GOALS:
        own = [record for record in records() if record.campaign == name]
        last = f"{own[-1].date}, version {own[-1].version}" if own else "never"
        cases, failures = sum(r.cases for r in own), sum(r.failures for r in own)
        rows.append(f"| {name} | {cases:,} | {failures} | {GOALS[name]:,} | {reached_with(name)} | {last} |")
    return "\n".join(rows) + "\n"


def reached_with(campaign: str) -> str:
    """The last version with which a campaign has tried its number of cases."""
    tried: Counter[str] = Counter()
    for record in records():
        tried[record.version] += record.cases * (record.campaign == campaign)
    reached = [version for version, cases in tried.items() if cases >= GOALS[campaign]]
    return f"version {reached[-1]}" if reached else "none"


def commit() -> str:
    """The commit of the package, with a + if it was changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "--", "src", "tests") else "")
