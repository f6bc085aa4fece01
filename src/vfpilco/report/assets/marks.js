/* How a chart draws its series, by their type. A series has x, and y or low and high, in the units of the axes. */

/* One mark per entry; `draw` receives its index and its horizontal place in pixels, and leaves out missing values. */
function perEntry(chart, series, draw) {
  return svg(
    "g",
    {},
    series.x.map((x, i) => draw(i, chart.toPixelX(x))),
  );
}

const MARKS = {
  band(chart, series) {
    const back = chart.path([...series.x].reverse(), [...series.low].reverse()).replace("M", "L");
    return svg("path", { class: `band ${series.style}`, d: `${chart.path(series.x, series.high)}${back}Z` });
  },

  line(chart, series) {
    return svg("path", { class: `line ${series.style}`, d: chart.path(series.x, series.y, series.step) });
  },

  dots(chart, { filled, onClick, size, style, ...series }) {
    return perEntry(
      chart,
      series,
      (i, x) =>
        Number.isFinite(series.y[i]) &&
        svg("circle", {
          class: `dot ${style} ${filled && !filled[i] ? "hollow" : ""} ${onClick ? "clickable" : ""}`,
          cx: x,
          cy: chart.toPixelY(series.y[i]),
          r: size || 2.2,
          on: onClick ? { click: () => onClick(i) } : {},
        }),
    );
  },

  /* Bars from low to high, with a mark at y. */
  bars(chart, { size, style, ...series }) {
    return perEntry(chart, series, (i, x) => {
      if (!Number.isFinite(series.low[i])) return null;
      const [low, middle, high] = [series.low, series.y, series.high].map((values) => chart.toPixelY(values[i]));
      const mark =
        Number.isFinite(series.y[i]) &&
        svg("line", { class: "middle", x1: x - size / 2, x2: x + size / 2, y1: middle, y2: middle });
      return svg(
        "g",
        { class: `bar ${style}` },
        svg("line", { x1: x, x2: x, y1: low, y2: high, "stroke-width": size }),
        mark,
      );
    });
  },

  /* A horizontal line over the full width. */
  level(chart, { at, style }) {
    const y = chart.toPixelY(at);
    return svg("line", { class: `line ${style}`, x1: chart.left, x2: chart.left + chart.width, y1: y, y2: y });
  },

  /* A vertical line over the full height. */
  upright(chart, { place, style }) {
    const x = chart.toPixelX(place);
    return svg("line", { class: `line ${style}`, x1: x, x2: x, y1: chart.top, y2: chart.bottom });
  },

  image(chart, series) {
    const [left, right] = series.x.map((x) => chart.toPixelX(x)),
      [bottom, top] = series.y.map((y) => chart.toPixelY(y));
    return svg("image", {
      href: series.href,
      preserveAspectRatio: "none",
      x: left,
      y: top,
      width: Math.max(0, right - left),
      height: Math.max(0, bottom - top),
    });
  },
};
