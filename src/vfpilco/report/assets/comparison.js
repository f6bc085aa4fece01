/* Runs and studies side by side. */

const COLOURS = 7;
const shift = (i, count) => (count < 2 ? 0 : 0.5 * (i / (count - 1) - 0.5));

function runsSection(runs) {
  const trials = Math.max(...runs.flatMap((run) => run.rows.map((row) => row.trial || 0)), 1);
  const curves = runs.map((run, i) => {
    const rows = run.rows.filter((row) => row.kind === "policy");
    return { look: `c${i % COLOURS}`, name: run.name, x: rows.map((row) => row.trial), y: rows.map((row) => row.cost), full: rows.map((row) => row.success) };
  });
  const chart = new Chart({
    height: 320, still: true,
    x: { label: "trial", ticks: times(trials + 1, 1).slice(1), domain: [0.6, trials + 0.4], say: (k) => `trial ${k}` },
    y: { label: "real cost, summed over a trial", zero: true, log: wide(curves.flatMap((one) => one.y)) },
    series: curves.flatMap((one) => [{ ...one, type: "line", name: "" }, { ...one, type: "dots", size: 5 }]),
  });
  const differing = Object.keys(runs[0].differing);
  const rows = runs.map((run, i) => {
    const costs = curves[i].y;
    return [el("span", {}, el("span", { class: `swatch dot c${i % COLOURS}` }), run.name), run.task, run.seed, costs.length, run.first_success === null ? "no" : `from trial ${run.first_success}`,
      short(costs.length ? Math.min(...costs) : NaN), short(costs.length ? costs[costs.length - 1] : NaN), run.seconds ? seconds(run.seconds) : "", ...differing.map((name) => (run.differing[name] === null ? "" : String(run.differing[name])))];
  });
  return section("runs", "Runs", [runsSentence(runs)],
    legend([...curves.map((one) => [`dot ${one.look}`, one.name]), ["dot quiet hollow", "no success"]]), chart.host,
    table(["run", "task", "seed", "trials", "success", "best cost", "last cost", "time", ...differing], rows, "numbers"));
}

function runsSentence(runs) {
  const solved = runs.filter((run) => run.first_success !== null), first = solved.map((run) => run.first_success).sort((a, b) => a - b);
  if (!solved.length) return `None of the ${runs.length} runs succeeded so far.`;
  return `${solved.length} of ${runs.length} runs succeeded; the first success came at trial ${first[0]}${first[0] === first[first.length - 1] ? "" : ` to ${first[first.length - 1]}`}.`;
}

function studySection(study) {
  const { configurations } = study, count = configurations.length, trials = Math.max(...configurations.map((one) => one.trials.length));
  const axis = { label: "trial", ticks: times(trials + 1, 1).slice(1), domain: [0.5, trials + 0.5], snap: Math.round, format: (k) => String(k), say: (k) => `trial ${Math.round(k)}` };
  const series = (low, middle, high) => configurations.flatMap((one, i) => {
    const x = one.trials.map((_, k) => k + 1 + shift(i, count)), look = `c${i % COLOURS}`;
    return [{ type: "bars", look, size: 5, x, y: one.trials.map(() => NaN), low: one.trials.map(low), high: one.trials.map(high) },
      { type: "line", look: `${look} thin`, x, y: one.trials.map(middle) }, { type: "dots", look, name: one.name, size: 4, x, y: one.trials.map(middle), low: one.trials.map(low), high: one.trials.map(high) }];
  });
  const rate = (t) => 100 * t.successes / t.runs;
  const charts = [
    new Chart({ height: 270, still: true, x: axis, y: { label: "success [%], 95 % interval", domain: [-3, 103] }, series: series((t) => 100 * t.interval[0], rate, (t) => 100 * t.interval[1]) }),
    new Chart({ height: 270, still: true, x: axis, y: { label: "cost: median, 5 to 95 %", zero: true }, series: series((t) => t.low, (t) => t.median, (t) => t.high) }),
  ];
  const rows = configurations.map((one, i) => [el("span", {}, el("span", { class: `swatch dot c${i % COLOURS}` }), one.name), one.runs, ...one.trials.map((t) => `${Math.round(rate(t))} %`),
    short(one.trials[one.trials.length - 1].median)]);
  return section("study", `Study ${study.name}`, configurations.map((one) => {
    const last = one.trials[one.trials.length - 1];
    return `${one.name}: ${last.successes} of ${last.runs} runs succeeded at trial ${one.trials.length}, at a median cost of ${short(last.median)} (${short(last.low)} to ${short(last.high)}).`;
  }), legend(configurations.map((one, i) => [`dot c${i % COLOURS}`, one.name])), el("div", { class: "charts two" }, charts.map((chart) => chart.host)),
  table(["configuration", "runs", ...times(trials, 1).map((k) => `success at ${k + 1}`), "median cost at the end"], rows, "numbers"));
}

function showComparison(data, host) {
  host.append(el("header", {}, el("p", { class: "brand" }, "vfpilco"), el("h1", {}, data.title)));
  if (data.runs.length) host.append(runsSection(data.runs));
  data.studies.forEach((study) => host.append(studySection(study)));
}
