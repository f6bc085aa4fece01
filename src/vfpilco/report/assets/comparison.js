/* Runs and studies side by side. */

const COLOURS = 7;
const colourOf = (i) => `c${i % COLOURS}`;
const withSwatch = (i, name) => el("span", {}, el("span", { class: `swatch dot ${colourOf(i)}` }), name);
const fromOne = (count) => multiples(count + 1, 1).slice(1);

/* The horizontal offset of configuration i, so that marks of the same trial do not overlap. */
const offset = (i, count) => (count < 2 ? 0 : 0.5 * (i / (count - 1) - 0.5));

/* -- runs -------------------------------------------------------------------------------------------------------- */

function runCurve(run, i) {
  return {
    style: colourOf(i),
    name: run.name,
    x: run.results.map((result) => result.trial),
    y: run.results.map((result) => result.cost),
    filled: run.results.map((result) => result.success),
  };
}

function runsTable(runs, curves) {
  const differing = Object.keys(runs[0].differing);
  const head = ["run", "task", "seed", "trials", "success", "best cost", "last cost", "time", ...differing];
  const rows = runs.map((run, i) => {
    const costs = curves[i].y;
    return [
      withSwatch(i, run.name),
      run.task,
      run.seed,
      costs.length,
      run.first_success === null ? "no" : `from trial ${run.first_success}`,
      short(costs.length ? Math.min(...costs) : NaN),
      short(lastOf(costs)),
      run.seconds ? seconds(run.seconds) : "",
      ...differing.map((name) => run.differing[name]),
    ];
  });
  return table(head, rows, "numbers");
}

function runsSentence(runs) {
  const solved = runs.filter((run) => run.first_success !== null);
  if (!solved.length) return `None of the ${runs.length} runs has succeeded yet.`;
  const [first, last] = extent(solved.map((run) => run.first_success));
  const when = first === last ? `trial ${first}` : `trials ${first} to ${last}`;
  return `${solved.length} of ${runs.length} runs succeeded; the first success came at ${when}.`;
}

function runsSection(runs) {
  const curves = runs.map(runCurve),
    trials = Math.max(...curves.flatMap((curve) => curve.x), 1);
  const chart = new Chart({
    height: 320,
    fixed: true,
    x: { label: "trial", ticks: fromOne(trials), domain: [0.6, trials + 0.4], title: (k) => `trial ${k}` },
    y: { label: "real cost, summed over a trial", zero: true, log: needsLog(curves.flatMap((curve) => curve.y)) },
    series: curves.flatMap((curve) => [
      { ...curve, type: "line", name: "" },
      { ...curve, type: "dots", size: 5 },
    ]),
  });
  return section(
    "runs",
    "Runs",
    [runsSentence(runs)],
    legend([...curves.map((curve) => [`dot ${curve.style}`, curve.name]), ["dot quiet hollow", "no success"]]),
    chart.host,
    runsTable(runs, curves),
  );
}

/* -- studies ----------------------------------------------------------------------------------------------------- */

const successRate = (trial) => (100 * trial.successes) / trial.runs;
const mostTrials = (configurations) => Math.max(...configurations.map(({ trials }) => trials.length));

/* A chart of one number of every configuration with its range; `parts` compute low, middle and high of a trial. */
function studyChart(configurations, y, parts) {
  const count = mostTrials(configurations);
  const series = configurations.flatMap(({ name, trials }, i) => {
    const [low, middle, high] = parts.map((part) => trials.map(part)),
      style = colourOf(i),
      x = trials.map((_, k) => k + 1 + offset(i, configurations.length));
    return [
      { type: "bars", style, size: 5, x, y: x.map(() => NaN), low, high },
      { type: "line", style: `${style} thin`, x, y: middle },
      { type: "dots", style, name, size: 4, x, y: middle, low, high },
    ];
  });
  const x = {
    label: "trial",
    ticks: fromOne(count),
    domain: [0.5, count + 0.5],
    snap: Math.round,
    title: (k) => `trial ${Math.round(k)}`,
  };
  return new Chart({ height: 270, fixed: true, x, y, series });
}

function studySentence({ name, trials }) {
  const last = lastOf(trials),
    costs = `${short(last.median)} (${range(last.low, last.high)})`;
  return (
    `${name}: ${last.successes} of ${last.runs} runs succeeded at trial ${trials.length}, at a median cost of ` +
    `${costs}.`
  );
}

function studySection({ name, configurations }) {
  const count = mostTrials(configurations);
  const charts = [
    studyChart(configurations, { label: "success [%], 95 % interval", domain: [-3, 103] }, [
      (trial) => 100 * trial.interval[0],
      successRate,
      (trial) => 100 * trial.interval[1],
    ]),
    studyChart(configurations, { label: "cost: median, 5 to 95 %", zero: true }, [
      (trial) => trial.low,
      (trial) => trial.median,
      (trial) => trial.high,
    ]),
  ];
  const head = ["configuration", "runs", ...fromOne(count).map((k) => `success at ${k}`), "median cost at the end"];
  const rows = configurations.map(({ name: own, runs, trials }, i) => [
    withSwatch(i, own),
    runs,
    ...multiples(count, 1).map((k) => (trials[k] ? `${Math.round(successRate(trials[k]))} %` : "")),
    short(lastOf(trials).median),
  ]);
  return section(
    "study",
    `Study ${name}`,
    configurations.map(studySentence),
    legend(configurations.map((configuration, i) => [`dot ${colourOf(i)}`, configuration.name])),
    chartGrid(charts, 2),
    table(head, rows, "numbers"),
  );
}

function showComparison(data, host) {
  host.append(el("header", {}, el("p", { class: "brand" }, "vfpilco"), el("h1", {}, data.title)));
  if (data.runs.length) host.append(runsSection(data.runs));
  data.studies.forEach((study) => host.append(studySection(study)));
}
