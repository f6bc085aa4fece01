"""Pictures and films of a machine, drawn from its scene by Matplotlib."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.common.plotting import MEASURED, PREDICTED, close, new_figure, save
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.drawing.shapes import Scene, Shape
from vfpilco.report.source import Source
from vfpilco.storage.scenes import Scenes

EARLIER = 12
"""Earlier poses in a picture."""
SURROUNDINGS = "#94a3b8"
"""The colour of everything that is not the machine."""
PICTURES, FILMS = (".png", ".pdf"), (".gif", ".mp4")
"""The endings of their files."""


class Stage:
    """An axis that a machine is drawn on."""

    def __init__(self, axis: Any, scene: Scene, ghosts: list[Scene], colour: str, title: str) -> None:
        self.axis, self.scene, self.ghosts, self.colour, self.title = axis, scene, ghosts, colour, title
        self.depth = 0
        """Of the shape that is being drawn: Matplotlib would put lines over everything."""

    def show(self, sample: float, past: tuple[float, ...] = ()) -> None:
        """Draw the machine at a sample, in front of its ghosts and of itself at `past` samples."""
        self.axis.clear()
        self.axis.set(xlim=(self.scene.low[0], self.scene.high[0]), ylim=(self.scene.low[1], self.scene.high[1]))
        self.axis.set_aspect("equal")
        self.axis.axis("off")
        self.axis.set_title(self.title, fontsize=10, color="#475569")
        for i, shape in enumerate(self.scene.shapes):
            self.depth = i
            if shape.moves and shape.role == "body":
                for ghost in self.ghosts:
                    self._draw(ghost.shapes[i], sample, 0.15)
                for n, before in enumerate(past if shape.kind != "trace" else ()):
                    self._draw(shape, before, 0.05 + 0.3 * n / len(past))
            self._draw(shape, sample, 1.0)

    def _draw(self, shape: Shape, sample: float, opacity: float) -> None:
        colour = self.colour if shape.role == "body" else SURROUNDINGS
        points = pose(shape, sample)
        if shape.kind == "label":
            self.axis.text(*points[0], shape.text, ha="center", va="center", fontsize=8, color="#64748b")
        elif shape.kind == "trace":
            path = np.concatenate([shape.points[: int(sample) + 1, 0], points])
            self.axis.plot(*path.T, color=colour, linewidth=1.1, alpha=0.55 * opacity, zorder=self.depth)
        elif shape.kind in ("disc", "polygon"):
            self.axis.add_patch(self._patch(shape, points, colour, opacity))
        else:
            style = {"linestyle": (0, (3, 3))} if shape.role == "goal" else {"solid_capstyle": "round"}
            width = self._line_width(shape.size)
            self.axis.plot(*points.T, color=colour, alpha=opacity, linewidth=width, zorder=self.depth, **style)

    def _patch(self, shape: Shape, points: np.ndarray, colour: str, opacity: float) -> Any:
        from matplotlib.patches import Circle, Polygon

        style = {"color": colour, "linewidth": 0, "zorder": self.depth}
        if shape.kind == "disc":
            return Circle((points[0, 0], points[0, 1]), shape.size, alpha=opacity, **style)
        return Polygon(points, alpha=opacity * (0.25 if shape.role == "frame" else 1.0), **style)

    def _line_width(self, size: float) -> float:
        """The width of a line in points, from that in the unit of the scene."""
        box = self.axis.get_window_extent()
        width, height = np.subtract(self.scene.high, self.scene.low).tolist()
        scale = min(box.width / width, box.height / height)
        return max(size * scale * 72 / self.axis.figure.dpi, 1.2)


@dataclass(frozen=True)
class Film:
    """A figure of a machine in motion."""

    figure: Any
    stages: list[Stage]
    """The machine, and beside it its prediction if that is shown."""
    samples: int
    """Samples of the longest of them."""
    sampling_time: float
    """Seconds between samples."""

    clock: Any = None
    """The text that shows the time."""

    def show(self, sample: float, past: tuple[float, ...] = ()) -> None:
        """Draw all stages at a sample, in front of earlier ones."""
        for stage in self.stages:
            stage.show(sample, past)
        self.clock.set_text(f"{sample * self.sampling_time:.2f} s")


def pose(shape: Shape, sample: float) -> np.ndarray:
    """The points (n, 2) of a shape at a sample, or between two samples; after the last one it does not move."""
    if not shape.moves:
        return shape.points
    last = len(shape.points) - 1
    before = min(int(sample), last)
    part = min(sample, last) - before
    return (1 - part) * shape.points[before] + part * shape.points[min(before + 1, last)]


def render(
    film: Film,
    out: Path,
    *,
    fps: int = 20,
    speed: float = 1.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Write a picture (PNG, PDF) or a film (GIF, MP4) of an execution.

    Args:
        film: The machine in motion.
        out: The file to write; its name says whether it is a picture or a film.
        fps: Frames per second of a film.
        speed: How fast a film is; 0.5 is half as fast as the machine.
        progress: Is called with the number of frames that are drawn, and of all.

    Returns:
        The file that was written.

    Raises:
        UserError: If the file's name has another ending, or if a program that is needed is not installed.
    """
    check_kind(out)
    last = film.samples - 1
    if out.suffix.lower() in PICTURES:
        film.show(last, tuple(np.linspace(0, last, EARLIER, endpoint=False).tolist()))
        save(film.figure, out, dpi=150)
        return out
    frames = max(2, round(last * film.sampling_time * fps / speed))
    moments = np.linspace(0, last, frames).tolist()
    moments += moments[-1:] * fps  # A second to see how it ended.
    _write_film(film, moments, out, fps, progress)
    return out


def check_kind(out: Path) -> None:
    """Raise a `UserError` if the name of a file is neither that of a picture nor of a film."""
    if out.suffix.lower() not in PICTURES + FILMS:
        endings = ", ".join(PICTURES + FILMS)
        raise UserError(f"{out} is neither a picture nor a film: give it a name that ends in {endings}.")


def film_of(scenes: Scenes, trial: Trial, name: str, predicted: bool = True) -> Film:
    """The machine in an execution called `name`, and beside it its prediction if there is one and it is wanted."""
    real, others = scenes.real, scenes.predicted if predicted else ()
    width, height = np.subtract(real.high, real.low)
    columns = 2 if others else 1
    figure = new_figure(4.2 * columns, 4.2 * height / width + 0.35, layout=None)
    axes = figure.subplots(1, columns, squeeze=False)
    figure.subplots_adjust(0.01, 0.02, 0.99, 0.9, wspace=0.03)
    stages = [Stage(axes[0, 0], real, [], MEASURED, f"{name}, on the machine")]
    samples = len(trial.q)
    if others:
        stages.append(Stage(axes[0, 1], others[0], list(others[1:]), PREDICTED, "as predicted"))
        samples = max(samples, *(len(shape.points) for shape in others[0].shapes if shape.moves))
    clock = figure.text(0.99, 0.985, "", ha="right", va="top", fontsize=9, color="#475569")
    return Film(figure, stages, samples, trial.sampling_time, clock)


def film_of_run(source: Source, index: int, predicted: bool = True) -> Film:
    """The machine in execution `index` of a run."""
    return film_of(source.scenes(index), source.trial(index), trial_name(source.results[index]), predicted)


def trial_name(result: TrialResult) -> str:
    """What an execution is called."""
    return "exploration" if result.trial is None else f"trial {result.trial}"


def _write_film(film: Film, moments: list[float], out: Path, fps: int, progress: Callable[[int, int], None]) -> None:
    """Write a film that shows these samples; the file is complete or absent."""
    writer = _writer(out.suffix.lower(), fps)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.stem}.{os.getpid()}{out.suffix}")
    try:
        with writer.saving(film.figure, str(temporary), dpi=90):
            for i, moment in enumerate(moments, start=1):
                film.show(moment)
                writer.grab_frame()
                progress(i, len(moments))
        os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)
        close(film.figure)


def _writer(suffix: str, fps: int) -> Any:
    from matplotlib import animation, rcParams

    if suffix == ".gif":
        return animation.PillowWriter(fps=fps)
    program = shutil.which("ffmpeg")
    if program is None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingImports]

            program = get_ffmpeg_exe()
        except (ImportError, RuntimeError) as error:
            raise UserError("MP4 films need ffmpeg: pip install 'vfpilco[video]', or choose a .gif.") from error
    rcParams["animation.ffmpeg_path"] = program
    return animation.FFMpegWriter(fps=fps, extra_args=["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"])
