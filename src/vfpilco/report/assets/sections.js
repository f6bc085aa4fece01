/* The parts of the page of a run. */

const labelOf = (row, i, rows) => {
  if (row.kind === "policy") return `trial ${row.trial}`;
  const before = rows.slice(0, i + 1).filter((other) => other.kind !== "policy").length;
  return rows.filter((other) => other.kind !== "policy").length > 1 ? `exploration ${before}` : "exploration";
};
const predictedOf = (rows, name) => rows.map((row) => (row.predicted_cost ? row.predicted_cost[name] : NaN));
const wide = (values) => { const [low, high] = extent(values); return low > 0 && high / low > 40; };

function tiles(data) {
  const policies = data.rows.filter((row) => row.kind === "policy"), first = policies.find((row) => row.success);
  const best = policies.length ? Math.min(...policies.map((row) => row.cost)) : null, last = data.rows[data.rows.length - 1];
  const spent = data.timings.reduce((sum, row) => sum + (row.seconds || 0), 0), span = data.trials[data.trials.length - 1];
  const experience = last.experience_s + span.sampling_time * (span.q[0].shape[0] - 1);
  const shown = [
    ["first success", first ? `trial ${first.trial}` : "not yet", first ? "good" : ""],
    ["best cost", best === null ? "–" : short(best), ""],
    ["trials", String(policies.length), ""],
    ["time on the machine", seconds(experience), ""],
    ["time in all", spent ? seconds(spent) : "–", ""],
  ];
  return el("dl", { class: "tiles" }, shown.map(([name, value, look]) =>
    el("div", { class: look }, el("dt", {}, name), el("dd", {}, value))));
}

/* -- learning ---------------------------------------------------------------------------------------------------- */

function learningCurve(data, press) {
  const { rows } = data, x = rows.map((_, i) => i), labels = rows.map(labelOf);
  const cost = rows.map((row) => row.cost), [low, mean, high] = ["low", "mean", "high"].map((name) => predictedOf(rows, name));
  const brief = (i) => (rows[i].kind === "policy" ? String(rows[i].trial) : rows.length > 8 ? "e" : "explore");
  return new Chart({
    height: 290, still: true,
    x: { label: "trial", ticks: x, domain: [-0.5, rows.length - 0.5], format: brief, say: (i) => labels[i] },
    y: { label: "cost, summed over a trial", zero: true, log: wide([...cost, ...low]) },
    series: [
      { type: "bars", look: "predicted", name: "predicted", x, y: mean, low, high, size: 16 },
      { type: "line", look: "real thin", x, y: cost },
      { type: "dots", look: "real", name: "real", x, y: cost, size: 6, full: rows.map((row) => row.success), press },
    ],
  });
}

function trialsTable(data) {
  const measures = [...new Set(data.rows.flatMap((row) => Object.keys(row.measures || {})))], units = data.task.measures;
  const unit = (name) => (units[name] ? `${name} [${units[name]}]` : name);
  const head = ["", "data before [s]", "predicted cost", "95 % band", "real cost", ...measures.map(unit), "measured within band", "success"];
  const rows = data.rows.map((row, i) => {
    const predicted = row.predicted_cost, told = row.measures || {}, share = row.band_coverage;
    return [
      labelOf(row, i, data.rows), short(row.experience_s),
      predicted ? short(predicted.mean) : "", predicted ? `${short(predicted.low)} to ${short(predicted.high)}` : "",
      short(row.cost), ...measures.map((name) => short(told[name])),
      share === undefined || share === null ? "" : `${Math.round(100 * share)} %`,
      row.kind !== "policy" ? "" : row.success ? el("span", { class: "yes" }, "✓ yes") : "no",
    ];
  });
  return table(head, rows, "numbers");
}

function learningSection(data, press) {
  return section("learning", "Learning curve", data.sentences.learning,
    legend([
      ["dot real", "real, success"], ["dot real hollow", "real, no success"],
      ["bar predicted", "predicted: mean and 95 % of the particles"],
    ]),
    learningCurve(data, press).host, trialsTable(data));
}

/* -- one trial --------------------------------------------------------------------------------------------------- */

function channelSeries(look, values, predicted, step, sampling, truth) {
  const series = [];
  if (predicted) {
    const bands = rowsOf(predicted.bands), t = times(bands[0].length, sampling);
    series.push({ type: "band", look: "predicted", name: "95 % of the particles", x: t, low: bands[0], high: bands[4] });
    series.push({ type: "band", look: "predicted half", name: "50 %", x: t, low: bands[1], high: bands[3] });
    for (const y of rowsOf(predicted.lines)) series.push({ type: "line", look: "predicted ghost", faint: true, step, x: t, y });
    series.push({ type: "line", look: "predicted", name: "their median", step, x: t, y: bands[2] });
  }
  const t = times(values.length, sampling);
  if (truth) series.push({ type: "line", look: `${look} thin`, name: "true", x: t, y: truth });
  if (step) series.push({ type: "line", look, name: "applied", step, x: t, y: values });
  else series.push({ type: "dots", look, name: "measured", x: t, y: values, size: values.length > 150 ? 1.6 : 2.3 });
  return series;
}

function trialCharts(data, index, group) {
  const trial = data.trials[index], { positions, inputs } = data.task, { predicted } = trial, sampling = trial.sampling_time;
  const longest = Math.max(...data.trials.map((one) => (one.q[0].shape[0] - 1) * one.sampling_time));
  const axis = { label: "time [s]", domain: [0, longest], say: (t) => `${t.toFixed(2)} s` }, charts = [];
  positions.forEach((position, i) => charts.push(new Chart({
    height: 190, group, follows: true, x: axis, y: { label: named(position) },
    series: channelSeries("real", column(trial.q[i]), predicted && predicted.q[i], false, sampling, trial.true && column(trial.true[i])),
  })));
  inputs.forEach((input, i) => charts.push(new Chart({
    height: 170, group, follows: true, x: axis, y: { label: named(input), domain: [-1.08 * input.limit, 1.08 * input.limit] },
    series: channelSeries("input", column(trial.u[i]), predicted && predicted.u[i], true, sampling),
  })));
  return charts;
}

function trialPart(data, index) {
  const group = new Group(), trial = data.trials[index], many = data.task.positions.length + data.task.inputs.length > 4;
  const player = new Player(trial, group), charts = trialCharts(data, index, group);
  const told = data.rows[index].notes || [];
  const host = el("div", { class: "trial" },
    el("p", { class: "say big" }, data.rows[index].sentence),
    told.map((note) => el("p", { class: "note" }, note)),
    player.host,
    el("h3", {}, trial.predicted ? "Measured over predicted" : "Measured"),
    legend([
      ["dot real", "measured"], trial.true && ["line real", "true"],
      trial.predicted && ["band predicted half", "50 % and 95 % of the particles, their median, some of them"],
      ["line input", "applied"],
    ].filter(Boolean)),
    el("p", { class: "hint mouse" }, "Drag to zoom, double-click for the whole range, click to move the machine there."),
    el("p", { class: "hint finger" }, "Touch for values, spread two fingers to zoom."),
    el("div", { class: many ? "charts two" : "charts" }, charts.map((chart) => chart.host)));
  return { host, remove: () => { player.remove(); charts.forEach((chart) => chart.remove()); host.remove(); }, player, charts };
}

/* -- what was learned -------------------------------------------------------------------------------------------- */

function modelSection(data) {
  const rows = data.rows.filter((row) => row.model && row.model.one_step_error);
  if (!rows.length) return null;
  const x = rows.map((row) => row.trial), perSecond = data.method === "vf" ? "" : "/s";
  const charts = data.task.modelled.map((i, k) => {
    const position = data.task.positions[i], of = (name, j) => rows.map((row) => (row.model[name] ? row.model[name][j] : NaN) || NaN);
    const series = [
      { type: "line", look: "many", x, y: of("multi_step_error", i) },
      { type: "dots", look: "many", name: "10 samples ahead", x, y: of("multi_step_error", i), size: 4 },
      { type: "line", look: "one", x, y: of("one_step_error", i) },
      { type: "dots", look: "one", name: "1 sample ahead", x, y: of("one_step_error", i), size: 4 },
      { type: "line", look: "noise", name: `noise found${perSecond && ` [${position.unit}/s]`}`, x, y: of("noise", k) },
    ];
    return new Chart({
      height: 210, still: true, series,
      x: { label: "trial", ticks: x, domain: [x[0] - 0.4, x[x.length - 1] + 0.4], say: (t) => `trial ${t}` },
      y: { label: `error of ${named(position)}`, log: true },
    });
  });
  return section("model", "Model", data.sentences.model,
    legend([
      ["dot many", "10 samples ahead"], ["dot one", "1 sample ahead"],
      ["line noise", perSecond ? "noise found on the change of speed" : "noise found on a change"],
    ]),
    el("p", { class: "hint" }, "Root mean square errors of the mean prediction on each trial, by the model that had not seen it."),
    el("div", { class: "charts two" }, charts.map((chart) => chart.host)));
}

function optimisationSection(data, index) {
  const curves = data.trials.flatMap(({ optimisation }, i) =>
    (optimisation ? [{ i, trial: data.rows[i].trial, x: column(optimisation.step), y: column(optimisation.cost) }] : []));
  if (!curves.length) return null;
  curves.sort((a, b) => (a.i === index) - (b.i === index)); // the chosen one on top
  const chart = new Chart({
    height: 250,
    x: { label: "gradient step", say: (step) => `step ${short(step)}` },
    y: { label: "expected cost, summed over a trial", log: wide(curves.flatMap((one) => one.y)) },
    series: curves.map(({ i, trial, x, y }) => ({
      type: "line", look: i === index ? "predicted" : "predicted other", x, y,
      name: i === index || curves.length < 8 ? `trial ${trial}` : "",
    })),
  });
  const hint = "Expected cost of the particles, dropout included, before each trial; the chosen trial's is the strong line.";
  return section("optimisation", "Optimisation", data.sentences.optimisation, el("p", { class: "hint" }, hint), chart.host);
}

function policySection(data, index) {
  const maps = data.trials[index].policy;
  if (!maps || !maps.length) return null;
  const { positions, inputs } = data.task, host = el("div", { class: "charts two" }), bar = el("div");
  const show = (u) => {
    host.replaceChildren(...maps.map((map, i) => policyChart(map, positions[i], inputs[u], u).host));
    bar.replaceChildren(scaleBar(inputs[u]));
  };
  const chosen = { on: { change: (event) => show(Number(event.target.value)) } };
  const choose = inputs.length > 1 && el("label", { class: "choose" }, "input ",
    el("select", chosen, inputs.map((input, u) => el("option", { value: u }, input.name))));
  show(0);
  const sentence = `What the policy of trial ${data.rows[index].trial} does at each position and speed, the other positions `
    + "resting where the trial ended. The line is the trial itself.";
  return section("policy", "Policy", [sentence], choose, bar, host);
}

function aboutSection(data) {
  const { about } = data, list = (pairs) => table(["", ""], pairs, "plain");
  const copied = { click: () => navigator.clipboard && navigator.clipboard.writeText(about.command) };
  const settings = about.settings.map(([name, value, changed]) => [name, changed ? el("b", {}, String(value)) : String(value)]);
  const machine = [...Object.entries(about.versions), ...Object.entries(about.machine)].map(([name, value]) => [name, String(value)]);
  return section("about", "How it was made", data.sentences.time,
    el("div", { class: "command" }, el("code", {}, about.command), el("button", { type: "button", class: "copy", on: copied }, "copy")),
    el("details", {}, el("summary", {}, "Settings"), el("p", { class: "hint" }, "Bold ones differ from the task's own."), list(settings)),
    el("details", {}, el("summary", {}, "Versions and machine"), list(machine)));
}
