// The compiled kernels: their memory, and which of two builds a browser can run.

import { check } from "./errors.js";

/* The smallest module with an instruction of relaxed SIMD. */
const RELAXED = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11];

/** The file of the kernels that run here. */
export const kernelsFile = () => (WebAssembly.validate(new Uint8Array(RELAXED)) ? "hyperspan-relaxed.wasm" : "hyperspan.wasm");

export class Kernels {
  /** From the bytes of kernelsFile(). */
  static async of(bytes) {
    check(WebAssembly.validate(bytes), "this browser cannot run the kernels: it needs WebAssembly with SIMD, as browsers have since 2021 (Safari: 2023)");
    const { instance } = await WebAssembly.instantiate(bytes);
    return new Kernels(instance.exports);
  }

  constructor(calls) {
    this.calls = calls;
    calls._initialize();
  }

  // Views are made anew for each use: memory that grows is another buffer.
  ints = (at, count) => new Int32Array(this.calls.memory.buffer, at, count);
  floats = (at, count) => new Float32Array(this.calls.memory.buffer, at, count);
  units = (at, count) => new Uint16Array(this.calls.memory.buffer, at, count);

  /** Memory for so many bytes, which the caller gives back. */
  allocate(size) {
    const at = this.calls.allocate(size);
    check(at, "there is not enough memory in this tab; give a shorter text, or close other tabs");
    return at;
  }

  /** The address of a copy of an array, which stays. */
  put(array) {
    const at = this.allocate(array.byteLength);
    new Uint8Array(this.calls.memory.buffer, at, array.byteLength).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return at;
  }

  /** What a function of the addresses of such copies returns; the copies are given back. */
  with(arrays, use) {
    const places = arrays.map((array) => this.put(array));
    try {
      return this.enough(use(...places));
    } finally {
      for (const place of places) this.calls.release(place);
    }
  }

  /** The result of a step, if it had memory. */
  enough(result) {
    check(result !== -1, "there is not enough memory in this tab for this text; give a shorter one");
    return result;
  }
}

/** The UTF-16 units of a string. */
export function utf16(text) {
  const units = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) units[i] = text.charCodeAt(i);
  return units;
}
