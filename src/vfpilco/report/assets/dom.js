"use strict";
/* Creating elements. Text is always inserted as text: no name in a run is ever parsed as markup. */

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/* A section of the page: title, sentences, content. */
function section(id, title, sentences, ...content) {
  return el(
    "section",
    { id },
    el("h2", {}, title),
    (sentences || []).map((text) => el("p", { class: "sentence" }, text)),
    content,
  );
}

function legend(entries) {
  return el(
    "ul",
    { class: "legend" },
    entries.map(([style, name]) => el("li", {}, el("span", { class: `swatch ${style}` }), name)),
  );
}

/* Charts below each other, or in two columns on a wide screen. */
function chartGrid(charts, columns) {
  return el(
    "div",
    { class: columns > 1 ? "charts two" : "charts" },
    charts.map((chart) => chart.host),
  );
}

function table(head, rows, className) {
  const cell = (tag) => (content) => el(tag, {}, content === null || content === undefined ? "" : content);
  const hint = el("p", { class: "hint scrolls", hidden: true }, "Scroll the table sideways to see all columns →");
  const box = el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: className },
      el("thead", {}, el("tr", {}, head.map(cell("th")))),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, row.map(cell("td")))),
      ),
    ),
  );
  new ResizeObserver(() => (hint.hidden = box.scrollWidth <= box.clientWidth + 1)).observe(box);
  return el("div", {}, hint, box);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
