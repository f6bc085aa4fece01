/* A chart in SVG: bands, lines, dots, bars and images over axes with units; hover for values, drag to zoom.

Charts of one group share the part of the x axis that is seen, and a cursor. */

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
  point(x) {
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
      "whole range",
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
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.host);
    this.listen();
  }

  remove() {
    this.watcher.disconnect();
    this.host.remove();
    this.group.charts = this.group.charts.filter((chart) => chart !== this);
  }

  /* -- places ------------------------------------------------------------------------------------------------- */

  scales() {
    const { spec } = this,
      seen = spec.series.filter((one) => one.type !== "image" || one.fit);
    this.xs = this.group.domain || spec.x.domain || extent(seen.flatMap((one) => one.x));
    const inside = (x) => x >= this.xs[0] && x <= this.xs[1];
    const values = seen
      .filter((one) => !one.faint)
      .flatMap((one) =>
        [one.y, one.low, one.high].filter(Boolean).flatMap((column) => column.filter((_, i) => inside(one.x[i]))),
      );
    const logarithmic = spec.y.log && values.every((value) => !(value <= 0));
    let [low, high] = spec.y.domain && !this.group.domain ? spec.y.domain : extent(values);
    if (!spec.y.domain) {
      if (logarithmic) {
        low /= 1.25;
        high *= 1.25;
      } else {
        const air = 0.06 * (high - low || Math.abs(high) || 1);
        low -= air;
        high += air;
        if (spec.y.zero) low = Math.min(0, low + air);
      }
    }
    this.ys = [low, high];
    this.log = logarithmic;
  }

  px(x) {
    return this.left + ((x - this.xs[0]) / (this.xs[1] - this.xs[0] || 1)) * this.width;
  }
  py(y) {
    const at = (value) => (this.log ? Math.log(Math.max(value, 1e-300)) : value);
    return this.top + this.tall - ((at(y) - at(this.ys[0])) / (at(this.ys[1]) - at(this.ys[0]) || 1)) * this.tall;
  }
  unpx(pixel) {
    return this.xs[0] + ((pixel - this.left) / this.width) * (this.xs[1] - this.xs[0]);
  }
  unpy(pixel) {
    return this.ys[0] + ((this.top + this.tall - pixel) / this.tall) * (this.ys[1] - this.ys[0]);
  }

  /* -- drawing ------------------------------------------------------------------------------------------------ */

  draw() {
    const whole = this.host.clientWidth;
    if (!whole) return;
    const { height } = this.spec;
    [this.left, this.top, this.width, this.tall] = [52, 26, whole - 52 - 12, height - 26 - 38];
    this.scales();
    const clip = `clip-${(Chart.count = (Chart.count || 0) + 1)}`;
    const content = svg(
      "g",
      { "clip-path": `url(#${clip})` },
      this.spec.series.map((one) => this.drawn(one)),
    );
    this.marker = svg("line", { class: "cursor", y1: this.top, y2: this.top + this.tall, visibility: "hidden" });
    this.brush = svg("rect", { class: "brush", y: this.top, height: this.tall, visibility: "hidden" });
    const picture = svg(
      "svg",
      { width: whole, height, viewBox: `0 0 ${whole} ${height}` },
      svg(
        "defs",
        {},
        svg(
          "clipPath",
          { id: clip },
          svg("rect", { x: this.left - 5, y: this.top - 5, width: this.width + 10, height: this.tall + 10 }),
        ),
      ),
      this.axes(whole, height),
      content,
      this.marker,
      this.brush,
    );
    if (this.picture) this.picture.replaceWith(picture);
    else this.host.prepend(picture);
    this.picture = picture;
    this.reset.hidden = !this.group.domain;
    this.drawCursor();
  }

  axes(whole, height) {
    const parts = [],
      bottom = this.top + this.tall;
    const across = this.spec.x.ticks || ticks(this.xs[0], this.xs[1], Math.max(2, Math.round(this.width / 90)));
    const up = this.log ? logTicks(...this.ys) : ticks(...this.ys, Math.max(2, Math.round(this.tall / 30)));
    for (const y of up) {
      parts.push(
        svg("line", { class: "grid", x1: this.left, x2: this.left + this.width, y1: this.py(y), y2: this.py(y) }),
      );
      parts.push(svg("text", { class: "tick", x: this.left - 7, y: this.py(y) + 4, "text-anchor": "end" }, short(y)));
    }
    for (const x of across.filter((value) => value >= this.xs[0] - 1e-9 && value <= this.xs[1] + 1e-9)) {
      parts.push(svg("line", { class: "grid", x1: this.px(x), x2: this.px(x), y1: bottom, y2: bottom + 4 }));
      parts.push(
        svg(
          "text",
          { class: "tick", x: this.px(x), y: bottom + 17, "text-anchor": "middle" },
          this.spec.x.format ? this.spec.x.format(x) : short(x),
        ),
      );
    }
    parts.push(svg("line", { class: "axis", x1: this.left, x2: this.left + this.width, y1: bottom, y2: bottom }));
    parts.push(svg("text", { class: "name", x: 0, y: 13 }, this.spec.y.label));
    parts.push(
      svg("text", { class: "name faint", x: whole - 12, y: height - 4, "text-anchor": "end" }, this.spec.x.label),
    );
    return svg("g", {}, parts);
  }

  path(x, y, step) {
    let text = "",
      pen = "M";
    for (let i = 0; i < x.length; i++) {
      if (!Number.isFinite(y[i])) {
        pen = "M";
        continue;
      }
      const here = `${this.px(x[i]).toFixed(1)} ${this.py(y[i]).toFixed(1)}`;
      if (step && pen === "L") text += `L${this.px(x[i]).toFixed(1)} ${this.py(y[i - 1]).toFixed(1)}`;
      text += pen + here;
      pen = "L";
    }
    return text;
  }

  drawn(one) {
    const look = one.look || "";
    if (one.type === "band") {
      const back = this.path([...one.x].reverse(), [...one.low].reverse()).replace("M", "L");
      return svg("path", { class: `band ${look}`, d: `${this.path(one.x, one.high)}${back}Z` });
    }
    if (one.type === "line") return svg("path", { class: `line ${look}`, d: this.path(one.x, one.y, one.step) });
    if (one.type === "dots")
      return svg(
        "g",
        {},
        one.x.map(
          (x, i) =>
            Number.isFinite(one.y[i]) &&
            svg("circle", {
              class: `dot ${look} ${one.full && !one.full[i] ? "hollow" : ""} ${one.press ? "press" : ""}`,
              cx: this.px(x),
              cy: this.py(one.y[i]),
              r: one.size || 2.2,
              on: one.press ? { click: () => one.press(i) } : {},
            }),
        ),
      );
    if (one.type === "bars")
      return svg(
        "g",
        {},
        one.x.map(
          (x, i) =>
            Number.isFinite(one.low[i]) &&
            svg(
              "g",
              { class: `bar ${look}` },
              svg("line", {
                x1: this.px(x),
                x2: this.px(x),
                y1: this.py(one.low[i]),
                y2: this.py(one.high[i]),
                "stroke-width": one.size,
              }),
              Number.isFinite(one.y[i]) &&
                svg("line", {
                  class: "middle",
                  x1: this.px(x) - one.size / 2,
                  x2: this.px(x) + one.size / 2,
                  y1: this.py(one.y[i]),
                  y2: this.py(one.y[i]),
                }),
            ),
        ),
      );
    if (one.type === "image")
      return svg("image", {
        href: one.href,
        preserveAspectRatio: "none",
        x: this.px(one.x[0]),
        y: this.py(one.y[1]),
        width: Math.max(0, this.px(one.x[1]) - this.px(one.x[0])),
        height: Math.max(0, this.py(one.y[0]) - this.py(one.y[1])),
      });
    return null;
  }

  drawCursor() {
    if (!this.marker) return;
    const x = this.group.cursor,
      seen = x !== null && this.spec.follows && x >= this.xs[0] && x <= this.xs[1];
    this.marker.setAttribute("visibility", seen ? "visible" : "hidden");
    if (seen) for (const end of ["x1", "x2"]) this.marker.setAttribute(end, this.px(x));
  }

  /* -- pointers: hover or a finger reads values; a mouse drag or two fingers zoom ------------------------------ */

  listen() {
    const held = new Map();
    const at = (event) => event.clientX - this.host.getBoundingClientRect().left;
    const drop = (event) => {
      const from = held.get(event.pointerId);
      held.delete(event.pointerId);
      if (this.brush) this.brush.setAttribute("visibility", "hidden");
      if (!from) return;
      const other = held.size ? [...held.values()][0].now : from.begun;
      const [low, high] = [at(event), other].sort((a, b) => a - b);
      if (high - low > 12 && (event.pointerType === "mouse" || held.size)) this.zoomTo(low, high);
      else if (event.pointerType === "mouse" && this.group.seek && this.spec.follows)
        this.group.seek(this.unpx(at(event)));
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
      else this.read(event);
    });
    this.host.addEventListener("pointerup", drop);
    this.host.addEventListener("pointercancel", () => held.clear());
    this.host.addEventListener("pointerleave", (event) => {
      held.delete(event.pointerId);
      this.tip.hidden = true;
      if (this.brush) this.brush.setAttribute("visibility", "hidden");
    });
    this.host.addEventListener("dblclick", () => this.group.zoom(null));
  }

  showBrush(one, other) {
    const [low, high] = [one, other]
      .sort((a, b) => a - b)
      .map((x) => Math.min(Math.max(x, this.left), this.left + this.width));
    this.brush.setAttribute("visibility", "visible");
    this.brush.setAttribute("x", low);
    this.brush.setAttribute("width", high - low);
  }

  zoomTo(low, high) {
    if (this.spec.still) return;
    this.group.zoom([Math.max(this.unpx(low), this.xs[0]), Math.min(this.unpx(high), this.xs[1])]);
  }

  read(event) {
    const box = this.host.getBoundingClientRect(),
      x = event.clientX - box.left,
      y = event.clientY - box.top;
    const inside =
      this.picture &&
      x >= this.left - 6 &&
      x <= this.left + this.width + 6 &&
      y >= this.top &&
      y <= this.top + this.tall;
    const told = inside && (this.spec.probe ? this.spec.probe(this.unpx(x), this.unpy(y)) : this.nearest(this.unpx(x)));
    this.tip.hidden = !told;
    if (!told) return;
    this.tip.replaceChildren(
      el("strong", {}, told.title),
      ...told.values.map(([look, name, value]) =>
        el("div", {}, el("span", { class: `swatch ${look}` }), `${name} `, el("b", {}, value)),
      ),
    );
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.min(Math.max(x + 14, 0), Math.max(0, box.width - wide))}px`;
    if (x + 14 + wide > box.width) this.tip.style.left = `${Math.max(0, x - wide - 14)}px`;
    this.tip.style.top = `${this.top}px`;
  }

  nearest(x) {
    const series = this.spec.series.filter((one) => one.name);
    if (!series.length) return null;
    const all = series.flatMap((one) => one.x);
    const at = all.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best), all[0]);
    const same = this.spec.x.snap
      ? (value) => this.spec.x.snap(value) === this.spec.x.snap(at)
      : (value) => Math.abs(value - at) < 1e-9 * (1 + Math.abs(at));
    const values = [];
    for (const one of series) {
      const i = one.x.findIndex(same);
      if (i < 0 || (one.y && !Number.isFinite(one.y[i]) && !one.low)) continue;
      const range = one.low && Number.isFinite(one.low[i]) ? `${short(one.low[i])} to ${short(one.high[i])}` : "";
      const value = one.y && Number.isFinite(one.y[i]) ? short(one.y[i]) : "";
      if (value || range) values.push([one.look, one.name, value && range ? `${value} (${range})` : value || range]);
    }
    return { title: this.spec.x.say ? this.spec.x.say(at) : `${short(at)}`, values };
  }
}
