/**
 * A ledger for Node: a folder that processes can share, and that survives a process that is killed.
 *
 * Every change is a new file with the next number, which is linked into place. Of two processes that
 * have read the same file one finds the number taken: it throws away what it has drawn, reads again,
 * and returns the report of the other. So nobody waits for a lock that a killed process has left.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { join, resolve } from "node:path";

const CONFLICT = Symbol("another process was first");
const NUMBER = /^[1-9]\d{0,14}$/; // other files, such as copies that people made, are none of the ledger's
const KEPT_FILES = 8; // so that a folder that changes while it is listed shows some of the newest

/** What `Client` and `enroll` take: { storage, locks }. The file system must have hard links. */
export function openLedger(place) {
  const folder = resolve(place); // wherever the process goes
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const seen = new Map(); // by key, what the present request has read or written: number and text
  const path = (key, number) => join(folder, `${key}.${number}`);
  const numbers = (key) =>
    readdirSync(folder)
      .filter((name) => name.startsWith(`${key}.`))
      .map((name) => name.slice(key.length + 1))
      .filter((end) => NUMBER.test(end))
      .map(Number);

  const read = (key) => {
    const number = Math.max(0, ...numbers(key));
    return { number, text: number ? readFileSync(path(key, number), "utf8") : null };
  };
  const force = (name, flags, text) => {
    const descriptor = openSync(name, flags, 0o600);
    if (text !== undefined) writeFileSync(descriptor, text);
    fsyncSync(descriptor);
    closeSync(descriptor);
  };
  const link = (text, to) => {
    const beside = join(folder, `new-${randomUUID()}`);
    try {
      force(beside, "wx", text);
      linkSync(beside, to);
    } catch (error) {
      throw error.code === "EEXIST" ? CONFLICT : error;
    } finally {
      rmSync(beside, { force: true });
    }
    if (platform() !== "win32") force(folder, "r"); // Windows does so by itself
  };

  const storage = {
    getItem(key) {
      if (!seen.has(key)) seen.set(key, read(key));
      return seen.get(key).text;
    },
    setItem(key, text) {
      storage.getItem(key);
      const number = seen.get(key).number + 1;
      link(text, path(key, number));
      const all = numbers(key);
      // A number that is free because its file was removed is not the newest.
      if (Math.max(...all) > number) throw CONFLICT;
      seen.set(key, { number, text });
      for (const old of all) if (old <= number - KEPT_FILES) rmSync(path(key, old), { force: true });
    },
  };
  const locks = {
    /** Run work, which reads and writes without waiting in between, as if nobody else did. */
    async request(name, work) {
      for (;;) {
        seen.clear();
        try {
          return work();
        } catch (error) {
          if (error !== CONFLICT) throw error;
        }
      }
    },
  };
  return { storage, locks };
}
