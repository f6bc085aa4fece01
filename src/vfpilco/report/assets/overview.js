/* A run at a glance: numbers, learning curve, table of trials. */

const isPolicy = (result) => result.kind === "policy";

const labelOf = (result, i, results) => {
  if (isPolicy(result)) return `trial ${result.trial}`;
  const count = (some) => some.filter((other) => !isPolicy(other)).length;
  return count(results) > 1 ? `exploration ${count(results.slice(0, i + 1))}` : "exploration";
};

function tiles(data) {
  const policies = data.results.filter(isPolicy),
    first = policies.find((result) => result.success);
  const best = policies.length ? Math.min(...policies.map((result) => result.cost)) : null,
    spent = data.timings.reduce((sum, timing) => sum + (timing.seconds || 0), 0),
    last = lastOf(data.trials);
  const onMachine = lastOf(data.results).experience_s + last.sampling_time * (last.q[0].shape[0] - 1);
  const shown = [
    ["first success", first ? `trial ${first.trial}` : "not yet", first ? "good" : ""],
    ["best cost", short(best), ""],
    ["trials", String(policies.length), ""],
    ["time on the machine", seconds(onMachine), ""],
    ["total time", spent ? seconds(spent) : "–", ""],
  ];
  return el(
    "dl",
    { class: "tiles" },
    shown.map(([name, value, style]) => el("div", { class: style }, el("dt", {}, name), el("dd", {}, value))),
  );
}

/* -- learning ---------------------------------------------------------------------------------------------------- */

function learningCurve(data, onClick) {
  const { results } = data,
    x = results.map((_, i) => i),
    labels = results.map(labelOf),
    cost = results.map((result) => result.cost),
    filled = results.map((result) => result.success);
  const [low, mean, high] = ["low", "mean", "high"].map((name) =>
    results.map(({ predicted_cost: predicted }) => (predicted ? predicted[name] : NaN)),
  );
  const tick = (i) => (isPolicy(results[i]) ? String(results[i].trial) : results.length > 8 ? "e" : "explore");
  return new Chart({
    height: 290,
    fixed: true,
    x: { label: "trial", ticks: x, domain: [-0.5, results.length - 0.5], format: tick, title: (i) => labels[i] },
    y: { label: "cost, summed over a trial", zero: true, log: needsLog([...cost, ...low]) },
    series: [
      { type: "bars", style: "predicted", name: "predicted", x, y: mean, low, high, size: 16 },
      { type: "line", style: "real thin", x, y: cost },
      { type: "dots", style: "real", name: "real", x, y: cost, size: 6, filled, onClick },
    ],
  });
}

const percentOf = (share) => (Number.isFinite(share) ? `${Math.round(100 * share)} %` : "");

function trialsTable(data) {
  const { results } = data,
    units = data.task.measures,
    names = [...new Set(results.flatMap((result) => Object.keys(result.measures || {})))],
    chances = results.some((result) => Number.isFinite(result.success_chance)),
    risky = results.some((result) => result.risk && result.risk.ranges);
  const head = [
    "",
    "learned from [s]",
    "predicted cost",
    "95 % band",
    "real cost",
    ...names.map((name) => withUnit({ name, unit: units[name] })),
    "trajectory in band",
    ...(chances ? ["predicted success"] : []),
    ...(risky ? ["predicted to leave safe range"] : []),
    "success",
  ];
  const rows = results.map((result, i) => {
    const predicted = result.predicted_cost,
      measures = result.measures || {},
      coverage = result.band_coverage;
    return [
      labelOf(result, i, results),
      short(result.experience_s),
      predicted ? short(predicted.mean) : "",
      predicted ? range(predicted.low, predicted.high) : "",
      short(result.cost),
      ...names.map((name) => short(measures[name])),
      percentOf(coverage),
      ...(chances ? [percentOf(result.success_chance)] : []),
      ...(risky ? [percentOf(result.risk ? result.risk.leaving : NaN)] : []),
      !isPolicy(result) ? "" : result.success ? el("span", { class: "yes" }, "✓ yes") : "no",
    ];
  });
  return table(head, rows, "numbers");
}

function learningSection(data, onClick) {
  return section(
    "learning",
    "Learning curve",
    data.sentences.learning,
    legend([
      ["dot real", "real, success"],
      ["dot real hollow", "real, no success"],
      ["bar predicted", "predicted: mean and 95 % of the particles"],
    ]),
    learningCurve(data, onClick).host,
    trialsTable(data),
  );
}
