/* Packed arrays, numbers as text, and positions of ticks. */

/* The values of an array that was packed to 16 bits per number, and its shape; NaN where a value is missing. */
function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer),
    values = new Float64Array(bytes.length / 2);
  for (let i = 0; i < values.length; i++) {
    const code = view.getUint16(2 * i, true);
    values[i] = code === 65535 ? NaN : packed.low + packed.step * code;
  }
  return { shape: packed.shape, values };
}

const column = (packed) => Array.from(unpack(packed).values);

/* The rows of a packed matrix. */
function rowsOf(packed) {
  const { shape, values } = unpack(packed);
  return Array.from({ length: shape[0] }, (_, i) => Array.from(values.subarray(i * shape[1], (i + 1) * shape[1])));
}

/* A number with about three digits. */
function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace(".0e", "e").replace("+", "");
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}

const range = (low, high) => `${short(low)} to ${short(high)}`;

function seconds(value) {
  return value < 120 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${(value / 60).toFixed(1)} min`;
}

const withUnit = (channel) => (channel.unit ? `${channel.name} [${channel.unit}]` : channel.name);

/* Round numbers between low and high, about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

/* Powers of ten between low and high, with multiples of them if there are few. */
function logTicks(low, high) {
  const found = [],
    decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const factor of factors) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      if (value >= low && value <= high) found.push(value);
    }
  return found;
}

function extent(values) {
  let low = Infinity,
    high = -Infinity;
  for (const value of values)
    if (Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  return low > high ? [0, 1] : [low, high];
}

/* Whether positive values differ so much that a logarithmic axis shows them better. */
function needsLog(values) {
  const [low, high] = extent(values);
  return low > 0 && high / low > 40;
}

const multiples = (count, step) => Array.from({ length: count }, (_, i) => i * step);
const lastOf = (list) => list[list.length - 1];
