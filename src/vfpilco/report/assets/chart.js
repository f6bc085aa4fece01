/* A chart in SVG: bands, lines, dots, bars and images over axes with units; hover for values, drag to zoom.

Charts of one group share the visible part of the x axis, and a cursor. */

class Group {
  constructor() {
    this.domain = null;
    this.cursor = null;
    this.charts = [];
    this.seek = null;
  }
  zoom(domain) {
    this.domain = domain;
    this.charts.forEach((chart) => chart.draw());
  }
  moveCursor(x) {
    this.cursor = x;
    this.charts.forEach((chart) => chart.drawCursor());
  }
}

class Chart {
  constructor(spec) {
    this.spec = spec;
    this.group = spec.group || new Group();
    this.group.charts.push(this);
    this.tip = el("div", { class: "tip", hidden: true });
    this.reset = el(
      "button",
      { class: "reset", type: "button", hidden: true, on: { click: () => this.group.zoom(null) } },
      "full range",
    );
    this.host = el(
      "figure",
      {
        class: "chart",
        style: `min-height: ${spec.height}px`,
        role: "img",
        "aria-label": `${spec.y.label} over ${spec.x.label}`,
      },
      this.reset,
      this.tip,
    );
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.host);
    this.listen();
  }

  remove() {
    this.observer.disconnect();
    this.host.remove();
    this.group.charts = this.group.charts.filter((chart) => chart !== this);
  }

  /* -- scales ------------------------------------------------------------------------------------------------- */

  scale() {
    const { x, y, series } = this.spec,
      fitted = series.filter((each) => each.type !== "image");
    this.xs = this.group.domain || x.domain || extent(fitted.flatMap((each) => each.x));
    const inside = (value) => value >= this.xs[0] && value <= this.xs[1];
    const values = fitted
      .filter((each) => !each.faint)
      .flatMap((each) =>
        [each.y, each.low, each.high].filter(Boolean).flatMap((ys) => ys.filter((_, i) => inside(each.x[i]))),
      );
    this.log = y.log && values.every((value) => !(value <= 0));
    this.ys = y.domain && !this.group.domain ? y.domain : extent(values);
    if (!y.domain) this.ys = this.withMargin(...this.reaching(...this.ys));
  }

  /* A range with the levels that are near it. */
  reaching(low, high) {
    const reach = 0.6 * (high - low),
      near = this.spec.series.filter(({ at }) => at >= low - reach && at <= high + reach).map(({ at }) => at);
    return [Math.min(low, ...near), Math.max(high, ...near)];
  }

  withMargin(low, high) {
    if (this.log) return [low / 1.25, high * 1.25];
    const margin = 0.06 * (high - low || Math.abs(high) || 1);
    return [this.spec.y.zero ? Math.min(0, low) : low - margin, high + margin];
  }

  toPixelX(x) {
    return this.left + ((x - this.xs[0]) / (this.xs[1] - this.xs[0] || 1)) * this.width;
  }
  toPixelY(y) {
    const at = (value) => (this.log ? Math.log(Math.max(value, 1e-300)) : value);
    const share = (at(y) - at(this.ys[0])) / (at(this.ys[1]) - at(this.ys[0]) || 1);
    return this.bottom - share * this.height;
  }
  fromPixelX(pixel) {
    return this.xs[0] + ((pixel - this.left) / this.width) * (this.xs[1] - this.xs[0]);
  }
  fromPixelY(pixel) {
    return this.ys[0] + ((this.bottom - pixel) / this.height) * (this.ys[1] - this.ys[0]);
  }

  /* -- drawing ------------------------------------------------------------------------------------------------ */

  draw() {
    const width = this.host.clientWidth,
      { height } = this.spec;
    if (!width) return;
    [this.left, this.top, this.width, this.height] = [52, 26, width - 52 - 12, height - 26 - 38];
    this.bottom = this.top + this.height;
    this.scale();
    const clip = `clip-${(Chart.count = (Chart.count || 0) + 1)}`;
    const content = svg(
      "g",
      { "clip-path": `url(#${clip})` },
      this.spec.series.map((series) => MARKS[series.type](this, series)),
    );
    this.cursor = svg("line", { class: "cursor", y1: this.top, y2: this.bottom, visibility: "hidden" });
    this.brush = svg("rect", { class: "brush", y: this.top, height: this.height, visibility: "hidden" });
    const picture = svg(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}` },
      svg(
        "defs",
        {},
        svg(
          "clipPath",
          { id: clip },
          svg("rect", { x: this.left - 5, y: this.top - 5, width: this.width + 10, height: this.height + 10 }),
        ),
      ),
      this.axes(width, height),
      content,
      this.cursor,
      this.brush,
    );
    if (this.picture) this.picture.replaceWith(picture);
    else this.host.prepend(picture);
    this.picture = picture;
    this.reset.hidden = !this.group.domain;
    this.drawCursor();
  }

  axes(width, height) {
    const { x, y } = this.spec,
      right = this.left + this.width;
    const text = (className, left, top, anchor, content) =>
      svg("text", { class: className, x: left, y: top, "text-anchor": anchor }, content);
    const across = x.ticks || ticks(...this.xs, Math.max(2, Math.round(this.width / 90)));
    const upwards = this.log ? logTicks(...this.ys) : ticks(...this.ys, Math.max(2, Math.round(this.height / 30)));
    const horizontal = upwards.map((value) => {
      const at = this.toPixelY(value);
      return [
        svg("line", { class: "grid", x1: this.left, x2: right, y1: at, y2: at }),
        text("tick", this.left - 7, at + 4, "end", short(value)),
      ];
    });
    const visible = across.filter((value) => value >= this.xs[0] - 1e-9 && value <= this.xs[1] + 1e-9);
    const vertical = visible.map((value) => {
      const at = this.toPixelX(value);
      return [
        svg("line", { class: "grid", x1: at, x2: at, y1: this.bottom, y2: this.bottom + 4 }),
        text("tick", at, this.bottom + 17, "middle", x.format ? x.format(value) : short(value)),
      ];
    });
    return svg(
      "g",
      {},
      horizontal.flat(),
      vertical.flat(),
      svg("line", { class: "axis", x1: this.left, x2: right, y1: this.bottom, y2: this.bottom }),
      text("name", 0, 13, "start", y.label),
      text("name faint", width - 12, height - 4, "end", x.label),
    );
  }

  /* The path through points, interrupted where a value is missing; with `step` each value is held until the next. */
  path(x, y, step) {
    let text = "",
      pen = "M";
    for (let i = 0; i < x.length; i++) {
      if (!Number.isFinite(y[i])) {
        pen = "M";
        continue;
      }
      const across = this.toPixelX(x[i]).toFixed(1);
      if (step && pen === "L") text += `L${across} ${this.toPixelY(y[i - 1]).toFixed(1)}`;
      text += `${pen}${across} ${this.toPixelY(y[i]).toFixed(1)}`;
      pen = "L";
    }
    return text;
  }

  drawCursor() {
    if (!this.cursor) return;
    const x = this.group.cursor,
      visible = x !== null && this.spec.hasCursor && x >= this.xs[0] && x <= this.xs[1];
    this.cursor.setAttribute("visibility", visible ? "visible" : "hidden");
    if (visible) for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.toPixelX(x));
  }

  /* -- pointers: hovering or touching shows values; dragging the mouse or spreading two fingers zooms ----------- */

  listen() {
    const held = new Map();
    const at = (event) => event.clientX - this.host.getBoundingClientRect().left;
    const drop = (event) => {
      const from = held.get(event.pointerId);
      held.delete(event.pointerId);
      this.hideBrush();
      if (!from) return;
      const other = held.size ? [...held.values()][0].now : from.begun;
      const [low, high] = [at(event), other].sort((a, b) => a - b);
      if (high - low > 12 && (event.pointerType === "mouse" || held.size)) this.zoomTo(low, high);
      else if (event.pointerType === "mouse" && this.group.seek && this.spec.hasCursor)
        this.group.seek(this.fromPixelX(at(event)));
      held.clear();
    };
    this.host.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && !event.target.closest("button"))
        held.set(event.pointerId, { begun: at(event), now: at(event) });
    });
    this.host.addEventListener("pointermove", (event) => {
      const from = held.get(event.pointerId);
      if (from) from.now = at(event);
      if (from && event.pointerType === "mouse" && Math.abs(at(event) - from.begun) > 4)
        this.showBrush(from.begun, at(event));
      else this.showTip(event);
    });
    this.host.addEventListener("pointerup", drop);
    this.host.addEventListener("pointercancel", () => held.clear());
    this.host.addEventListener("pointerleave", (event) => {
      held.delete(event.pointerId);
      this.tip.hidden = true;
      this.hideBrush();
    });
    this.host.addEventListener("dblclick", () => this.group.zoom(null));
  }

  showBrush(begin, end) {
    const [low, high] = [begin, end]
      .sort((a, b) => a - b)
      .map((x) => Math.min(Math.max(x, this.left), this.left + this.width));
    this.brush.setAttribute("visibility", "visible");
    this.brush.setAttribute("x", low);
    this.brush.setAttribute("width", high - low);
  }

  hideBrush() {
    if (this.brush) this.brush.setAttribute("visibility", "hidden");
  }

  zoomTo(low, high) {
    if (this.spec.fixed) return;
    this.group.zoom([Math.max(this.fromPixelX(low), this.xs[0]), Math.min(this.fromPixelX(high), this.xs[1])]);
  }

  /* -- values at the pointer ---------------------------------------------------------------------------------- */

  showTip(event) {
    const box = this.host.getBoundingClientRect(),
      x = event.clientX - box.left,
      y = event.clientY - box.top;
    const found = this.contains(x, y) && this.valuesAt(x, y);
    this.tip.hidden = !found;
    if (!found) return;
    this.tip.replaceChildren(
      el("strong", {}, found.title),
      ...found.values.map(([style, name, value]) =>
        el("div", {}, el("span", { class: `swatch ${style}` }), `${name} `, el("b", {}, value)),
      ),
    );
    const width = this.tip.offsetWidth,
      beside = x + 14 + width > box.width ? x - width - 14 : x + 14;
    this.tip.style.left = `${Math.max(0, beside)}px`;
    this.tip.style.top = `${this.top}px`;
  }

  contains(x, y) {
    const across = x >= this.left - 6 && x <= this.left + this.width + 6;
    return this.picture && across && y >= this.top && y <= this.bottom;
  }

  valuesAt(x, y) {
    const at = this.fromPixelX(x);
    return this.spec.probe ? this.spec.probe(at, this.fromPixelY(y)) : this.nearest(at);
  }

  /* The values of all series with a name, at the entry that is nearest to x. */
  nearest(x) {
    const series = this.spec.series.filter((each) => each.name),
      { snap, title } = this.spec.x;
    if (!series.length) return null;
    const all = series.flatMap((each) => each.x);
    const at = all.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best), all[0]);
    const same = snap
      ? (value) => snap(value) === snap(at)
      : (value) => Math.abs(value - at) < 1e-9 * (1 + Math.abs(at));
    const values = series
      .map((each) => [each.style, each.name, valueText(each, each.x.findIndex(same))])
      .filter(([, , text]) => text);
    return { title: title ? title(at) : short(at), values };
  }
}

/* Entry i of a series as text: its value, its range, or both; empty if it is missing. */
function valueText(series, i) {
  const known = (values) => i >= 0 && values && Number.isFinite(values[i]);
  const value = known(series.y) ? short(series.y[i]) : "",
    ends = known(series.low) ? range(series.low[i], series.high[i]) : "";
  return value && ends ? `${value} (${ends})` : value || ends;
}
