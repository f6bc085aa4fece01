"""The page itself: data, style and scripts in one HTML file.

Everything that comes from a run (names, notes, paths) goes into the page as JSON and is shown as text by the scripts.
"""

from __future__ import annotations

import html
import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

from vfpilco.common.files import write_file
from vfpilco.common.text import printable

SCRIPTS = (
    "dom.js",
    "numbers.js",
    "marks.js",
    "chart.js",
    "player.js",
    "policy.js",
    "overview.js",
    "trial.js",
    "learned.js",
    "comparison.js",
    "page.js",
)
"""In the order in which they need each other."""


def write_page(title: str, data: dict[str, Any], out: Path) -> Path:
    """Write the page that shows `data` to the file `out`."""
    write_file(out, page(title, {**data, "title": title}))
    return out


def page(title: str, data: dict[str, Any]) -> str:
    """The HTML of a page that shows `data`."""
    assets = files("vfpilco.report") / "assets"
    scripts = "\n".join((assets / name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = (assets / "report.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{html.escape(printable(title))}</title>
<style>
{style}</style>
</head>
<body>
<main id="page"><noscript>This report is drawn with JavaScript: enable it to see the page.</noscript></main>
<script type="application/json" id="data">{embedded(data)}</script>
<script>
{scripts}</script>
</body>
</html>
"""


def embedded(data: Any) -> str:
    """JSON that cannot end the script element that contains it, nor be parsed as anything but JSON."""
    text = json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.encode("utf-8", "backslashreplace").decode()  # A path may be bytes that are not text.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _finite(data: Any) -> Any:
    """The same data with null in place of numbers that are not finite, which JSON does not have."""
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
