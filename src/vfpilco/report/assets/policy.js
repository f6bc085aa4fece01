/* Maps of a policy: an input over a position and its speed. */

/* A colour between the two ends of the scale, through the background in the middle. */
function shade(share, ends) {
  const part = Math.min(Math.abs(share), 1) ** 0.8,
    end = share < 0 ? ends[0] : ends[2];
  return end.map((value, i) => Math.round(ends[1][i] * (1 - part) + value * part));
}

const hex = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

function picture(packed, limit) {
  const {
      shape: [rows, columns],
      values,
    } = unpack(packed),
    canvas = el("canvas", { width: columns, height: rows });
  const pen = canvas.getContext("2d"),
    image = pen.createImageData(columns, rows);
  const ends = [hex(css("--low")), hex(css("--middle")), hex(css("--high"))];
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      const [r, g, b] = shade(values[i * columns + j] / limit, ends),
        at = 4 * ((rows - 1 - i) * columns + j);
      image.data.set([r, g, b, 255], at);
    }
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

function policyChart(map, position, input, u) {
  const {
      shape: [rows, columns],
      values,
    } = unpack(map.u[u]),
    [px, py] = map.path.map(column);
  const speed = `${position.unit}/s`;
  const probe = (x, y) => {
    const j = Math.round(((x - map.x[0]) / (map.x[1] - map.x[0])) * (columns - 1)),
      i = Math.round(((y - map.y[0]) / (map.y[1] - map.y[0])) * (rows - 1));
    if (i < 0 || j < 0 || i >= rows || j >= columns) return null;
    return {
      title: `${position.name} ${short(x)} ${position.unit}, ${short(y)} ${speed}`,
      values: [["input", input.name, `${short(values[i * columns + j])} ${input.unit}`]],
    };
  };
  return new Chart({
    height: 270,
    still: true,
    probe,
    x: { label: named(position), domain: map.x },
    y: { label: `speed of ${position.name} [${speed}]`, domain: map.y },
    series: [
      { type: "image", href: picture(map.u[u], input.limit), x: map.x, y: map.y },
      { type: "line", look: "ink", x: px, y: py },
      { type: "dots", look: "ink", x: px.slice(-1), y: py.slice(-1), size: 4 },
    ],
  });
}

function scaleBar(input) {
  return el(
    "div",
    { class: "scalebar" },
    el("span", {}, `−${short(input.limit)}`),
    el("i"),
    el("span", {}, `+${short(input.limit)} ${input.unit}`),
  );
}
