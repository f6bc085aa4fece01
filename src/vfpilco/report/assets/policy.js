/* Maps of a policy: an input over a position and its speed. */

/* A colour between the two ends of the scale; its middle is the background. */
function shade(share, ends) {
  const part = Math.min(Math.abs(share), 1) ** 0.8,
    end = share < 0 ? ends[0] : ends[2];
  return end.map((value, i) => Math.round(ends[1][i] * (1 - part) + value * part));
}

const parseColour = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

function mapImage({ shape: [rows, columns], values }, limit) {
  const canvas = el("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d"),
    image = context.createImageData(columns, rows);
  const ends = ["--low", "--middle", "--high"].map((name) => parseColour(css(name)));
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      const [r, g, b] = shade(values[i * columns + j] / limit, ends),
        at = 4 * ((rows - 1 - i) * columns + j);
      image.data.set([r, g, b, 255], at);
    }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/* Where a position should be after some samples, and how far it may go, as far as a map shows it. */
function uprights({ target, angle, safe }, [low, high], samples) {
  const goal = target ? lastOf(column(target).slice(0, samples)) : NaN,
    turn = 2 * Math.PI,
    lines = (safe || []).map((place) => ["limit", place]);
  const [first, last] = angle ? [Math.ceil((low - goal) / turn), Math.floor((high - goal) / turn)] : [0, 0];
  for (let k = first; k <= last; k++) lines.push(["target", goal + k * turn]);
  return lines
    .filter(([, place]) => Number.isFinite(place) && place >= low && place <= high)
    .map(([style, place]) => ({ type: "upright", style, place, x: [] }));
}

function policyChart(map, position, input, u) {
  const unpacked = unpack(map.u[u]),
    [rows, columns] = unpacked.shape,
    [x, y] = map.path.map(column);
  const speedUnit = `${position.unit}/s`;
  const indexOf = (value, [low, high], count) => Math.round(((value - low) / (high - low)) * (count - 1));
  const probe = (at, speed) => {
    const j = indexOf(at, map.x, columns),
      i = indexOf(speed, map.y, rows);
    if (i < 0 || j < 0 || i >= rows || j >= columns) return null;
    return {
      title: `${position.name} ${short(at)} ${position.unit}, ${short(speed)} ${speedUnit}`,
      values: [["input", input.name, `${short(unpacked.values[i * columns + j])} ${input.unit}`]],
    };
  };
  return new Chart({
    height: 270,
    fixed: true,
    probe,
    x: { label: withRange(position), domain: map.x },
    y: { label: `speed of ${position.name} [${speedUnit}]`, domain: map.y },
    series: [
      { type: "image", href: mapImage(unpacked, input.limit), x: map.x, y: map.y },
      ...uprights(position, map.x, x.length),
      { type: "line", style: "ink", x, y },
      { type: "dots", style: "ink", x: x.slice(-1), y: y.slice(-1), size: 4 },
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
