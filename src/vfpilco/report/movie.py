"""Pictures and films of a machine, drawn from its scene by Matplotlib."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.errors import UserError
from vfpilco.picture import PREDICTED, REAL, pyplot, save
from vfpilco.report.source import Source
from vfpilco.report.trials import shown_particles
from vfpilco.scenes.base import Scene, Shape

GHOSTS = 6
STROBES = 12
"""Earlier poses in a picture."""
QUIET = "#94a3b8"
KINDS = (".png", ".pdf", ".gif", ".mp4")


class Stage:
    """An axis that a machine is drawn on."""

    def __init__(self, axis: Any, scene: Scene, ghosts: list[Scene], colour: str, title: str) -> None:
        self.axis, self.scene, self.ghosts, self.colour, self.title = axis, scene, ghosts, colour, title
        self.depth = 0
        """Of the shape that is being drawn: Matplotlib would put lines over everything."""

    def show(self, sample: float, past: tuple[float, ...] = ()) -> None:
        """Draw the machine at a sample, over ghosts and over itself at `past` samples."""
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
        colour = self.colour if shape.role == "body" else QUIET
        points = pose(shape, sample)
        if shape.kind == "label":
            self.axis.text(*points[0], shape.text, ha="center", va="center", fontsize=8, color="#64748b")
        elif shape.kind == "trace":
            path = np.concatenate([shape.points[: int(sample) + 1, 0], points])
            self.axis.plot(*path.T, color=colour, linewidth=1.1, alpha=0.55 * opacity, zorder=self.depth)
        elif shape.kind in ("disc", "polygon"):
            self.axis.add_patch(self._filled(shape, points, colour, opacity))
        else:
            style = {"linestyle": (0, (3, 3))} if shape.role == "goal" else {"solid_capstyle": "round"}
            width = self._width(shape.size)
            self.axis.plot(*points.T, color=colour, alpha=opacity, linewidth=width, zorder=self.depth, **style)

    def _filled(self, shape: Shape, points: np.ndarray, colour: str, opacity: float) -> Any:
        from matplotlib.patches import Circle, Polygon

        look = {"color": colour, "linewidth": 0, "zorder": self.depth}
        if shape.kind == "disc":
            return Circle((points[0, 0], points[0, 1]), shape.size, alpha=opacity, **look)
        return Polygon(points, alpha=opacity * (0.25 if shape.role == "frame" else 1.0), **look)

    def _width(self, size: float) -> float:
        """The width of a line in points."""
        box = self.axis.get_window_extent()
        across, up = (np.subtract(self.scene.high, self.scene.low)).tolist()
        scale = min(box.width / across, box.height / up)
        return max(size * scale * 72 / self.axis.figure.dpi, 1.2)


def pose(shape: Shape, sample: float) -> np.ndarray:
    """The points of a shape at a sample, or between two; it stays where it ended."""
    if not shape.moves:
        return shape.points
    last = len(shape.points) - 1
    before = min(int(sample), last)
    part = min(sample, last) - before
    return (1 - part) * shape.points[before] + part * shape.points[min(before + 1, last)]


def render(source: Source, index: int, out: Path, *, predicted: bool = True, fps: int = 20, speed: float = 1.0) -> Path:
    """A picture (PNG, PDF) or a film (GIF, MP4) of an execution, beside what was predicted of it."""
    if out.suffix.lower() not in KINDS:
        raise UserError(f"{out} is neither a picture nor a film: give it a name that ends in {', '.join(KINDS)}.")
    figure, stages, samples, sampling_time = _stages(source, index, predicted)
    if out.suffix.lower() in (".png", ".pdf"):
        past = tuple(np.linspace(0, samples - 1, STROBES, endpoint=False).tolist())
        for stage in stages:
            stage.show(samples - 1, past)
        save(figure, out, dpi=150)
        return out
    frames = max(2, round((samples - 1) * sampling_time * fps / speed))
    moments = np.linspace(0, samples - 1, frames).tolist()
    moments += moments[-1:] * fps  # A second to look at how it ended.
    _film(figure, stages, moments, out, fps)
    return out


def _stages(source: Source, index: int, predicted: bool) -> tuple[Any, list[Stage], int, float]:
    """The figure, a stage for the machine and one for what was predicted, the samples and the seconds between them."""
    row, trial = source.rows[index], source.trial(index)
    found = source.predicted(row) if predicted else None
    real = source.scene(trial.judged)
    wide, tall = np.subtract(real.high, real.low)
    figure, axes = pyplot().subplots(
        1, 1 if found is None else 2, figsize=(4.2 if found is None else 8.4, 4.2 * tall / wide + 0.35), squeeze=False
    )
    figure.subplots_adjust(0.01, 0.02, 0.99, 0.9, wspace=0.03)
    name = f"trial {row['trial']}" if row["kind"] == "policy" else "exploration"
    stages = [Stage(axes[0, 0], real, [], REAL, f"{name}, on the machine")]
    samples = len(trial.q)
    if found is not None:
        chosen = found["q"][:, shown_particles(found["q"], found["cost"], trial.q[0], GHOSTS)]
        scenes = [source.scene(q) for q in chosen.swapaxes(0, 1)]
        stages.append(Stage(axes[0, 1], scenes[0], scenes[1:], PREDICTED, "as it was predicted"))
        samples = max(samples, len(chosen))
    return figure, stages, samples, trial.sampling_time


def _film(figure: Any, stages: list[Stage], moments: list[float], out: Path, fps: int) -> None:
    """Write a film; there is the whole of it or nothing."""
    writer = _writer(out.suffix.lower(), fps)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.stem}.{os.getpid()}{out.suffix}")
    try:
        with writer.saving(figure, str(temporary), dpi=90):
            for moment in moments:
                for stage in stages:
                    stage.show(moment)
                writer.grab_frame()
        os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)
        pyplot().close(figure)


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
