/* What was learned, and how: model, optimisation, policy, settings. */

function modelSection(data) {
  const results = data.results.filter((result) => result.model && result.model.one_step_error);
  if (!results.length) return null;
  const x = results.map((result) => result.trial);
  const noise = data.velocities ? "noise of a velocity change" : "noise of a position change";
  const charts = data.task.modelled.map((i, k) => {
    const position = data.task.positions[i],
      unit = data.velocities ? ` [${position.unit}/s]` : "",
      of = (name, j) => results.map(({ model }) => (model[name] ? model[name][j] : NaN) || NaN);
    const errors = [
      ["many", "10 samples ahead", of("multi_step_error", i)],
      ["one", "1 sample ahead", of("one_step_error", i)],
    ];
    const series = errors.flatMap(([style, name, y]) => [
      { type: "line", style, x, y },
      { type: "dots", style, name, x, y, size: 4 },
    ]);
    return new Chart({
      height: 210,
      fixed: true,
      series: [...series, { type: "line", style: "noise", name: noise + unit, x, y: of("noise", k) }],
      x: { label: "trial", ticks: x, domain: [x[0] - 0.4, lastOf(x) + 0.4], title: (t) => `trial ${t}` },
      y: { label: `error of ${withUnit(position)}`, log: true },
    });
  });
  return section(
    "model",
    "Model",
    data.sentences.model,
    legend([
      ["dot many", "10 samples ahead"],
      ["dot one", "1 sample ahead"],
      ["line noise", `${noise}, as estimated`],
    ]),
    el(
      "p",
      { class: "hint" },
      "Root mean square errors of the mean prediction on each trial, by the model that had not seen it.",
    ),
    chartGrid(charts, 2),
  );
}

function optimisationSection(data, index) {
  const curves = data.trials.flatMap(({ optimisation }, i) =>
    optimisation
      ? [{ i, trial: data.results[i].trial, x: column(optimisation.step), y: column(optimisation.cost) }]
      : [],
  );
  if (!curves.length) return null;
  curves.sort((a, b) => (a.i === index) - (b.i === index)); // the selected trial on top
  const chart = new Chart({
    height: 250,
    x: { label: "gradient step", title: (step) => `step ${short(step)}` },
    y: { label: "expected cost, summed over a trial", log: needsLog(curves.flatMap((curve) => curve.y)) },
    series: curves.map(({ i, trial, x, y }) => ({
      type: "line",
      style: i === index ? "predicted" : "predicted other",
      x,
      y,
      name: i === index || curves.length < 8 ? `trial ${trial}` : "",
    })),
  });
  const hint = "Expected cost of the particles, with dropout, before each trial; the selected trial is highlighted.";
  return section(
    "optimisation",
    "Optimisation",
    data.sentences.optimisation,
    el("p", { class: "hint" }, hint),
    chart.host,
  );
}

function policySection(data, index) {
  const maps = data.trials[index].policy;
  if (!maps || !maps.length) return null;
  const { positions, inputs } = data.task,
    charts = el("div"),
    bar = el("div");
  const show = (u) => {
    charts.replaceChildren(
      chartGrid(
        maps.map((map, i) => policyChart(map, positions[i], inputs[u], u)),
        2,
      ),
    );
    bar.replaceChildren(scaleBar(inputs[u]));
  };
  const choice =
    inputs.length > 1 &&
    el(
      "label",
      { class: "choice" },
      "input ",
      el(
        "select",
        { on: { change: (event) => show(Number(event.target.value)) } },
        inputs.map((input, u) => el("option", { value: u }, input.name)),
      ),
    );
  show(0);
  const lines = legend(
    [
      ["line ink", "the trial"],
      positions.some(({ target }) => target) && ["line target", "target"],
      positions.some(({ safe }) => safe) && ["line limit", "safe range"],
    ].filter(Boolean),
  );
  const sentence =
    `The input that the policy of trial ${data.results[index].trial} applies at each position and speed, with the ` +
    "other positions at rest where the trial ended. The colours end at the limits of the input.";
  return section("policy", "Policy", [sentence], choice, bar, lines, charts);
}

/* How punctual the samples were, of a machine that was driven in real time. */
function timingSection(data) {
  const timed = data.timings.filter((timing) => Number.isFinite(timing.late_share)),
    milliseconds = (value) => (Number.isFinite(value) ? short(1e3 * value) : "–");
  if (!timed.length) return null;
  const head = ["", "late samples", "latest [ms]", "controller, median [ms]", "controller, longest [ms]"];
  const rows = timed.map((timing) => [
    timing.trial ? `trial ${timing.trial}` : "exploration",
    `${(100 * timing.late_share).toFixed(1)} %`,
    milliseconds(timing.latest_s),
    milliseconds(timing.computing_median_s),
    milliseconds(timing.computing_longest_s),
  ]);
  return section("timing", "Timing", data.sentences.timing, table(head, rows, "numbers"));
}

function aboutSection(data) {
  const { command, settings, versions, computer } = data.about,
    list = (pairs) => table(["", ""], pairs, "plain");
  const copy = { click: () => navigator.clipboard && navigator.clipboard.writeText(command) };
  const origin = Object.entries({ ...versions, ...computer }).map(([name, value]) => [name, String(value)]);
  return section(
    "about",
    "How to repeat this run",
    data.sentences.time,
    el(
      "div",
      { class: "command" },
      el("code", {}, command),
      el("button", { type: "button", class: "copy", on: copy }, "copy"),
    ),
    el(
      "details",
      {},
      el("summary", {}, "Settings"),
      el("p", { class: "hint" }, "Settings in bold differ from the defaults of the task."),
      list(settings.map(([name, text, changed]) => [name, changed ? el("b", {}, text) : text])),
    ),
    el("details", {}, el("summary", {}, "Versions and computer"), list(origin)),
  );
}
