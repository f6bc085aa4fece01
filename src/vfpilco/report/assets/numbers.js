/* Packed arrays, numbers as text, and places for ticks. */

/* The values of an array that was packed to 16 bits a number, and its shape; NaN where there is none. */
function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer),
    values = new Float64Array(bytes.length / 2);
  for (let i = 0; i < values.length; i++) {
    const whole = view.getUint16(2 * i, true);
    values[i] = whole === 65535 ? NaN : packed.low + packed.step * whole;
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

function seconds(value) {
  return value < 120 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${(value / 60).toFixed(1)} min`;
}

const named = (channel) => (channel.unit ? `${channel.name} [${channel.unit}]` : channel.name);

/* Round numbers between low and high, about as many as asked for. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

/* Powers of ten between low and high, with 2 and 5 in between where there are few. */
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

const times = (count, step) => Array.from({ length: count }, (_, i) => i * step);
