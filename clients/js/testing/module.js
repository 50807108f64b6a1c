// What is under test: noutput.js, or the file that NOUTPUT_MODULE names.
import { readFileSync } from "node:fs";

export const noutput = await import(
  new URL(process.env.NOUTPUT_MODULE ?? "noutput.js", new URL("..", import.meta.url))
);

export const vectors = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url)));

/** The text of the last good campaign of the vectors that has this id. */
export const textOf = (id) =>
  vectors("campaigns").good.findLast(({ text }) => JSON.parse(text).id === id).text;

export const shortNap = { sleep: async () => {} };

/** A storage that clients take without a lock, and that tests read as they read localStorage. */
class Memory extends Map {
  get entries() {
    return this;
  }
  getItem(key) {
    return this.get(key) ?? null;
  }
  setItem(key, value) {
    this.set(key, value);
  }
}
export const memory = (entries = []) => new Memory(entries);

/** For storages of a test, which nobody else has. */
export const locks = { request: async (_, work) => work() };

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
