"""Drawings of machines as data: shapes in the plane, sample by sample; the same for a page, a picture and a film."""

from vfpilco.scenes.base import Scene, Shape, disc, label, line, polygon, trace

__all__ = ["Scene", "Shape", "disc", "label", "line", "polygon", "trace"]
