/* What was learned, and how: model, optimisation, policy, settings. */

function modelSection(data) {
  const rows = data.rows.filter((row) => row.model && row.model.one_step_error);
  if (!rows.length) return null;
  const x = rows.map((row) => row.trial),
    perSecond = data.method === "vf" ? "" : "/s";
  const charts = data.task.modelled.map((i, k) => {
    const position = data.task.positions[i],
      of = (name, j) => rows.map((row) => (row.model[name] ? row.model[name][j] : NaN) || NaN);
    const series = [
      { type: "line", look: "many", x, y: of("multi_step_error", i) },
      { type: "dots", look: "many", name: "10 samples ahead", x, y: of("multi_step_error", i), size: 4 },
      { type: "line", look: "one", x, y: of("one_step_error", i) },
      { type: "dots", look: "one", name: "1 sample ahead", x, y: of("one_step_error", i), size: 4 },
      { type: "line", look: "noise", name: `noise found${perSecond && ` [${position.unit}/s]`}`, x, y: of("noise", k) },
    ];
    return new Chart({
      height: 210,
      still: true,
      series,
      x: { label: "trial", ticks: x, domain: [x[0] - 0.4, x[x.length - 1] + 0.4], say: (t) => `trial ${t}` },
      y: { label: `error of ${named(position)}`, log: true },
    });
  });
  return section(
    "model",
    "Model",
    data.sentences.model,
    legend([
      ["dot many", "10 samples ahead"],
      ["dot one", "1 sample ahead"],
      ["line noise", perSecond ? "noise found on the change of speed" : "noise found on a change"],
    ]),
    el(
      "p",
      { class: "hint" },
      "Root mean square errors of the mean prediction on each trial, by the model that had not seen it.",
    ),
    el(
      "div",
      { class: "charts two" },
      charts.map((chart) => chart.host),
    ),
  );
}

function optimisationSection(data, index) {
  const curves = data.trials.flatMap(({ optimisation }, i) =>
    optimisation ? [{ i, trial: data.rows[i].trial, x: column(optimisation.step), y: column(optimisation.cost) }] : [],
  );
  if (!curves.length) return null;
  curves.sort((a, b) => (a.i === index) - (b.i === index)); // the chosen one on top
  const chart = new Chart({
    height: 250,
    x: { label: "gradient step", say: (step) => `step ${short(step)}` },
    y: { label: "expected cost, summed over a trial", log: wide(curves.flatMap((one) => one.y)) },
    series: curves.map(({ i, trial, x, y }) => ({
      type: "line",
      look: i === index ? "predicted" : "predicted other",
      x,
      y,
      name: i === index || curves.length < 8 ? `trial ${trial}` : "",
    })),
  });
  const hint =
    "Expected cost of the particles, dropout included, before each trial; the chosen trial's is the strong line.";
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
    host = el("div", { class: "charts two" }),
    bar = el("div");
  const show = (u) => {
    host.replaceChildren(...maps.map((map, i) => policyChart(map, positions[i], inputs[u], u).host));
    bar.replaceChildren(scaleBar(inputs[u]));
  };
  const chosen = { on: { change: (event) => show(Number(event.target.value)) } };
  const choose =
    inputs.length > 1 &&
    el(
      "label",
      { class: "choose" },
      "input ",
      el(
        "select",
        chosen,
        inputs.map((input, u) => el("option", { value: u }, input.name)),
      ),
    );
  show(0);
  const sentence =
    `What the policy of trial ${data.rows[index].trial} does at each position and speed, the other positions ` +
    "resting where the trial ended. The line is the trial itself.";
  return section("policy", "Policy", [sentence], choose, bar, host);
}

function aboutSection(data) {
  const { about } = data,
    list = (pairs) => table(["", ""], pairs, "plain");
  const copied = { click: () => navigator.clipboard && navigator.clipboard.writeText(about.command) };
  const settings = about.settings.map(([name, value, changed]) => [
    name,
    changed ? el("b", {}, String(value)) : String(value),
  ]);
  const machine = [...Object.entries(about.versions), ...Object.entries(about.machine)].map(([name, value]) => [
    name,
    String(value),
  ]);
  return section(
    "about",
    "How it was made",
    data.sentences.time,
    el(
      "div",
      { class: "command" },
      el("code", {}, about.command),
      el("button", { type: "button", class: "copy", on: copied }, "copy"),
    ),
    el(
      "details",
      {},
      el("summary", {}, "Settings"),
      el("p", { class: "hint" }, "Bold ones differ from the task's own."),
      list(settings),
    ),
    el("details", {}, el("summary", {}, "Versions and machine"), list(machine)),
  );
}
