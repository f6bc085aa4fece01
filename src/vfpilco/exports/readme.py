"""The README of an export: everything a person needs to use it."""

from __future__ import annotations

import json

import numpy as np

from vfpilco.exports import c
from vfpilco.exports.boards import avr_sentence
from vfpilco.exports.boards import table as boards
from vfpilco.exports.check import ALLOWED, Report, answers
from vfpilco.exports.exported import Exported
from vfpilco.exports.footprint import ARM, AVR, operations
from vfpilco.exports.prefix import names
from vfpilco.exports.targets import TARGETS, Target
from vfpilco.exports.templates import fill
from vfpilco.exports.text import DTYPES, Precision, plain

TEST_SAMPLES = 8
"""The length of the test vector."""


def readme(exported: Exported, target: Target, precision: Precision, report: Report | None) -> str:
    """The document, with a test vector."""
    checked = ["not checked: use `vfpilco export --check`"] if report is None else report.sentences()
    return fill(
        "README.md",
        task=plain(exported.origin.task),
        usage=_usage(exported, target, precision),
        rate=f"{1 / exported.sampling_time:.6g}",
        sampling_time=repr(exported.sampling_time),
        precision=precision,
        measures=_measures(exported),
        inputs=_inputs(exported),
        slew=_slew(exported),
        memory=_memory(exported),
        past=PAST if exported.memory.past_inputs else "",
        allowed=f"{ALLOWED[precision]:.0e}",
        vector=vector(exported, precision),
        checked="\n".join(f"- {sentence}" for sentence in checked),
        learned=json.dumps(exported.origin.as_json(), indent=2),
    )


def _usage(exported: Exported, target: Target, precision: Precision) -> str:
    inputs, past, kept = len(exported.inputs), exported.memory.past_inputs, exported.kept_inputs > 0
    shape = f"{past} × {inputs}" if past else f"{inputs}"
    sample = "" if exported.reference is None else ', "sample": np.array([0])'
    return fill(
        target.usage,
        **names(exported.prefix, short=target is TARGETS["c"]),
        footprint=_footprint(exported, precision),
        boards=boards(exported, precision),
        avr=avr_sentence(exported),
        sampling_time=repr(exported.sampling_time),
        rows=exported.memory.rows,
        columns=exported.memory.columns,
        inputs=inputs,
        real="float32" if precision == "float" else "float64",
        last_inputs=f" + {shape}" if kept else "",
        start=f"\napplied = np.zeros((1, {shape.replace(' ×', ',')}))" if kept else "",
        applied=", applied" if kept else "",
        more=', "applied": applied' * kept + sample,
        shape=f"(batch, {shape.replace(' ×', ',')})",
        applied_in="the past inputs, newest first: `new_applied`" if past else "only with a slew limit: `new_applied`",
        applied_out="the same one sample later" if past else "only with a slew limit: the inputs before rounding",
        actual=_actual(exported, target),
    ).strip()


def _actual(exported: Exported, target: Target) -> str:
    """How to call a policy that sees past inputs where others were applied."""
    call = ACTUAL.get(target.usage) if exported.memory.past_inputs else None
    return "" if call is None else "\n" + fill("actual.md", call=call.format(prefix=exported.prefix)).rstrip()


ACTUAL = {
    "usage-c.md": "{prefix}_actual(&policy, u)",
    "usage-arduino.md": "{prefix}_actual(&policy, u)",
    "usage-numpy.md": "policy.actual(u)",
}
"""The call that says which inputs were applied, by the template that describes the use."""
PAST = " Since zero is then to be applied, zero is remembered as the input of that sample."
"""A sentence about invalid measurements."""


def _footprint(exported: Exported, precision: Precision) -> str:
    rows = [(processor, c.footprint(exported, precision, processor)) for processor in (AVR, ARM)]
    table = "\n".join(
        f"| {processor.name} | {used.constants} | {used.struct} | {used.stack} |" for processor, used in rows
    )
    return fill("footprint.md", operations=operations(exported), table=table).strip()


def _measures(exported: Exported) -> str:
    rows = zip(exported.measures, exported.memory.turning, strict=True)
    return "\n".join(
        f"| {i} | {plain(q.name)} | {plain(q.unit)} | {'yes' if angle else 'no'} |" for i, (q, angle) in enumerate(rows)
    )


def _inputs(exported: Exported) -> str:
    rows = zip(exported.inputs, exported.limits.tolist(), strict=True)
    return "\n".join(f"| {i} | {plain(q.name)} | {plain(q.unit)} | ±{limit} |" for i, (q, limit) in enumerate(rows))


def _slew(exported: Exported) -> str:
    if exported.slew is None:
        return ""
    rows = zip(exported.inputs, exported.slew.tolist(), strict=True)
    most = ", ".join(f"{plain(q.name)} by {most} {plain(q.unit)}" for q, most in rows)
    return "\n" + fill("slew.md", most=most).rstrip()


def _memory(exported: Exported) -> str:
    memory = exported.memory
    window = f"the last {memory.window} measurements" if memory.window > 1 else "the last measurement"
    text = f"The policy remembers {window}"
    if memory.filters:
        text += f", for every position a filter with {memory.filters} numbers that estimates position and velocity"
    if exported.kept_inputs > 1:
        text += f", and the inputs of the last {exported.kept_inputs} samples, which are zero at the start"
    elif exported.kept_inputs:
        text += ", and the last inputs"
    if exported.reference is not None:
        text += (
            f". It follows a reference of {len(exported.reference)} samples: it moves on by one row with every sample "
            "and stays at the last one"
        )
    return f"{text}."


def vector(exported: Exported, precision: Precision) -> str:
    """Measurements after a reset, and what the learned policy returns for them, as CSV."""
    measured = exported.trials[-1][:TEST_SAMPLES].astype(DTYPES[precision]).astype(float)
    names = [f"q{i}" for i in range(measured.shape[1])] + [f"u{i}" for i in range(len(exported.inputs))]
    rows = np.concatenate([measured, answers(exported, measured)], axis=1)
    return "\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows.tolist())])
