/* One trial: the machine in motion, positions and inputs over their prediction. */

function predictedSeries(predicted, sampling, step) {
  const [low, quarter, median, threeQuarters, high] = rowsOf(predicted.bands),
    x = multiples(median.length, sampling),
    style = "predicted";
  return [
    { type: "band", style, name: "95 % of the particles", x, low, high },
    { type: "band", style: "predicted half", name: "50 %", x, low: quarter, high: threeQuarters },
    ...rowsOf(predicted.lines).map((y) => ({ type: "line", style: "predicted ghost", faint: true, step, x, y })),
    { type: "line", style, name: "their median", step, x, y: median },
  ];
}

/* Where a position should be; of an angle the targets, full turns apart, that are near where it was. */
function targetSeries({ target, angle }, y, sampling) {
  if (!target) return [];
  const goal = column(target),
    turn = 2 * Math.PI,
    x = multiples(goal.length, sampling);
  const near = angle ? [...extent(y), lastOf(y)].map((value) => Math.round((value - lastOf(goal)) / turn)) : [0];
  return [...new Set(near)].map((k, i) => ({
    type: "line",
    style: "target",
    name: i ? "" : "target",
    x,
    y: goal.map((value) => value + k * turn),
  }));
}

const levels = (ends) =>
  (ends || []).filter(Number.isFinite).map((at) => ({ type: "level", style: "limit", at, x: [] }));

function positionSeries(position, trial, i) {
  const y = column(trial.q[i]),
    x = multiples(y.length, trial.sampling_time);
  return [
    ...levels(position.safe),
    ...targetSeries(position, y, trial.sampling_time),
    ...(trial.predicted ? predictedSeries(trial.predicted.q[i], trial.sampling_time, false) : []),
    ...(trial.true ? [{ type: "line", style: "real thin", name: "true", x, y: column(trial.true[i]) }] : []),
    { type: "dots", style: "real", name: "measured", x, y, size: y.length > 150 ? 1.6 : 2.3 },
  ];
}

function inputSeries(input, trial, i) {
  const y = column(trial.u[i]),
    x = multiples(y.length, trial.sampling_time);
  return [
    ...levels([-input.limit, input.limit]),
    ...(trial.predicted ? predictedSeries(trial.predicted.u[i], trial.sampling_time, true) : []),
    { type: "line", style: "input", name: "applied", step: true, x, y },
  ];
}

const withRange = (position) =>
  withUnit(position) + (position.safe ? `, safe from ${range(...position.safe)}` : "");

/* How each position with a set point got there. */
function responsePart(response) {
  if (!response || !response.length) return null;
  const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(0)} %`);
  const head = ["", "rise time [s]", "overshoot", "settling time [s]", "error at the end"];
  const rows = response.map(({ name, unit, rise, overshoot, settling, error }) => [
    name,
    short(rise),
    percent(overshoot),
    short(settling),
    `${short(error)} ${unit}`,
  ]);
  const hint =
    "Rise time is from 10 to 90 % of the way to the target; a position has settled when it stays within 5 % of that way. " +
    "The error is the mean of the last tenth of the trial. A position that started at its target has only an error.";
  return [el("h3", {}, "Step response"), table(head, rows, "numbers"), el("p", { class: "hint" }, hint)];
}

const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/* How far, how fast and with which inputs the machine was predicted to move, beside what it did. */
function reachTable(data, index) {
  const { risk } = data.results[index],
    trial = data.trials[index];
  const speed = (packed) => {
    const q = column(packed);
    return q.slice(1).map((value, k) => (value - q[k]) / trial.sampling_time);
  };
  const rows = [
    ...(risk.positions || []).map((each, i) => ["", each, each.unit, column(trial.q[i])]),
    ...(risk.speeds || []).map((each, i) => ["speed of ", each, `${each.unit}/s`, speed(trial.q[i])]),
    ...(risk.inputs || []).map((each, i) => ["", each, each.unit, column(trial.u[i])]),
  ].map(([what, { name, most_95, most_999 }, unit, measured]) => [
    what + withUnit({ name, unit }),
    short(most_95),
    short(most_999),
    short(largest(measured)),
  ]);
  return table(["largest magnitude", "95 % of the particles", "99.9 % *", "measured"], rows, "numbers");
}

/* What was predicted to go wrong: which particles leave safe ranges and when, and how far the machine may move. */
function riskPart(data, index, x, group) {
  const { risk } = data.results[index],
    trial = data.trials[index];
  if (!risk || !trial.predicted) return null;
  const charts = (trial.risk || []).map(({ name, left }) => {
    const [below, above] = rowsOf(left),
      t = multiples(below.length, trial.sampling_time),
      total = below.map((value, k) => value + above[k]);
    return new Chart({
      height: 170,
      group,
      hasCursor: true,
      x,
      y: { label: `particles that left the safe range of ${name} [%]`, domain: [0, Math.max(5, 1.1 * lastOf(total))] },
      series: [
        { type: "line", style: "limit", name: "together", step: true, x: t, y: total },
        { type: "line", style: "many", name: "above", step: true, x: t, y: above },
        { type: "line", style: "one", name: "below", step: true, x: t, y: below },
      ],
    });
  });
  const hint =
    risk.particles < 1000 ? `* of ${risk.particles} particles this is the largest one; nothing is extrapolated.` : "*";
  const parts = [
    el("h3", {}, "Predicted risk"),
    charts.length > 0 && legend([["line limit", "left the safe range"], ["line many", "above"], ["line one", "below"]]),
    chartGrid(charts, 2),
    reachTable(data, index),
    el("p", { class: "hint" }, hint),
  ];
  return { charts, host: el("div", { class: "risk" }, parts) };
}

function timeAxis(data) {
  const longest = Math.max(...data.trials.map((other) => (other.q[0].shape[0] - 1) * other.sampling_time));
  return { label: "time [s]", domain: [0, longest], title: (t) => `${t.toFixed(2)} s` };
}

function trialCharts(data, index, group) {
  const trial = data.trials[index],
    x = timeAxis(data);
  const chart = (height, y, series) => new Chart({ height, group, hasCursor: true, x, y, series });
  const positions = data.task.positions.map((position, i) =>
    chart(190, { label: withRange(position) }, positionSeries(position, trial, i)),
  );
  const inputs = data.task.inputs.map((input, i) =>
    chart(170, { label: withUnit(input), domain: [-1.08 * input.limit, 1.08 * input.limit] }, inputSeries(input, trial, i)),
  );
  return [...positions, ...inputs];
}

function trialPart(data, index) {
  const group = new Group(),
    trial = data.trials[index],
    { sentence, notes } = data.results[index];
  const player = new Player(trial, group),
    charts = trialCharts(data, index, group),
    risk = riskPart(data, index, timeAxis(data), group);
  const host = el(
    "div",
    { class: "trial" },
    el("p", { class: "sentence" }, sentence),
    (notes || []).map((note) => el("p", { class: "note" }, note)),
    player.host,
    el("h3", {}, trial.predicted ? "Measured and predicted" : "Measured"),
    legend(
      [
        ["dot real", "measured"],
        trial.true && ["line real", "true"],
        trial.predicted && ["band predicted half", "50 % and 95 % of the particles, their median, some of them"],
        ["line input", "applied"],
        data.task.positions.some(({ target }) => target) && ["line target", "target"],
        ["line limit", data.task.positions.some(({ safe }) => safe) ? "limits and safe range" : "limits"],
      ].filter(Boolean),
    ),
    el(
      "p",
      { class: "hint mouse" },
      "Drag to zoom, double-click for the full range, click to move the machine to that time.",
    ),
    el("p", { class: "hint touch" }, "Touch for values, spread two fingers to zoom."),
    chartGrid(charts, charts.length > 4 ? 2 : 1),
    risk && risk.host,
    responsePart(trial.response),
  );
  const remove = () => {
    player.remove();
    [...charts, ...(risk ? risk.charts : [])].forEach((chart) => chart.remove());
    host.remove();
  };
  return { host, player, remove };
}
