/* The machine in motion: as it was beside as it was predicted, with a bar to move through time. */

class Player {
  constructor(trial, group) {
    this.group = group;
    this.step = trial.sampling_time;
    this.shapes = trial.scene.shapes.map((shape) => ({
      ...shape,
      still: shape.still && unpack(shape.still),
      real: shape.real && unpack(shape.real),
      predicted: shape.predicted && shape.predicted.map(unpack),
    }));
    this.box = [...trial.scene.low, ...trial.scene.high];
    const lengths = this.shapes
      .flatMap((shape) => [shape.real, ...(shape.predicted || [])])
      .filter(Boolean)
      .map((one) => one.shape[0]);
    this.samples = Math.max(2, ...lengths);
    this.panels = [this.panel("real", "on the machine")];
    if (trial.predicted)
      this.panels.push(this.panel("predicted", "as predicted: a particle that began alike, and others"));
    this.build();
    this.now = this.samples - 1;
    this.watcher = new ResizeObserver(() => this.paint());
    this.watcher.observe(this.host);
    group.seek = (time) => {
      this.pause();
      this.go(time / this.step);
    };
  }

  panel(which, text) {
    return { which, canvas: el("canvas", { class: `stage ${which}`, "aria-label": text }), text };
  }

  build() {
    this.button = el(
      "button",
      { type: "button", class: "play", "aria-label": "play", on: { click: () => this.toggle() } },
      "▶",
    );
    this.bar = el("input", {
      type: "range",
      class: "scrub",
      min: 0,
      max: this.samples - 1,
      step: "any",
      "aria-label": "time",
      on: {
        input: () => {
          this.pause();
          this.go(Number(this.bar.value));
        },
      },
    });
    this.clock = el("output", { class: "clock" });
    this.speed = el(
      "select",
      { "aria-label": "speed" },
      [
        [0.25, "¼ ×"],
        [0.5, "½ ×"],
        [1, "1 ×"],
        [2, "2 ×"],
      ].map(([value, name]) => el("option", { value, selected: value === 1 }, name)),
    );
    this.host = el(
      "div",
      { class: "player" },
      el(
        "div",
        { class: "stages" },
        this.panels.map((panel) =>
          el(
            "figure",
            {},
            panel.canvas,
            el("figcaption", {}, el("span", { class: `swatch ${panel.which}` }), panel.text),
          ),
        ),
      ),
      el("div", { class: "controls" }, this.button, this.bar, this.clock, this.speed),
    );
  }

  remove() {
    this.pause();
    this.watcher.disconnect();
    this.host.remove();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.now >= this.samples - 1) this.now = 0;
    this.playing = true;
    this.button.textContent = "❚❚";
    this.button.setAttribute("aria-label", "pause");
    let before = performance.now();
    const tick = (time) => {
      if (!this.playing) return;
      const next = this.now + (Math.max(0, time - before) / 1000 / this.step) * Number(this.speed.value);
      before = time;
      this.go(next);
      if (next >= this.samples - 1) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶";
    this.button.setAttribute("aria-label", "play");
  }

  go(sample) {
    this.now = Math.min(Math.max(sample, 0), this.samples - 1);
    this.group.point(this.now * this.step);
    this.paint();
  }

  /* -- drawing ------------------------------------------------------------------------------------------------ */

  paint() {
    this.bar.value = this.now;
    this.clock.textContent = `${(this.now * this.step).toFixed(2)} s`;
    for (const panel of this.panels) this.paintPanel(panel);
  }

  paintPanel(panel) {
    const [left, bottom, right, top] = this.box,
      { canvas } = panel;
    const wide = canvas.clientWidth;
    if (!wide) return;
    const tall = Math.round(Math.min((wide * (top - bottom)) / (right - left), 340)),
      dense = window.devicePixelRatio || 1;
    canvas.style.height = `${tall}px`;
    if (canvas.width !== Math.round(wide * dense) || canvas.height !== Math.round(tall * dense)) {
      canvas.width = Math.round(wide * dense);
      canvas.height = Math.round(tall * dense);
    }
    const pen = canvas.getContext("2d"),
      scale = Math.min(wide / (right - left), tall / (top - bottom));
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    this.place = (x, y) => [wide / 2 + (x - (left + right) / 2) * scale, tall / 2 - (y - (bottom + top) / 2) * scale];
    this.scale = scale;
    const colour = css(panel.which === "real" ? "--real" : "--predicted");
    for (const shape of this.shapes) {
      if (shape.still) {
        this.shape(pen, shape, shape.still, 1, colour);
        continue;
      }
      if (panel.which === "real") {
        this.shape(pen, shape, shape.real, 1, colour);
        continue;
      }
      shape.predicted
        .slice(1)
        .forEach((ghost) => this.shape(pen, shape, ghost, shape.kind === "trace" ? 0.13 : 0.16, colour));
      if (shape.predicted.length) this.shape(pen, shape, shape.predicted[0], 1, colour);
    }
  }

  /* The points of a shape now, between two samples. */
  points(data) {
    const many = data.shape.length === 3,
      count = data.shape[many ? 1 : 0],
      found = [];
    const last = many ? data.shape[0] - 1 : 0,
      now = Math.min(this.now, last),
      before = Math.floor(now),
      part = now - before;
    const base = many ? before * count * 2 : 0,
      after = many ? Math.min(before + 1, last) * count * 2 : 0;
    for (let i = 0; i < 2 * count; i += 2) {
      const mix = (k) => data.values[base + i + k] * (1 - part) + data.values[after + i + k] * part;
      found.push(this.place(mix(0), mix(1)));
    }
    return found;
  }

  shape(pen, shape, data, opacity, body) {
    const colour = { body, frame: css("--frame"), goal: css("--goal") }[shape.role];
    pen.globalAlpha = opacity;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineCap = pen.lineJoin = "round";
    pen.setLineDash(shape.role === "goal" ? [5, 5] : []);
    if (shape.kind === "label") this.words(pen, shape, data);
    else if (shape.kind === "trace") this.trace(pen, data, opacity);
    else if (shape.kind === "disc") this.disc(pen, shape, data);
    else this.outline(pen, shape, data);
    pen.globalAlpha = 1;
  }

  words(pen, shape, data) {
    const [[x, y]] = this.points(data);
    pen.fillStyle = css("--quiet");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillText(shape.text, x, y + 4);
  }

  trace(pen, data, opacity) {
    const count = Math.min(Math.floor(this.now), data.shape[0] - 1);
    pen.beginPath();
    for (let i = 0; i <= count; i++) pen.lineTo(...this.place(data.values[2 * i], data.values[2 * i + 1]));
    pen.lineTo(...this.points(data)[0]);
    pen.lineWidth = 1.4;
    pen.globalAlpha = opacity * 0.55;
    pen.stroke();
  }

  disc(pen, shape, data) {
    const [[x, y]] = this.points(data);
    pen.beginPath();
    pen.arc(x, y, Math.max(shape.size * this.scale, 2), 0, 2 * Math.PI);
    pen.fill();
  }

  outline(pen, shape, data) {
    pen.beginPath();
    this.points(data).forEach((point) => pen.lineTo(...point));
    if (shape.kind === "polygon") {
      pen.closePath();
      if (shape.role === "frame") {
        pen.globalAlpha *= 0.28;
        pen.fill();
        pen.globalAlpha /= 0.28;
        pen.lineWidth = 1.2;
        pen.stroke();
      } else pen.fill();
      return;
    }
    pen.lineWidth = Math.max(shape.size * this.scale, 1.5);
    pen.stroke();
  }
}
