"""`vfpilco doctor`: what this computer has, what is missing, and how to install it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from vfpilco.cli.arguments import parse
from vfpilco.cli.doctor import examine
from vfpilco.cli.help import lines
from vfpilco.common.say import say

PART = 20
"""The width of the names of the parts."""


@dataclass(frozen=True)
class Arguments:
    """Report versions, devices, real-time priority, the compilation cache and optional parts; nothing is changed."""

    json: bool = False
    """Print the findings as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco doctor`: a line per finding."""
    args: Arguments = parse(Arguments, argv, "doctor")
    findings = examine()
    if args.json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}))
        return
    for finding in findings:
        for line in lines(finding.part, finding.state + (f": {finding.remedy}" if finding.remedy else ""), PART):
            say(line)
