/* Putting the page together, and keeping it up to date while a run learns. */

const REFRESH = 4000; // milliseconds between looks at a run that learns

const remembered = {
  key: `vfpilco ${location.pathname}`,
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key)) || {};
    } catch {
      return {};
    }
  },
  write(state) {
    try {
      sessionStorage.setItem(this.key, JSON.stringify(state));
    } catch {
      /* Some browsers keep nothing of local files. */
    }
  },
};

/* The chosen trial stands in the address too, so that a link leads to it. */
function chosenAtFirst(data) {
  const asked = /^#execution-(\d+)$/.exec(location.hash),
    state = remembered.read();
  const index = asked ? Number(asked[1]) : data.live && state.latest ? NaN : Number(state.index);
  return index >= 0 && index < data.trials.length ? index : data.trials.length - 1;
}

/* What a run that learns is doing, and how far its policy has come. */
function liveNow(live) {
  const curve =
    live.curve &&
    new Chart({
      height: 190,
      still: true,
      x: { label: "gradient step" },
      y: { label: "expected cost now" },
      series: [
        {
          type: "line",
          look: "predicted",
          name: "expected cost",
          x: column(live.curve.step),
          y: column(live.curve.cost),
        },
      ],
    });
  return el("div", { class: "now" }, el("p", { class: "live" }, el("i"), live.text), curve && curve.host);
}

function heading(data) {
  return el(
    "header",
    {},
    el("p", { class: "brand" }, "vfpilco"),
    el("h1", {}, data.task.name),
    el("p", { class: "sub" }, data.task.summary),
    el("p", { class: "sub small" }, data.details),
    data.live && liveNow(data.live),
  );
}

function showRun(data, host) {
  if (!data.rows.length) {
    host.append(heading(data));
    return;
  }
  const place = el("div", { class: "chosen" }),
    later = el("div"),
    switches = el("div", { class: "switch", role: "tablist", "aria-label": "trial" });
  let shown = null,
    current = 0;
  const choose = (index, told) => {
    if (shown) shown.remove();
    current = index;
    shown = trialPart(data, index);
    place.replaceChildren(shown.host);
    later.replaceChildren(
      ...[policySection(data, index), modelSection(data), optimisationSection(data, index)].filter(Boolean),
    );
    [...switches.children].forEach((button, i) => button.setAttribute("aria-selected", i === index));
    remembered.write({ ...remembered.read(), index, latest: index === data.trials.length - 1 });
    if (told) history.replaceState(null, "", `#execution-${index}`);
    shown.player.paint();
  };
  switches.append(
    ...data.rows.map((row, i) =>
      el(
        "button",
        {
          type: "button",
          role: "tab",
          class: row.success && row.kind === "policy" ? "success" : "",
          on: { click: () => choose(i, true) },
        },
        labelOf(row, i, data.rows),
      ),
    ),
  );
  host.append(
    heading(data),
    el("p", { class: "say lead" }, data.sentences.summary.join(" ")),
    tiles(data),
    learningSection(data, (i) => {
      choose(i, true);
      document.querySelector(".trialwise").scrollIntoView({ behavior: "smooth" });
    }),
    el(
      "div",
      { class: "trialwise" },
      el("h2", {}, "Trial by trial"),
      switches,
      el("section", { id: "trials" }, place),
      later,
    ),
    aboutSection(data),
    el("footer", {}, data.run),
  );
  choose(chosenAtFirst(data), false);
  switches.scrollLeft = Math.max(0, switches.children[current].offsetLeft - switches.clientWidth / 2);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose(current, false));
}

/* After a page has looked again, it is where it was. */
function comeBack() {
  const { scroll, ...state } = remembered.read();
  if (scroll === undefined) return;
  remembered.write(state);
  requestAnimationFrame(() => window.scrollTo(0, scroll));
}

function lookAgain() {
  history.scrollRestoration = "manual";
  setTimeout(() => {
    remembered.write({ ...remembered.read(), scroll: window.scrollY });
    location.reload();
  }, REFRESH);
}

(function main() {
  const data = JSON.parse(document.getElementById("data").textContent),
    host = document.getElementById("page");
  host.replaceChildren();
  (data.kind === "run" ? showRun : showComparison)(data, host);
  comeBack();
  if (data.live) lookAgain();
})();
