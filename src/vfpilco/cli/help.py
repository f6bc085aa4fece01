"""The help text of a command: its options in groups, wrapped at words."""

from __future__ import annotations

import dataclasses
import inspect
import shutil
import textwrap
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import tyro.conf

from vfpilco.common.documentation import field_docstrings
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.trials.options import Options

OPTIONS, FLAG_WIDTH, WIDEST = "options", 26, 100
"""The group of what belongs to no other one, the width of the flags, and that of the longest line."""
SHORT: dict[str, tuple[str, ...]] = {
    "run": ("seed", "trials", "until_successes", "out", "resume", "steps"),
    "machine and safety": ("plant", "inspected", "dry_run", "wait", "gentle", "max_risk", "abort_outside"),
    "output": ("report", "open", "quiet", "json"),
}
"""What most people use; `--help` shows only these of a command with settings."""
REST: dict[str, tuple[str, ...]] = {
    "model": ("m_q", "m_u", "policy_m_u", "encoding", "kernel", "prior_mean", "noise", "inducing", "sensor", "jitter"),
    "policy": ("policy", "basis_functions"),
    "inputs": ("slew", "first_share"),
    "optimiser": tuple(f.name for f in dataclasses.fields(OptimiserSettings) if f.name not in SHORT["run"]),
    "baselines": ("method", "online", "offline", "cutoff", "acceleration"),
    "more output": ("tensorboard",),
}
"""What `--help-all` shows in addition."""
METAVARS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}


class Option(NamedTuple):
    """An argument as the help text shows it."""

    name: str
    flag: str
    text: str
    positional: bool = False


def help_text(cls: type, command: str, defaults: dict[str, Any], everything: bool = False, width: int = 0) -> str:
    """The help text of a command.

    Args:
        cls: The dataclass of its arguments; a field that is a group of settings has its values in `defaults`.
        command: Its name.
        defaults: Defaults that differ from those of the class.
        everything: Whether to show options that few people use.
        width: Of a line; that of the terminal if 0, at most 100.
    """
    width = width or line_width()
    shown = list(_options(cls, defaults))
    places = " ".join(option.flag for option in shown if option.positional)
    grouped = any(isinstance(value, Options) for value in defaults.values())
    parts = [f"usage: vfpilco {command} [OPTIONS] {places}".rstrip(), *textwrap.wrap(inspect.getdoc(cls) or "", width)]
    for title, options in _groups(shown, grouped, everything).items():
        parts += [
            "",
            f"{title}:",
            *(line for option in options for line in lines(f"  {option.flag}", option.text, FLAG_WIDTH, width)),
        ]
    if grouped and not everything:
        parts += ["", *textwrap.wrap(f"vfpilco {command} {places} --help-all shows the settings of the method.", width)]
    return "\n".join(parts)


def _groups(shown: list[Option], grouped: bool, everything: bool) -> dict[str, list[Option]]:
    """The options by the titles of their groups, in order; positional arguments come first."""
    known = {**SHORT, **REST} if grouped else {}
    of = {name: title for title, names in known.items() for name in names}
    found: dict[str, list[Option]] = {"arguments": [], OPTIONS: [], **{title: [] for title in known}}
    for option in shown:
        found["arguments" if option.positional else of.get(option.name, OPTIONS)].append(option)
    for title, names in known.items():
        found[title].sort(key=lambda option: names.index(option.name))
    found[OPTIONS].append(Option("help", "-h, --help", "Show this text."))
    if grouped:
        found[OPTIONS].append(Option("help_all", "--help-all", "Show every option."))
    found[OPTIONS] = found.pop(OPTIONS)  # at the end
    return {title: options for title, options in found.items() if options and (everything or title not in REST)}


def line_width() -> int:
    """The width of a line: that of the terminal, at least 60 and at most 100."""
    return max(60, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))


def lines(name: str, text: str, indent: int, width: int = 0) -> list[str]:
    """A name and a text beside it, wrapped at words, or below it if the name is long.

    Args:
        name: The name, such as a flag.
        text: What is said about it.
        indent: The column in which the text begins.
        width: Of a line; that of the terminal if 0.
    """
    width = width or line_width()
    wrapped = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
    if len(name) + 2 > indent:
        return [name, *(" " * indent + line for line in wrapped)]
    return [name.ljust(indent) + wrapped[0], *(" " * indent + line for line in wrapped[1:])]


def _options(cls: Any, defaults: dict[str, Any]) -> list[Option]:
    hints, texts = get_type_hints(cls, include_extras=True), field_docstrings(cls)
    found: list[Option] = []
    for f in dataclasses.fields(cls):
        group = defaults.get(f.name)
        if isinstance(group, Options):
            found += _options(Options, vars(group))
        else:
            found.append(_option(f, hints[f.name], texts.get(f.name, ""), defaults))
    return found


def _option(f: dataclasses.Field, hint: Any, text: str, defaults: dict[str, Any]) -> Option:
    default = defaults.get(f.name, f.default)
    metavar = _metavar(hint)
    if _is_positional(hint):
        return Option(f.name, metavar, text, positional=True)
    if isinstance(default, bool):
        return Option(f.name, f"--{'no-' if f.default is True else ''}{f.name.replace('_', '-')}", text)
    said = "" if default in (None, "", ()) or default is dataclasses.MISSING else f" (default: {default})"
    required = " (required)" if default is dataclasses.MISSING else ""
    return Option(f.name, f"--{f.name.replace('_', '-')} {metavar}", f"{text}{said}{required}")


def _is_positional(hint: Any) -> bool:
    """Whether tyro takes an argument by its place: `Annotated[Positional[…], …]`."""
    return get_origin(hint) is Annotated and tyro.conf.Positional in hint.__metadata__


def _metavar(hint: Any) -> str:
    """What is to be given: a word for the type, or the choices."""
    if get_origin(hint) is Annotated:
        names = [getattr(extra, "metavar", None) for extra in hint.__metadata__]
        return next((name for name in names if name), _metavar(get_args(hint)[0]))
    if get_origin(hint) is Literal:
        return "{" + ",".join(map(str, get_args(hint))) + "}"
    if get_origin(hint) is tuple:
        return f"{_metavar(get_args(hint)[0])} ..."
    inner = [arg for arg in get_args(hint) if arg is not type(None)]
    return METAVARS.get(hint) or (_metavar(inner[0]) if inner else "VALUE")
