/* Runs and studies side by side. */

const COLOURS = 7;
const colourOf = (i) => `c${i % COLOURS}`;
const marked = (i, name) => el("span", {}, el("span", { class: `swatch dot ${colourOf(i)}` }), name);
const fromOne = (count) => times(count + 1, 1).slice(1);
const lastOf = (list) => list[list.length - 1];

/* How far configuration i stands beside the number of a trial. */
const shift = (i, count) => (count < 2 ? 0 : 0.5 * (i / (count - 1) - 0.5));

/* -- runs -------------------------------------------------------------------------------------------------------- */

function runCurve(run, i) {
  const rows = run.rows.filter((row) => row.kind === "policy");
  return {
    look: colourOf(i),
    name: run.name,
    x: rows.map((row) => row.trial),
    y: rows.map((row) => row.cost),
    full: rows.map((row) => row.success),
  };
}

function runsTable(runs, curves) {
  const differing = Object.keys(runs[0].differing);
  const head = ["run", "task", "seed", "trials", "success", "best cost", "last cost", "time", ...differing];
  const rows = runs.map((run, i) => {
    const costs = curves[i].y,
      said = (name) => (run.differing[name] === null ? "" : String(run.differing[name]));
    return [
      marked(i, run.name),
      run.task,
      run.seed,
      costs.length,
      run.first_success === null ? "no" : `from trial ${run.first_success}`,
      short(costs.length ? Math.min(...costs) : NaN),
      short(costs.length ? lastOf(costs) : NaN),
      run.seconds ? seconds(run.seconds) : "",
      ...differing.map(said),
    ];
  });
  return table(head, rows, "numbers");
}

function runsSentence(runs) {
  const solved = runs.filter((run) => run.first_success !== null);
  if (!solved.length) return `None of the ${runs.length} runs succeeded so far.`;
  const [first, last] = extent(solved.map((run) => run.first_success));
  const when = first === last ? `trial ${first}` : `trials ${first} to ${last}`;
  return `${solved.length} of ${runs.length} runs succeeded; the first success came at ${when}.`;
}

function runsSection(runs) {
  const curves = runs.map(runCurve),
    trials = Math.max(...curves.flatMap((one) => one.x), 1);
  const chart = new Chart({
    height: 320,
    still: true,
    x: { label: "trial", ticks: fromOne(trials), domain: [0.6, trials + 0.4], say: (k) => `trial ${k}` },
    y: { label: "real cost, summed over a trial", zero: true, log: wide(curves.flatMap((one) => one.y)) },
    series: curves.flatMap((one) => [
      { ...one, type: "line", name: "" },
      { ...one, type: "dots", size: 5 },
    ]),
  });
  return section(
    "runs",
    "Runs",
    [runsSentence(runs)],
    legend([...curves.map((one) => [`dot ${one.look}`, one.name]), ["dot quiet hollow", "no success"]]),
    chart.host,
    runsTable(runs, curves),
  );
}

/* -- studies ----------------------------------------------------------------------------------------------------- */

const rate = (trial) => (100 * trial.successes) / trial.runs;

/* A chart of one number of every configuration with its range; `of` gives low, middle and high of a trial. */
function studyChart(configurations, y, of) {
  const trials = Math.max(...configurations.map((one) => one.trials.length));
  const series = configurations.flatMap((one, i) => {
    const [low, middle, high] = of.map((part) => one.trials.map(part)),
      look = colourOf(i);
    const x = one.trials.map((_, k) => k + 1 + shift(i, configurations.length));
    return [
      { type: "bars", look, size: 5, x, y: x.map(() => NaN), low, high },
      { type: "line", look: `${look} thin`, x, y: middle },
      { type: "dots", look, name: one.name, size: 4, x, y: middle, low, high },
    ];
  });
  const x = {
    label: "trial",
    ticks: fromOne(trials),
    domain: [0.5, trials + 0.5],
    snap: Math.round,
    say: (k) => `trial ${Math.round(k)}`,
  };
  return new Chart({ height: 270, still: true, x, y, series });
}

function studySentence(one) {
  const last = lastOf(one.trials),
    costs = `${short(last.median)} (${short(last.low)} to ${short(last.high)})`;
  return `${one.name}: ${last.successes} of ${last.runs} runs succeeded at trial ${one.trials.length}, at a median cost of ${costs}.`;
}

function studySection(study) {
  const { configurations } = study,
    trials = Math.max(...configurations.map((one) => one.trials.length));
  const charts = [
    studyChart(configurations, { label: "success [%], 95 % interval", domain: [-3, 103] }, [
      (t) => 100 * t.interval[0],
      rate,
      (t) => 100 * t.interval[1],
    ]),
    studyChart(configurations, { label: "cost: median, 5 to 95 %", zero: true }, [
      (t) => t.low,
      (t) => t.median,
      (t) => t.high,
    ]),
  ];
  const head = ["configuration", "runs", ...fromOne(trials).map((k) => `success at ${k}`), "median cost at the end"];
  const rows = configurations.map((one, i) => [
    marked(i, one.name),
    one.runs,
    ...times(trials, 1).map((k) => (one.trials[k] ? `${Math.round(rate(one.trials[k]))} %` : "")),
    short(lastOf(one.trials).median),
  ]);
  return section(
    "study",
    `Study ${study.name}`,
    configurations.map(studySentence),
    legend(configurations.map((one, i) => [`dot ${colourOf(i)}`, one.name])),
    el(
      "div",
      { class: "charts two" },
      charts.map((chart) => chart.host),
    ),
    table(head, rows, "numbers"),
  );
}

function showComparison(data, host) {
  host.append(el("header", {}, el("p", { class: "brand" }, "vfpilco"), el("h1", {}, data.title)));
  if (data.runs.length) host.append(runsSection(data.runs));
  data.studies.forEach((study) => host.append(studySection(study)));
}
