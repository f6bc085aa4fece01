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

function positionSeries(trial, i) {
  const y = column(trial.q[i]),
    x = multiples(y.length, trial.sampling_time);
  return [
    ...(trial.predicted ? predictedSeries(trial.predicted.q[i], trial.sampling_time, false) : []),
    ...(trial.true ? [{ type: "line", style: "real thin", name: "true", x, y: column(trial.true[i]) }] : []),
    { type: "dots", style: "real", name: "measured", x, y, size: y.length > 150 ? 1.6 : 2.3 },
  ];
}

function inputSeries(trial, i) {
  const y = column(trial.u[i]),
    x = multiples(y.length, trial.sampling_time);
  return [
    ...(trial.predicted ? predictedSeries(trial.predicted.u[i], trial.sampling_time, true) : []),
    { type: "line", style: "input", name: "applied", step: true, x, y },
  ];
}

function trialCharts(data, index, group) {
  const trial = data.trials[index],
    longest = Math.max(...data.trials.map((other) => (other.q[0].shape[0] - 1) * other.sampling_time));
  const x = { label: "time [s]", domain: [0, longest], title: (t) => `${t.toFixed(2)} s` };
  const chart = (height, y, series) => new Chart({ height, group, hasCursor: true, x, y, series });
  const positions = data.task.positions.map((position, i) =>
    chart(190, { label: withUnit(position) }, positionSeries(trial, i)),
  );
  const inputs = data.task.inputs.map((input, i) =>
    chart(170, { label: withUnit(input), domain: [-1.08 * input.limit, 1.08 * input.limit] }, inputSeries(trial, i)),
  );
  return [...positions, ...inputs];
}

function trialPart(data, index) {
  const group = new Group(),
    trial = data.trials[index],
    { sentence, notes } = data.results[index];
  const player = new Player(trial, group),
    charts = trialCharts(data, index, group);
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
      ].filter(Boolean),
    ),
    el(
      "p",
      { class: "hint mouse" },
      "Drag to zoom, double-click for the full range, click to move the machine to that time.",
    ),
    el("p", { class: "hint touch" }, "Touch for values, spread two fingers to zoom."),
    chartGrid(charts, charts.length > 4 ? 2 : 1),
  );
  const remove = () => {
    player.remove();
    charts.forEach((chart) => chart.remove());
    host.remove();
  };
  return { host, player, remove };
}
