import assert from "node:assert/strict";
import test from "node:test";
import { locks, memory, noutput, textOf, vectors } from "../testing/module.js";

const { Client, readCampaign } = noutput;
const [commute, salary] = await Promise.all(
  ["commute", "salaire-2026"].map((id) => readCampaign(textOf(id))),
);
const now = () => Date.parse("2026-11-01T00:00:00Z");
const policy = { epsilon: 8, total: 8.5 };

test("the same campaign gets the same report, also after a restart", async () => {
  const storage = memory();
  const first = await new Client(commute, { storage, policy, now }).report(42);
  assert.deepEqual(Object.keys(first), ["version", "campaign", "question", "output", "id"]);
  assert.match(first.id, /^[0-9a-f]{32}$/);
  const restarted = memory(new Map(storage.entries));
  for (const value of [42, 180, { commute: 0 }]) {
    const again = await new Client(commute, { storage: restarted, policy, now }).report(value);
    assert.deepEqual(again, first);
  }
});

test("a report is stored before it is returned, and never without storage", async () => {
  const full = { getItem: () => null, setItem: () => { throw new Error("quota"); } };
  await assert.rejects(new Client(commute, { storage: full, locks, policy, now }).report(42), /quota/);
  assert.throws(() => new Client(commute, { storage: null, locks, policy, now }), { code: "policy" });
});

test("concurrent calls give one report", async () => {
  const client = new Client(salary, { storage: memory(), policy, now });
  const values = { salary: 2000, age: 30, change_2: 0 };
  const reports = await Promise.all(Array.from({ length: 50 }, () => client.report(values)));
  assert.equal(new Set(reports.map((report) => report.id)).size, 1);
});

test("the person's policy decides, not the campaign's claim", async () => {
  const storage = memory();
  assert.throws(() => new Client(commute, { storage, policy: { epsilon: 0.99 } }), {
    code: "privacy",
    message: "the campaign asks for epsilon 1, and the policy allows 0.99",
  });
  for (const bad of [{ epsilon: NaN }, { total: 0 }, { days: -1 }, { epsilon: "1" }]) {
    assert.throws(() => new Client(commute, { storage, policy: bad }), { code: "policy" });
  }
  assert.equal(storage.entries.size, 0);
});

test("only what was certified is drawn from", async () => {
  const certain = commute.tables[0].weights.map((row) => row.map((_, i) => (i ? 0 : 2 ** 32)));
  const weights = { ...commute, tables: [{ ...commute.tables[0], weights: certain }] };
  for (const forged of [weights, { ...commute, epsilon: 0 }, JSON.parse(JSON.stringify(commute))]) {
    assert.throws(() => new Client(forged, { storage: memory(), policy, now }), {
      code: "document", message: /readCampaign/,
    });
  }
  assert.throws(() => commute.tables[0].weights[0].fill(0), TypeError);
});

test("the total of a period is capped, and returns when it has passed", async () => {
  const storage = memory();
  const days = (count) => () => now() + count * 864e5;
  const limits = { epsilon: 8, total: 8, days: 30 };
  await new Client(commute, { storage, policy: limits, now }).report(1);
  const values = { salary: 2000, age: 30, change_2: 0 };
  const at = (time) => new Client(salary, { storage, policy: limits, now: time }).report(values);
  await assert.rejects(at(now), { code: "policy" });
  await assert.rejects(at(days(29.9)), { code: "policy" });
  await assert.rejects(at(days(-29)), { code: "policy" }); // a clock that went back
  assert.equal((await at(days(30.1))).campaign, salary.fingerprint);
});

test("nothing is answered outside the campaign's time", async () => {
  for (const time of ["2026-02-28T23:59:59Z", "2036-03-01T12:30:59Z"]) {
    const storage = memory();
    const late = new Client(commute, { storage, policy, now: () => Date.parse(time) });
    await assert.rejects(late.report(42), { code: "closed" });
    assert.equal(storage.entries.size, 0);
  }
});

test("values are checked by name and never repeated in a message", async () => {
  const one = new Client(commute, { storage: memory(), policy, now });
  const three = new Client(salary, { storage: memory(), policy, now });
  for (const values of [NaN, "4242", null, {}, { age: 4242 }, { commute: "4242" }, [4242]]) {
    await assert.rejects(one.report(values), (error) =>
      error.code === "value" && !error.message.includes("4242"));
  }
  for (const values of [4242, { salary: 1, age: 2 }, { salary: 1, age: 2, change_2: NaN }]) {
    await assert.rejects(three.report(values), { code: "value" });
  }
});

test("a damaged ledger, or one of another version, is refused, not forgotten", async () => {
  const other = (version) => [
    JSON.stringify({ version, reports: {}, panels: {} }),
    `the ledger must have version 1; found ${JSON.stringify(version)}`,
  ];
  const cases = [
    ...[0, 2, 3, "1", null].map(other),
    ["nonsense", "the ledger must have version 1; found undefined"],
    ["null", "the ledger must have version 1; found undefined"],
    ['{"version":1,"reports":{}}', "the ledger is damaged"],
    ['{"version":1,"panels":{}}', "the ledger is damaged"],
  ];
  for (const [text, message] of cases) {
    const storage = memory(new Map([["noutput-ledger", text]]));
    const attempt = new Client(commute, { storage, policy, now }).report(42);
    await assert.rejects(attempt, { code: "policy", message });
    assert.equal(storage.getItem("noutput-ledger"), text);
  }
});

test("a ledger with a damaged entry is refused: it would answer again, or give budget back", async () => {
  const report = { version: 1, campaign: commute.fingerprint, output: 0 };
  const good = { reports: [report], id: commute.id, epsilon: 1, answered: now(), sent: false };
  const bad = [
    {}, null, [], 1, { ...good, epsilon: undefined }, { ...good, answered: undefined },
    { ...good, epsilon: -1 }, { ...good, epsilon: 0 }, { ...good, epsilon: "1" },
    { ...good, answered: "today" }, { ...good, answered: null }, { ...good, reports: [] },
    { ...good, reports: [null] }, { ...good, reports: {} }, { ...good, reports: undefined },
    { ...good, id: undefined }, { ...good, id: "A" },
  ];
  const ledgers = bad.flatMap((entry) => [
    { [commute.fingerprint]: entry },
    { ["0".repeat(64)]: entry },
  ]);
  for (const reports of [...ledgers, [], null, "", 1, undefined]) {
    const text = JSON.stringify({ version: 1, reports, panels: {} });
    const storage = memory(new Map([["noutput-ledger", text]]));
    await assert.rejects(new Client(commute, { storage, policy, now }).reports(42), {
      code: "policy",
    });
    assert.equal(storage.getItem("noutput-ledger"), text);
  }
  const text = JSON.stringify({ version: 1, reports: { [commute.fingerprint]: good }, panels: {} });
  const storage = memory(new Map([["noutput-ledger", text]]));
  assert.deepEqual(await new Client(commute, { storage, policy, now }).reports(42), [report]);
});

test("no report leaves where the storage does not keep it", async () => {
  for (const setItem of [() => {}, (key, text) => text.slice(1)]) {
    const storage = { getItem: () => null, setItem };
    await assert.rejects(new Client(commute, { storage, locks, policy, now }).reports(42), {
      code: "policy",
    });
  }
});

test("a ledger answers one root per id, unless another is allowed", async () => {
  const { campaigns, stories } = vectors("roots");
  const documents = await Promise.all(campaigns.map(({ text }) => readCampaign(text)));
  for (const story of stories) {
    const storage = memory();
    for (const { campaign: place, new_roots: newRoots, answered } of story) {
      const client = new Client(documents[place], { storage, now, policy: { epsilon: 8, total: 99, newRoots } });
      const made = client.reports(campaigns[place].values);
      if (answered) assert.equal((await made).length, 1);
      else {
        await assert.rejects(made, { code: "document", message: /knows adaptive by another root/ });
        await assert.rejects(client.due(), { code: "document" });
      }
    }
  }
});

test("every question is drawn", async () => {
  const seen = {};
  for (let i = 0; i < 300; i++) {
    const client = new Client(salary, { storage: memory(), policy, now });
    const { question } = await client.report({ salary: 2000, age: 30, change_2: 0 });
    seen[question] = (seen[question] ?? 0) + 1;
  }
  assert.deepEqual(Object.keys(seen).sort(), ["age", "change_2", "salary"]);
  assert.ok(Math.min(...Object.values(seen)) > 40);
});
