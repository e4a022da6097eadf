// Tensors of a safetensors file, which is untrusted: its header is checked before anything is read.

import { check } from "./errors.js";

const BYTES = { F64: 8, F32: 4, F16: 2, I8: 1 };
const LARGEST = 1e6; // the largest plausible weight, as in runtime/tensors.py
const SCALE = "_scale";

/** The tensors of a file by name: {dtype, shape, bytes}. */
export function readTensors(file) {
  const damaged = (holds, why) => check(holds, `model.safetensors is not a safetensors file (${why}); copy or train the model again`);
  damaged(file.length > 8, "it is too short");
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const size = Number(view.getBigUint64(0, true));
  damaged(size <= file.length - 8 && size < 1e7, "its header reaches beyond its end");
  let header;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(file.subarray(8, 8 + size)));
  } catch {
    damaged(false, "its header is damaged");
  }
  damaged(header && typeof header === "object", "its header is damaged");
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: [from, to] = [] }] of Object.entries(header).filter(([name]) => name !== "__metadata__")) {
    const isShape = Array.isArray(shape) && shape.every((one) => Number.isInteger(one) && one >= 0);
    damaged(dtype in BYTES, `${name.slice(0, 100)} is of the type ${String(dtype).slice(0, 20)}`);
    damaged(isShape && from >= 0 && to <= file.length - 8 - size && to - from === shape.reduce((a, b) => a * b, BYTES[dtype]), `${name.slice(0, 100)} is cut off`);
    tensors.set(name, { dtype, shape, bytes: new Uint8Array(file.subarray(8 + size + from, 8 + size + to)) });
  }
  return tensors;
}

/** Raises an error unless these are exactly the tensors of a model; `vectors` may be integers with a scale for each row. */
export function checkShapes(tensors, expected, vectors) {
  const unfit = (holds, why) => check(holds, `model.safetensors does not fit config.toml and vocabulary.json beside it (${why}); take all files of one model`);
  const wanted = new Map(Object.entries(expected));
  const scaled = vectors.filter((name) => wanted.has(name) && tensors.has(name + SCALE));
  for (const name of scaled) wanted.set(name + SCALE, [wanted.get(name)[0], 1]);
  for (const name of wanted.keys()) unfit(tensors.has(name), `it lacks ${name}`);
  for (const [name, { dtype, shape }] of tensors) {
    unfit(wanted.has(name), `it has ${name.slice(0, 100)}`);
    unfit(shape.join() === wanted.get(name).join(), `${name} has the shape ${shape.join(" × ")}, but ${wanted.get(name).join(" × ")} is expected`);
    unfit(dtype !== "I8" || scaled.includes(name), `${name} is of the type ${dtype}`);
  }
}

/** The numbers of a tensor. */
export function floats({ dtype, bytes }, name) {
  let found;
  if (dtype === "F16") found = Float32Array.from(new Uint16Array(bytes.buffer), half);
  else if (dtype === "F64") found = Float32Array.from(new Float64Array(bytes.buffer));
  else found = new Float32Array(bytes.buffer);
  const isUsable = found.every((value) => Math.abs(value) <= LARGEST); // NaN is not
  check(isUsable, `model.safetensors holds numbers in ${name} that are not finite or beyond ${LARGEST}; train the model again`);
  return found;
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return NaN; // or infinite, which is as bad
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : (2 ** -14 * fraction) / 1024);
}
