import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readdirSync, realpathSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { enroll } from "../enroll.js";
import { openLedger } from "../node.js";
import { locks, memory, noutput, vectors } from "../testing/module.js";

const { Client, readCampaign } = noutput;
const LATE = 2;
const COMMUTE = 3;
const late = await readCampaign(vectors("campaigns").good[LATE].text);
const program = fileURLToPath(new URL("../testing/answering.js", import.meta.url));
const newFolder = () => join(mkdtempSync(join(tmpdir(), "noutput-")), "ledger");

/** A process that answers campaigns, with the lines that it prints. */
function start(mode, folder, ...places) {
  const child = spawn(process.execPath, [program, mode, folder, ...places], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value, goOn: () => child.stdin.end("\n") };
}

/** What two processes answer, of which the second runs while the first has read and not written. */
async function interleaved(mode, folder) {
  const first = start(mode, folder, LATE);
  assert.equal(await first.line(), "read");
  const second = start(mode, folder, LATE);
  assert.equal(await second.line(), "read");
  second.goOn();
  const answers = [await second.line()];
  first.goOn();
  return [...answers, await first.line()];
}

test("two processes give one answer, whoever writes first", async () => {
  const [one, other] = await interleaved("paused", newFolder());
  assert.match(one, /^[0-9a-f]{32}$/);
  assert.equal(other, one);
});

test("without a lock they give two, as this test would notice", async () => {
  const [one, other] = await interleaved("unlocked", newFolder());
  assert.notEqual(other, one);
});

test("many processes share one answer per campaign and one budget", async () => {
  const folder = newFolder();
  const all = Array.from({ length: 6 }, (_, i) =>
    start("shared", folder, ...(i % 2 ? [LATE, COMMUTE] : [COMMUTE, LATE])));
  const answers = await Promise.all(all.map(async ({ line }) => [await line(), await line()]));
  const ordered = answers.map((pair, i) => (i % 2 ? pair : pair.reverse()));
  assert.equal(new Set(ordered.map(String)).size, 1, `${ordered}`);
  assert.equal(ordered[0].filter((id) => id === "policy").length, 1); // 1 + 7.5 is above the total of 8
  const { storage } = openLedger(folder);
  assert.equal(Object.keys(JSON.parse(storage.getItem("noutput-ledger")).reports).length, 1);
  if (process.platform !== "win32") {
    const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o77);
    assert.deepEqual(new Set(modes), new Set([0]));
  }
});

test("a process that is killed while it answers holds up nobody", async () => {
  const folder = newFolder();
  const first = start("paused", folder, LATE);
  assert.equal(await first.line(), "read");
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  assert.match(await start("shared", folder, LATE).line(), /^[0-9a-f]{32}$/);
});

test("old files are removed", async () => {
  const folder = newFolder();
  const { storage, locks: own } = openLedger(folder);
  for (let i = 0; i < 40; i++) await own.request("", () => storage.setItem("a", `${i}`));
  assert.equal(await own.request("", () => storage.getItem("a")), "39");
  assert.equal(readdirSync(folder).length, 8);
});

test("copies of files beside them do not make a ledger forget", async () => {
  const folder = newFolder();
  const { storage, locks: own } = openLedger(folder);
  await own.request("", () => storage.setItem("a", "first"));
  for (const end of ["1.bak", "1~", "", "0x9", "1e9", " 9", "9 (copy)", "9".repeat(20), "Infinity"])
    copyFileSync(join(folder, "a.1"), join(folder, `a.${end}`));
  assert.equal(await own.request("", () => storage.getItem("a")), "first");
  await own.request("", () => storage.setItem("a", "second"));
  assert.equal(await own.request("", () => storage.getItem("a")), "second");
  assert.ok(readdirSync(folder).includes("a.2"));
});

test("a ledger stays where it is when the process goes elsewhere", async () => {
  const [before, folder] = [process.cwd(), realpathSync(mkdtempSync(join(tmpdir(), "noutput-")))];
  process.chdir(folder);
  const { storage, locks: own } = openLedger("ledger");
  process.chdir(before);
  await own.request("", () => storage.setItem("a", "first"));
  assert.deepEqual(readdirSync(join(folder, "ledger")), ["a.1"]);
});

test("a storage without a lock is refused, unless it is a Map", async () => {
  const plain = { getItem: () => null, setItem: () => {} };
  const refused = { code: "policy", message: /pass locks with the storage/ };
  for (const storage of [plain, undefined, null])
    assert.throws(() => new Client(late, { storage }), refused);
  new Client(late, { storage: plain, locks });
  new Client(late, { storage: new Map() });
  globalThis.localStorage = plain; // Node's is shared by processes, and its own locks are not
  assert.throws(() => new Client(late), refused);
  delete globalThis.localStorage;
  const anonymous = await readCampaign(vectors("tokens").cases.find(({ token }) => token.length > 24).campaign);
  await assert.rejects(enroll(anonymous, { storage: plain }), refused);
});

test("work runs under the lock that was passed", async () => {
  const asked = [];
  const counted = { request: (name, work) => (asked.push(name), locks.request(name, work)) };
  const kept = memory();
  const storage = { getItem: (key) => kept.getItem(key), setItem: (key, text) => kept.setItem(key, text) };
  const now = () => Date.parse(late.opens);
  await new Client(late, { storage, locks: counted, now }).report("yes");
  assert.deepEqual(asked, ["noutput-ledger"]);
});
