/* Building the page, and keeping it up to date while a run learns. */

const REFRESH = 4000; // milliseconds between two reloads while a run learns

/* What has to survive a reload. */
const saved = {
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
      /* Some browsers store nothing for local files. */
    }
  },
};

/* The trial to show first: the one in the address, which makes links to a trial possible, or the last selection. */
function initialTrial(data) {
  const linked = /^#execution-(\d+)$/.exec(location.hash),
    state = saved.read();
  const index = linked ? Number(linked[1]) : data.live && state.latest ? NaN : Number(state.index);
  return index >= 0 && index < data.trials.length ? index : data.trials.length - 1;
}

/* What a run that learns is doing, and the progress of its optimisation. */
function liveStatus({ text, curve }) {
  const chart =
    curve &&
    new Chart({
      height: 190,
      fixed: true,
      x: { label: "gradient step" },
      y: { label: "expected cost now" },
      series: [
        { type: "line", style: "predicted", name: "expected cost", x: column(curve.step), y: column(curve.cost) },
      ],
    });
  return el("div", { class: "status" }, el("p", { class: "live" }, el("i"), text), chart && chart.host);
}

function heading(data) {
  return el(
    "header",
    {},
    el("p", { class: "brand" }, "vfpilco"),
    el("h1", {}, data.task.name),
    el("p", { class: "sub" }, data.task.summary),
    el("p", { class: "sub small" }, data.details),
    data.live && liveStatus(data.live),
  );
}

/* The part of the page that shows one trial at a time. */
class TrialView {
  constructor(data) {
    this.data = data;
    this.shown = null;
    this.index = 0;
    this.place = el("section", { id: "trials" });
    this.sections = el("div");
    this.tabs = el("div", { class: "switch", role: "tablist", "aria-label": "trial" }, data.results.map(this.tab, this));
    this.host = el("div", { class: "trialwise" }, el("h2", {}, "Trial by trial"), this.tabs, this.place, this.sections);
  }

  tab(result, i, results) {
    const attributes = {
      type: "button",
      role: "tab",
      class: result.success && isPolicy(result) ? "success" : "",
      on: { click: () => this.select(i) },
    };
    return el("button", attributes, labelOf(result, i, results));
  }

  /* Show a trial that the reader selected, and put it into the address. */
  select(index) {
    this.show(index);
    history.replaceState(null, "", `#execution-${index}`);
  }

  show(index) {
    const { data } = this;
    if (this.shown) this.shown.remove();
    this.index = index;
    this.shown = trialPart(data, index);
    this.place.replaceChildren(this.shown.host);
    this.sections.replaceChildren(
      ...[policySection(data, index), modelSection(data), optimisationSection(data, index)].filter(Boolean),
    );
    [...this.tabs.children].forEach((tab, i) => tab.setAttribute("aria-selected", i === index));
    saved.write({ ...saved.read(), index, latest: index === data.trials.length - 1 });
    this.shown.player.paint();
  }

  /* Scroll the tabs until the selected one is visible. */
  revealTab() {
    this.tabs.scrollLeft = Math.max(0, this.tabs.children[this.index].offsetLeft - this.tabs.clientWidth / 2);
  }
}

function showRun(data, host) {
  host.append(heading(data));
  if (!data.results.length) return;
  const view = new TrialView(data);
  const selectAndScroll = (i) => {
    view.select(i);
    view.host.scrollIntoView({ behavior: "smooth" });
  };
  host.append(
    el("p", { class: "sentence lead" }, data.sentences.summary.join(" ")),
    tiles(data),
    learningSection(data, selectAndScroll),
    view.host,
    timingSection(data) || "",
    aboutSection(data),
    el("footer", {}, data.run),
  );
  view.show(initialTrial(data));
  view.revealTab();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.show(view.index));
}

/* -- reloading --------------------------------------------------------------------------------------------------- */

function restoreScroll() {
  const { scroll, ...state } = saved.read();
  if (scroll === undefined) return;
  saved.write(state);
  requestAnimationFrame(() => window.scrollTo(0, scroll));
}

function reloadLater() {
  history.scrollRestoration = "manual";
  setTimeout(() => {
    saved.write({ ...saved.read(), scroll: window.scrollY });
    location.reload();
  }, REFRESH);
}

(function main() {
  const data = JSON.parse(document.getElementById("data").textContent),
    host = document.getElementById("page");
  host.replaceChildren();
  (data.kind === "run" ? showRun : showComparison)(data, host);
  restoreScroll();
  if (data.live) reloadLater();
})();
