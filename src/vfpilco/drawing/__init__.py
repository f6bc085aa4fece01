"""Drawings of machines as data: shapes in the plane for every sample, the same for a page, a picture and a film."""

from vfpilco.drawing.shapes import Scene, Shape, disc, label, line, polygon, trace

__all__ = ["Scene", "Shape", "disc", "label", "line", "polygon", "trace"]
