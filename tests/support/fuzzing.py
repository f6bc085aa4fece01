"""Run folders, policy files and logs with hostile content, and every command that reads them.

A mutated file gets correct checksums and its place in the chain of results again: what is tested is the content.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import itertools
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from folders import chained
from fuzzlogs import binary_log, study
from mutation import tree
from safetensors.numpy import load, save

from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.common.files import BLANK, add_checksum
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.storage.records import digest
from vfpilco.trials import learner

SAMPLES = Path(__file__).parents[1] / "samples"
ARRAYS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda array: array[:0],
    lambda array: array[:1],
    lambda array: array.T.copy(),
    lambda array: array.ravel(),
    lambda array: array[None],
    lambda array: np.concatenate([array, array]) if array.ndim else array,
    lambda array: np.zeros((), array.dtype),
    lambda array: array.astype(np.int32),
    lambda array: array > 0,
    lambda array: array * np.nan,
    lambda array: array * 0 + 1e38,
    lambda array: array * 0 - np.inf,
    lambda array: np.zeros((100_000, 1)),
    lambda array: array.astype(np.float16),
]
"""What may happen to an array."""


class WouldLearn(UserError):
    """A command has read everything and starts to compute."""


# -- folders -----------------------------------------------------------------------------------------------------


def folders(place: Path) -> dict[str, Path]:
    """A finished run, one of format 3, and one that waits for the trial of its first policy."""
    finished = chained(SAMPLES / "run-format4", place / "finished")
    waiting = Path(shutil.copytree(SAMPLES / "run-format4", place / "waiting"))
    for file in [file for i in (1, 2) for file in (waiting / "trials").glob(f"{i:03d}.*")]:
        file.unlink()
    for file in waiting.glob("*/002.safetensors"):
        file.unlink()
    shutil.copy(waiting / "policies/001.safetensors", waiting / "policy.safetensors")
    results = waiting / "results.jsonl"
    results.write_bytes(results.read_bytes().splitlines(keepends=True)[0])
    change_json(waiting / "run.json", lambda row: {**row, "external": True})
    older = Path(shutil.copytree(SAMPLES / "run-format3", place / "format3"))
    return {"finished": finished, "waiting": chained(waiting, place / "asked"), "format3": older}


# -- mutations ---------------------------------------------------------------------------------------------------


def mutate(run: Path, rng: random.Random) -> str:
    """Change one to three things in a run folder; what was changed, in words."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.suffix != ".sha256")
    said = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # Small files that say much are changed more often.
        file = rng.choice(files) if rng.random() < 0.5 else run / rng.choice(["run.json", "results.jsonl"])
        if file.exists():
            said.append(f"{file.relative_to(run)}: {mutate_file(file, rng)}")
    sign(run)
    return "; ".join(said)


def mutate_file(file: Path, rng: random.Random) -> str:
    if rng.random() < 0.08:
        return raw(file, rng)
    said: list[str] = []
    if file.suffix == ".json":
        change_json(file, lambda row: tree(row, rng, said))
    elif file.suffix == ".jsonl":
        lines = file.read_bytes().splitlines() or [b"{}"]
        i = rng.randrange(len(lines))
        with contextlib.suppress(ValueError):
            lines[i] = json.dumps(tree(json.loads(lines[i]), rng, said)).encode()
        file.write_bytes(b"\n".join(lines) + b"\n")
    elif file.suffix == ".safetensors":
        change_arrays(file, rng, said)
    else:
        file.write_bytes(csv(file.read_bytes(), rng, said))
    return ", ".join(said)


def raw(file: Path, rng: random.Random) -> str:
    """Damage the bytes of a file."""
    content, kind = bytearray(file.read_bytes()), rng.choice(["cut", "bits", "gone", "random"])
    if kind == "gone":
        file.unlink()
        return kind
    for _ in range(rng.randint(1, 4) if content and kind == "bits" else 0):
        content[rng.randrange(len(content))] = rng.randrange(256)
    data = {"cut": content[: rng.randrange(len(content) + 1)], "bits": content, "random": rng.randbytes(60)}[kind]
    file.write_bytes(bytes(data))
    return kind


def change_json(file: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON object, with its checksum."""
    with contextlib.suppress(ValueError):
        file.write_bytes(signed(change(json.loads(file.read_bytes())), 2) + b"\n")


def signed(row: Any, indent: int | None = None) -> bytes:
    if not isinstance(row, dict):
        return json.dumps(row).encode()
    return add_checksum(json.dumps({**row, "checksum": BLANK}, indent=indent).encode())


def change_arrays(file: Path, rng: random.Random, said: list[str]) -> None:
    """Change an array, or what the file says about its arrays."""
    content = file.read_bytes()
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        arrays, about = load(content), json.loads(header["__metadata__"]["vfpilco"])
    except Exception:
        return
    if rng.random() < 0.6:
        about = tree(about, rng, said)
    else:
        name, kind = rng.choice(sorted(arrays) or ["x"]), rng.randrange(len(ARRAYS) + 2)
        said.append(f"array {name} by {kind}")
        if kind < len(ARRAYS) and name in arrays:
            with np.errstate(all="ignore"):
                arrays[name] = np.ascontiguousarray(ARRAYS[kind](arrays[name]))
        elif kind == len(ARRAYS):
            arrays.pop(name, None)
        else:
            arrays["reference"] = np.zeros((rng.choice([0, 1, 5]), rng.choice([0, 1, 2])))
    about = {**about, "checksum": BLANK} if isinstance(about, dict) else about
    file.write_bytes(add_checksum(save(arrays, {"vfpilco": json.dumps(about)})))


def csv(content: bytes, rng: random.Random, said: list[str]) -> bytes:
    """A table with a line or a cell changed."""
    lines = content.decode("utf-8", "replace").split("\n")
    i, kind = rng.randrange(len(lines)), rng.choice(["cell", "cell", "cell", "drop", "repeat", "column", "short"])
    said.append(f"line {i + 1} {kind}")
    if kind == "cell":
        cells = lines[i].split(",")
        cells[rng.randrange(len(cells))] = rng.choice(
            ["", "nan", "inf", "-1e308", "1e200", "x", "\x1b[2J", "0x10", "1_0", '"', "t", "p", "1e-320", "9" * 400]
        )
        lines[i] = ",".join(cells)
    elif kind == "drop":
        del lines[i]
    elif kind == "repeat":
        lines.insert(i, lines[i])
    elif kind == "column":
        lines = [line.rpartition(",")[0] for line in lines]
    else:
        lines = [*lines[: rng.choice([1, 2, 3])], ""]
    return "\n".join(lines).encode("utf-8", "replace")


def sign(run: Path) -> None:
    """Make checksums and the chain of results correct again."""
    for file in run.glob("trials/*.csv"):
        if not file.name.endswith("timing.csv"):
            content = file.read_bytes()
            file.with_name(f"{file.name}.sha256").write_text(f"{hashlib.sha256(content).hexdigest()}  {file.name}\n")
    results = run / "results.jsonl"
    if not results.exists():
        return
    before = b""
    for line in results.read_bytes().splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                if isinstance(row.get("files"), dict):
                    names = [
                        name for name in row["files"] if re.fullmatch(r"\w+/[\w.]+", name) and (run / name).is_file()
                    ]
                    row["files"] |= {name: digest((run / name).read_bytes()) for name in names}
                if "previous" in row:
                    row["previous"] = digest(before)
                line = signed(row)
        before += line + b"\n"
    results.write_bytes(before)


# -- commands ----------------------------------------------------------------------------------------------------


def commands(kind: str, run: Path, log: Path, results: Path, rng: random.Random) -> list[list[str]]:
    """Every command that reads a run, a policy, a log or the results of a study."""
    out = run.parent / "out"
    listed: list[list[Any]] = [
        ["runs", run.parent],
        ["runs", run.parent, "--json"],
        ["report", run, "--out", out / "a.html"],
        ["report", run, run, "--out", out / "b.html"],
        ["render", run, "--out", out / "c.png"],
        ["render", run, "--out", out / "c.png", "--trial", "0"],
        ["evaluate", run, "--episodes", "1"],
        ["evaluate", run, "--episodes", "1", "--trial", "1", "--json"],
        ["export", run, "--to", "numpy", "--out", out / "d"],
        ["export", run, "--to", "c", "--out", out / "e", "--trial", "1"],
        ["tell", run, log],
        ["tell", run, log, "--split"],
        ["report", results, "--out", out / "f.html"],
        ["reproduce", "calibration", "--results", results.parent],
        ["learn", "cartpole", "--out", run, "--resume", "--quiet"],
        ["learn", "cartpole", "--out", run, "--resume", "--quiet", "--trials", "3"],
    ]
    listed += [["ask", run], ["ask", run, "--json"]] if kind == "waiting" else [["ask", run]]
    if rng.random() < 0.05:  # takes ten times as long as the others
        listed = [["inspect", log], ["inspect", log, "--task", "cartpole", "--json"]]
    return [[str(word) for word in argv] for argv in listed]


@contextlib.contextmanager
def without_learning(patch: Any) -> Iterator[None]:
    """Let commands read everything, and stop where they would compute for seconds."""

    def stop(*_: object, **__: object) -> Any:
        raise WouldLearn("It would learn now.")

    with patch.context() as patched:
        for name in ("fit", "Optimisation", "simulate"):
            patched.setattr(learner, name, stop)
        yield


def problem(argv: list[str]) -> str | None:
    """What is wrong with how a command answered; None if nothing is."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(argv)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        frames, here = [], error.__traceback__
        while here is not None:
            frames.append(f"{Path(here.tb_frame.f_code.co_filename).name}:{here.tb_lineno}")
            here = here.tb_next
        return f"{type(error).__name__}: {str(error)[:200]} at {' '.join(frames[-4:])}"
    said = err.getvalue()
    if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", out.getvalue() + said):
        return f"control characters: {(out.getvalue() + said)[:200]!r}"
    if code == 2 and not (said.endswith("\n") and said.splitlines()[-1].startswith("vfpilco: ")):
        return f"no sentence: {said[-300:]!r}"
    return None if code in (0, 2) else f"exit code {code}"


def fuzz_run(base: dict[str, Path], place: Path, seed: int) -> str | None:
    """What is wrong with how a command answers to a mutated folder or log."""
    rng = random.Random(seed)
    kind = rng.choice(sorted(base))
    folder, strange = place / str(seed), "\x1b[31m" * (seed % 2)
    run = Path(shutil.copytree(base[kind], folder / f"run{strange}"))
    log = folder / f"log{strange}.csv"
    log.write_bytes(csv((SAMPLES / "run-format4/trials/000.csv").read_bytes(), rng, []))
    if rng.random() < 0.5:
        log = binary_log(folder / f"log{strange}", rng)
    said = mutate(run, rng)
    results = study(folder / f"results{strange}/study.jsonl")
    said += f"; study: {mutate_file(results, rng)}"
    argv = rng.choice(commands(kind, run, log, results, rng))
    found = problem(argv)
    shutil.rmtree(folder)
    return f"{kind}: {said}: vfpilco {argv[0]}: {found}" if found else None


def fuzz_policy(place: Path, seed: int) -> str | None:
    """What is wrong with how a mutated policy file is read."""
    files = [*sorted((SAMPLES / "policies-format3").iterdir()), SAMPLES / "run-format4/policy.safetensors"]
    rng, said = random.Random(seed), []
    file = Path(shutil.copy(rng.choice(files), place / "policy.safetensors"))
    change_arrays(file, rng, said)
    found = _problem_of(file)
    return f"{', '.join(said)}: {found}" if found else None


def extreme_policies(file: Path, place: Path, values: Sequence[float]) -> Iterator[str]:
    """What is wrong with how a policy file is read in which one number, or one array, is extreme."""
    own, (arrays, about) = place / "policy.safetensors", _parts(file)
    for path, value in itertools.product(_numbers(about), values):
        own.write_bytes(add_checksum(save(arrays, {"vfpilco": json.dumps(_changed(about, path, value))})))
        found = _problem_of(own)
        if found:
            yield f"{path} = {value}: {found}"
    for name, value in itertools.product(arrays, values):
        with np.errstate(all="ignore"):
            changed = {**arrays, name: np.full(arrays[name].shape, value).astype(arrays[name].dtype)}
        own.write_bytes(add_checksum(save(changed, {"vfpilco": json.dumps(about)})))
        found = _problem_of(own)
        if found:
            yield f"{name} = {value}: {found}"


def uneven_policies(file: Path, place: Path) -> Iterator[str]:
    """What is wrong with how a policy file is read in which a list has an entry less, or one more."""
    own, (arrays, about) = place / "policy.safetensors", _parts(file)
    for path, value in _lists(about):
        for changed in (value[1:], value[:-1], [*value, *value[-1:]], [*value, value]):
            own.write_bytes(add_checksum(save(arrays, {"vfpilco": json.dumps(_changed(about, path, changed))})))
            found = _problem_of(own)
            if found:
                yield f"{path} = {changed}: {found}"


def _parts(file: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a policy file, and what it says about them, with room for a checksum."""
    content = file.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return load(content), {**json.loads(header["__metadata__"]["vfpilco"]), "checksum": BLANK}


def _lists(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, list]]:
    """The lists in a JSON value, each with its place."""
    if isinstance(value, list):
        yield path, value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from _lists(entry, (*path, key))


def _numbers(value: Any) -> Iterator[tuple]:
    """The places of the numbers in a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from ((key, *rest) for rest in _numbers(entry))
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield ()


def _changed(value: Any, path: tuple, entry: float) -> Any:
    """The JSON value with another number at a place."""
    if not path:
        return entry
    changed = copy.copy(value)
    changed[path[0]] = _changed(value[path[0]], path[1:], entry)
    return changed


def _problem_of(file: Path) -> str | None:
    """What is wrong with how a policy file is read, or how its policy is executed."""
    try:
        policy = LearnedPolicy.load(file)
        for sample in range(3):
            u = policy(np.full(policy.measures, 0.1 * sample))
            if not np.all(np.isfinite(u)):
                return f"it returns {u}"
    except UserError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None
