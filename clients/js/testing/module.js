// What is under test: noutput.js, or the file that NOUTPUT_MODULE names.
import { readFileSync } from "node:fs";

export const noutput = await import(
  new URL(process.env.NOUTPUT_MODULE ?? "noutput.js", new URL("..", import.meta.url))
);

export const vectors = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url)));

export const shortNap = { sleep: async () => {} };

/** A storage like localStorage, in memory. */
export function memory(entries = new Map()) {
  return {
    entries,
    getItem: (key) => entries.get(key) ?? null,
    setItem: (key, value) => void entries.set(key, String(value)),
  };
}

/** A storage whose entry can be read once, so that every report is a new one. */
export function forgetful() {
  let kept = null;
  return {
    getItem: () => {
      const found = kept;
      kept = null;
      return found;
    },
    setItem: (key, value) => {
      kept = value;
    },
  };
}
