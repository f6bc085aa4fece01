/* The machine in motion: as it moved beside its prediction, with a slider for the time. */

const SPEEDS = [
  [0.25, "¼ ×"],
  [0.5, "½ ×"],
  [1, "1 ×"],
  [2, "2 ×"],
];
const MOST_HEIGHT = 340; // pixels

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
      .map((data) => data.shape[0]);
    this.samples = Math.max(2, ...lengths);
    this.panels = [this.panel("real", "on the machine")];
    if (trial.predicted)
      this.panels.push(this.panel("predicted", "as predicted: a particle with a similar start, and others"));
    this.build();
    this.now = this.samples - 1;
    this.observer = new ResizeObserver(() => this.paint());
    this.observer.observe(this.host);
    group.seek = (time) => this.jump(time / this.step);
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
    this.slider = el("input", {
      type: "range",
      class: "scrub",
      min: 0,
      max: this.samples - 1,
      step: "any",
      "aria-label": "time",
      on: { input: () => this.jump(Number(this.slider.value)) },
    });
    this.clock = el("output", { class: "clock" });
    this.speed = el(
      "select",
      { "aria-label": "speed" },
      SPEEDS.map(([value, name]) => el("option", { value, selected: value === 1 }, name)),
    );
    const figures = this.panels.map(({ which, canvas, text }) =>
      el("figure", {}, canvas, el("figcaption", {}, el("span", { class: `swatch ${which}` }), text)),
    );
    this.host = el(
      "div",
      { class: "player" },
      el("div", { class: "stages" }, figures),
      el("div", { class: "controls" }, this.button, this.slider, this.clock, this.speed),
    );
  }

  remove() {
    this.pause();
    this.observer.disconnect();
    this.host.remove();
  }

  /* -- time --------------------------------------------------------------------------------------------------- */

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.now >= this.samples - 1) this.now = 0;
    this.setPlaying(true);
    let before = performance.now();
    const tick = (time) => {
      if (!this.playing) return;
      const next = this.now + (Math.max(0, time - before) / 1000 / this.step) * Number(this.speed.value);
      before = time;
      this.moveTo(next);
      if (next >= this.samples - 1) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.setPlaying(false);
  }

  setPlaying(playing) {
    this.playing = playing;
    this.button.textContent = playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", playing ? "pause" : "play");
  }

  jump(sample) {
    this.pause();
    this.moveTo(sample);
  }

  moveTo(sample) {
    this.now = Math.min(Math.max(sample, 0), this.samples - 1);
    this.group.moveCursor(this.now * this.step);
    this.paint();
  }

  /* -- drawing ------------------------------------------------------------------------------------------------ */

  paint() {
    this.slider.value = this.now;
    this.clock.textContent = `${(this.now * this.step).toFixed(2)} s`;
    for (const panel of this.panels) this.paintPanel(panel);
  }

  paintPanel({ which, canvas }) {
    const [left, bottom, right, top] = this.box,
      width = canvas.clientWidth;
    if (!width) return;
    const height = Math.round(Math.min((width * (top - bottom)) / (right - left), MOST_HEIGHT)),
      pen = this.resized(canvas, width, height);
    this.scale = Math.min(width / (right - left), height / (top - bottom));
    this.toPixels = (x, y) => [
      width / 2 + (x - (left + right) / 2) * this.scale,
      height / 2 - (y - (bottom + top) / 2) * this.scale,
    ];
    const colour = css(`--${which}`);
    for (const shape of this.shapes) {
      const [first, ...ghosts] = shape.still ? [shape.still] : which === "real" ? [shape.real] : shape.predicted;
      const faint = shape.kind === "trace" ? 0.13 : 0.16;
      for (const ghost of ghosts) this.draw(pen, shape, ghost, faint, colour);
      if (first) this.draw(pen, shape, first, 1, colour);
    }
  }

  /* The context of a canvas that was cleared, with as many pixels as the screen has. */
  resized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1,
      size = [Math.round(width * ratio), Math.round(height * ratio)];
    canvas.style.height = `${height}px`;
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  /* The points of a shape at the current time, interpolated between two samples. */
  points(data) {
    const moves = data.shape.length === 3,
      count = data.shape[moves ? 1 : 0],
      last = moves ? data.shape[0] - 1 : 0;
    const now = Math.min(this.now, last),
      before = Math.floor(now),
      part = now - before;
    const from = before * count * 2,
      to = Math.min(before + 1, last) * count * 2;
    const mix = (k) => data.values[from + k] * (1 - part) + data.values[to + k] * part;
    return multiples(count, 2).map((k) => this.toPixels(mix(k), mix(k + 1)));
  }

  draw(pen, shape, data, opacity, body) {
    pen.globalAlpha = opacity;
    pen.strokeStyle = pen.fillStyle = shape.role === "body" ? body : css(`--${shape.role}`);
    pen.lineCap = pen.lineJoin = "round";
    pen.setLineDash(shape.role === "goal" ? [5, 5] : []);
    this[shape.kind](pen, shape, data);
    pen.globalAlpha = 1;
  }

  /* -- one method per kind of shape ---------------------------------------------------------------------------- */

  label(pen, shape, data) {
    const [[x, y]] = this.points(data);
    pen.fillStyle = css("--quiet");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillText(shape.text, x, y + 4);
  }

  trace(pen, shape, data) {
    const count = Math.min(Math.floor(this.now), data.shape[0] - 1);
    pen.beginPath();
    for (let i = 0; i <= count; i++) pen.lineTo(...this.toPixels(data.values[2 * i], data.values[2 * i + 1]));
    pen.lineTo(...this.points(data)[0]);
    pen.lineWidth = 1.4;
    pen.globalAlpha *= 0.55;
    pen.stroke();
  }

  disc(pen, shape, data) {
    const [[x, y]] = this.points(data);
    pen.beginPath();
    pen.arc(x, y, Math.max(shape.size * this.scale, 2), 0, 2 * Math.PI);
    pen.fill();
  }

  line(pen, shape, data) {
    this.outline(pen, data);
    pen.lineWidth = Math.max(shape.size * this.scale, 1.5);
    pen.stroke();
  }

  polygon(pen, shape, data) {
    this.outline(pen, data);
    pen.closePath();
    if (shape.role !== "frame") {
      pen.fill();
      return;
    }
    const opacity = pen.globalAlpha;
    pen.globalAlpha = 0.28 * opacity;
    pen.fill();
    pen.globalAlpha = opacity;
    pen.lineWidth = 1.2;
    pen.stroke();
  }

  outline(pen, data) {
    pen.beginPath();
    this.points(data).forEach((point) => pen.lineTo(...point));
  }
}
