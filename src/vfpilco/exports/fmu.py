"""A policy as an FMU: the C program with the interface of FMI 2 for co-simulation, compiled for this computer."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

from vfpilco.common.errors import UserError
from vfpilco.exports import c
from vfpilco.exports.compiled import FLAGS, compiler
from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.prefix import names
from vfpilco.exports.templates import fill
from vfpilco.exports.text import Precision, plain

PLATFORMS = {"linux": ("linux64", ".so"), "darwin": ("darwin64", ".dylib"), "win32": ("win64", ".dll")}
"""The folder of the binary and its ending."""
WRITTEN = (1980, 1, 1, 0, 0, 0)
"""The date of everything in the archive: the same export has the same bytes."""


def require_compiler() -> None:
    """Raise a `UserError` if there is no compiler."""
    compiler("An export to an FMU")


def files(exported: Exported, precision: Precision) -> dict[str, bytes]:
    """The FMU."""
    called = names(exported.prefix, short=False)
    sources = {
        called["header"]: c.header(exported, precision, called),
        called["source"]: c.source(exported, precision, called),
        "fmu.c": fill("fmu.c", **called, sampling_time=repr(exported.sampling_time)),
    }
    guid = hashlib.sha256("".join(sources.values()).encode()).hexdigest()[:32]
    sources["fmu.c"] = sources["fmu.c"].replace("GUID_OF_THE_MODEL", guid)
    folder, ending = PLATFORMS.get(sys.platform, PLATFORMS["linux"])
    identifier = f"{exported.prefix}_policy"
    content = {"modelDescription.xml": _description(exported, identifier, guid, called)}
    content |= {f"sources/{name}": text for name, text in sources.items()}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, text in content.items():
            zipped.writestr(_entry(name), text.encode())
        zipped.writestr(_entry(f"binaries/{folder}/{identifier}{ending}"), _compiled(sources))
    return {f"{identifier}.fmu": archive.getvalue()}


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, WRITTEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _compiled(sources: dict[str, str]) -> bytes:
    """The shared library."""
    with tempfile.TemporaryDirectory(prefix="vfpilco-") as place:
        for name, text in sources.items():
            Path(place, name).write_text(text, "utf-8")
        built = [name for name in sources if name.endswith(".c")]
        command = [*compiler("An export to an FMU"), *FLAGS, "-shared", "-fPIC", "-fvisibility=hidden", "-s"]
        done = subprocess.run(
            [*command, "-o", "model", *built, "-lm"], cwd=place, capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            raise UserError(f"{command[0]} did not compile the export: {done.stderr.strip()[:500]}")
        return Path(place, "model").read_bytes()


def _description(exported: Exported, identifier: str, guid: str, called: dict[str, str]) -> str:
    """The description of the model: its variables, their units, and what the outputs depend on."""
    labels = _unique([plain(one.name) for one in (*exported.measures, *exported.inputs)])
    measured, applied = labels[: len(exported.measures)], labels[len(exported.measures) :]
    variables = [
        _real(i, label, one, 'causality="input" variability="discrete"', ' start="0"')
        for i, (label, one) in enumerate(zip(measured, exported.measures, strict=True))
    ]
    outputs = 'causality="output" variability="discrete" initial="calculated"'
    for i, (label, one) in enumerate(zip(applied, exported.inputs, strict=True)):
        limit = float(exported.limits[i])
        variables.append(_real(len(measured) + i, label, one, outputs, f' min="{-limit!r}" max="{limit!r}"'))
    valid = quoteattr(_unique([*labels, "valid"])[-1])
    variables.append(f'    <ScalarVariable name={valid} valueReference="0" {outputs}><Boolean/></ScalarVariable>')
    depends = " ".join(str(i + 1) for i in range(len(measured)))
    unknowns = [f'<Unknown index="{len(measured) + i + 1}" dependencies="{depends}"/>' for i in range(len(applied) + 1)]
    units = sorted({plain(one.unit) for one in (*exported.measures, *exported.inputs)})
    return fill(
        "modelDescription.xml",
        **called,
        identifier=identifier,
        guid=guid,
        task=quoteattr(f"A learned policy for the task {plain(exported.origin.task)}"),
        units="\n".join(f"    <Unit name={quoteattr(unit)}/>" for unit in units),
        sampling_time=repr(exported.sampling_time),
        variables="\n".join(variables),
        unknowns="\n      ".join(unknowns),
    )


def _real(reference: int, label: str, one: Quantity, kind: str, more: str) -> str:
    return (
        f'    <ScalarVariable name={quoteattr(label)} valueReference="{reference}" {kind}>'
        f"<Real unit={quoteattr(plain(one.unit))}{more}/></ScalarVariable>"
    )


def _unique(labels: list[str]) -> list[str]:
    """Names of which none occurs twice."""
    return [label if label not in labels[:i] else f"{label} ({i + 1})" for i, label in enumerate(labels)]
