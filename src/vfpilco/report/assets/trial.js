/* One trial: the machine in motion, positions and inputs over what was predicted. */

function channelSeries(look, values, predicted, step, sampling, truth) {
  const series = [];
  if (predicted) {
    const bands = rowsOf(predicted.bands),
      t = times(bands[0].length, sampling);
    series.push({
      type: "band",
      look: "predicted",
      name: "95 % of the particles",
      x: t,
      low: bands[0],
      high: bands[4],
    });
    series.push({ type: "band", look: "predicted half", name: "50 %", x: t, low: bands[1], high: bands[3] });
    for (const y of rowsOf(predicted.lines))
      series.push({ type: "line", look: "predicted ghost", faint: true, step, x: t, y });
    series.push({ type: "line", look: "predicted", name: "their median", step, x: t, y: bands[2] });
  }
  const t = times(values.length, sampling);
  if (truth) series.push({ type: "line", look: `${look} thin`, name: "true", x: t, y: truth });
  if (step) series.push({ type: "line", look, name: "applied", step, x: t, y: values });
  else series.push({ type: "dots", look, name: "measured", x: t, y: values, size: values.length > 150 ? 1.6 : 2.3 });
  return series;
}

function trialCharts(data, index, group) {
  const trial = data.trials[index],
    { positions, inputs } = data.task,
    { predicted } = trial,
    sampling = trial.sampling_time;
  const longest = Math.max(...data.trials.map((one) => (one.q[0].shape[0] - 1) * one.sampling_time));
  const axis = { label: "time [s]", domain: [0, longest], say: (t) => `${t.toFixed(2)} s` },
    charts = [];
  positions.forEach((position, i) =>
    charts.push(
      new Chart({
        height: 190,
        group,
        follows: true,
        x: axis,
        y: { label: named(position) },
        series: channelSeries(
          "real",
          column(trial.q[i]),
          predicted && predicted.q[i],
          false,
          sampling,
          trial.true && column(trial.true[i]),
        ),
      }),
    ),
  );
  inputs.forEach((input, i) =>
    charts.push(
      new Chart({
        height: 170,
        group,
        follows: true,
        x: axis,
        y: { label: named(input), domain: [-1.08 * input.limit, 1.08 * input.limit] },
        series: channelSeries("input", column(trial.u[i]), predicted && predicted.u[i], true, sampling),
      }),
    ),
  );
  return charts;
}

function trialPart(data, index) {
  const group = new Group(),
    trial = data.trials[index],
    many = data.task.positions.length + data.task.inputs.length > 4;
  const player = new Player(trial, group),
    charts = trialCharts(data, index, group);
  const told = data.rows[index].notes || [];
  const host = el(
    "div",
    { class: "trial" },
    el("p", { class: "say big" }, data.rows[index].sentence),
    told.map((note) => el("p", { class: "note" }, note)),
    player.host,
    el("h3", {}, trial.predicted ? "Measured over predicted" : "Measured"),
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
      "Drag to zoom, double-click for the whole range, click to move the machine there.",
    ),
    el("p", { class: "hint finger" }, "Touch for values, spread two fingers to zoom."),
    el(
      "div",
      { class: many ? "charts two" : "charts" },
      charts.map((chart) => chart.host),
    ),
  );
  return {
    host,
    remove: () => {
      player.remove();
      charts.forEach((chart) => chart.remove());
      host.remove();
    },
    player,
    charts,
  };
}
