/* A run at a glance: numbers, learning curve, table of trials. */

const labelOf = (row, i, rows) => {
  if (row.kind === "policy") return `trial ${row.trial}`;
  const before = rows.slice(0, i + 1).filter((other) => other.kind !== "policy").length;
  return rows.filter((other) => other.kind !== "policy").length > 1 ? `exploration ${before}` : "exploration";
};
const predictedOf = (rows, name) => rows.map((row) => (row.predicted_cost ? row.predicted_cost[name] : NaN));
const wide = (values) => {
  const [low, high] = extent(values);
  return low > 0 && high / low > 40;
};

function tiles(data) {
  const policies = data.rows.filter((row) => row.kind === "policy"),
    first = policies.find((row) => row.success);
  const best = policies.length ? Math.min(...policies.map((row) => row.cost)) : null,
    last = data.rows[data.rows.length - 1];
  const spent = data.timings.reduce((sum, row) => sum + (row.seconds || 0), 0),
    span = data.trials[data.trials.length - 1];
  const experience = last.experience_s + span.sampling_time * (span.q[0].shape[0] - 1);
  const shown = [
    ["first success", first ? `trial ${first.trial}` : "not yet", first ? "good" : ""],
    ["best cost", best === null ? "–" : short(best), ""],
    ["trials", String(policies.length), ""],
    ["time on the machine", seconds(experience), ""],
    ["time in all", spent ? seconds(spent) : "–", ""],
  ];
  return el(
    "dl",
    { class: "tiles" },
    shown.map(([name, value, look]) => el("div", { class: look }, el("dt", {}, name), el("dd", {}, value))),
  );
}

/* -- learning ---------------------------------------------------------------------------------------------------- */

function learningCurve(data, press) {
  const { rows } = data,
    x = rows.map((_, i) => i),
    labels = rows.map(labelOf);
  const cost = rows.map((row) => row.cost),
    [low, mean, high] = ["low", "mean", "high"].map((name) => predictedOf(rows, name));
  const brief = (i) => (rows[i].kind === "policy" ? String(rows[i].trial) : rows.length > 8 ? "e" : "explore");
  return new Chart({
    height: 290,
    still: true,
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
  const measures = [...new Set(data.rows.flatMap((row) => Object.keys(row.measures || {})))],
    units = data.task.measures;
  const unit = (name) => (units[name] ? `${name} [${units[name]}]` : name);
  const head = [
    "",
    "data before [s]",
    "predicted cost",
    "95 % band",
    "real cost",
    ...measures.map(unit),
    "measured within band",
    "success",
  ];
  const rows = data.rows.map((row, i) => {
    const predicted = row.predicted_cost,
      told = row.measures || {},
      share = row.band_coverage;
    return [
      labelOf(row, i, data.rows),
      short(row.experience_s),
      predicted ? short(predicted.mean) : "",
      predicted ? `${short(predicted.low)} to ${short(predicted.high)}` : "",
      short(row.cost),
      ...measures.map((name) => short(told[name])),
      share === undefined || share === null ? "" : `${Math.round(100 * share)} %`,
      row.kind !== "policy" ? "" : row.success ? el("span", { class: "yes" }, "✓ yes") : "no",
    ];
  });
  return table(head, rows, "numbers");
}

function learningSection(data, press) {
  return section(
    "learning",
    "Learning curve",
    data.sentences.learning,
    legend([
      ["dot real", "real, success"],
      ["dot real hollow", "real, no success"],
      ["bar predicted", "predicted: mean and 95 % of the particles"],
    ]),
    learningCurve(data, press).host,
    trialsTable(data),
  );
}
