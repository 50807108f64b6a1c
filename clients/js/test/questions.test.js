// A person who answers questions of all kinds, one of them or all.
import assert from "node:assert/strict";
import test from "node:test";
import { forgetful, locks, memory, noutput, shortNap, vectors } from "../testing/module.js";
import { sign, signTable } from "../testing/sign.js";

const { Client, readCampaign } = noutput;
const [survey, all, late] = await Promise.all(
  vectors("campaigns").good.map(({ text }) => readCampaign(text)),
);
const now = () => Date.parse("2026-11-01T00:00:00Z");
const policy = { epsilon: 6.5, total: 10 };
const values = { commute: 42, stars: 4, age: "60+", means: "train", late: false, kilometers: "1000" };
const ledger = (storage) => JSON.parse(storage.getItem("noutput-ledger"));

test("one question is asked of every person, each about equally often", async () => {
  const seen = {};
  const storage = forgetful();
  const client = new Client(survey, { storage, locks, policy, now });
  for (let i = 0; i < 600; i++) {
    const reports = await client.reports(values);
    assert.equal(reports.length, 1);
    seen[reports[0].question] = (seen[reports[0].question] ?? 0) + 1;
  }
  assert.deepEqual(Object.keys(seen).sort(), Object.keys(values).sort());
  assert.ok(Math.min(...Object.values(seen)) > 40);
});

test("all questions are asked where the campaign says so, with an id each", async () => {
  const storage = memory();
  const client = new Client(all, { storage, policy, now });
  const reports = await client.reports(values);
  assert.deepEqual(reports.map(({ question }) => question), Object.keys(values));
  assert.equal(new Set(reports.map(({ id }) => id)).size, 6);
  reports.forEach((report, i) => {
    assert.deepEqual(Object.keys(report), ["version", "campaign", "question", "output", "id"]);
    assert.ok(report.output < all.tables[i].weights[0].length);
  });
  const restarted = new Client(all, { storage: memory(new Map(storage.entries)), policy, now });
  assert.deepEqual(await restarted.reports({ ...values, stars: 1 }), reports);
  assert.deepEqual(Object.values(ledger(storage).reports)[0].epsilon, 6.5);
  await assert.rejects(client.report(values), { code: "value", message: /use reports/ });
});

test("all reports are stored at once, before any is returned", async () => {
  const written = [];
  const storage = memory();
  const setItem = (key, value) => {
    written.push([key, value]);
    storage.setItem(key, value);
  };
  const watched = { getItem: (key) => storage.getItem(key), setItem };
  const reports = await new Client(all, { storage: watched, locks, policy, now }).reports(values);
  assert.equal(written.length, 1);
  assert.deepEqual(JSON.parse(written[0][1]).reports[all.fingerprint].reports, reports);
  const full = { getItem: () => null, setItem: () => { throw new Error("quota"); } };
  await assert.rejects(new Client(all, { storage: full, locks, policy, now }).reports(values), /quota/);
});

test("the policy caps the sum where all are asked, and the largest where one is", () => {
  const storage = memory();
  const make = (campaign, epsilon) => new Client(campaign, { storage, policy: { epsilon }, now });
  make(survey, 2);
  assert.throws(() => make(survey, 1.99), { code: "privacy", message: /asks for epsilon 2, and/ });
  make(all, 6.5);
  assert.throws(() => make(all, 6.49), {
    code: "privacy", message: "the campaign asks for epsilon 6.5, and the policy allows 6.49",
  });
});

/** A campaign that asks all of some yes/no questions, with the truth three times of four. */
function pair(count) {
  const table = signTable({
    format: "noutput-table", version: 1, epsilon: 1.1, scale: 2 ** 32, axes: [2],
    weights: [[3 * 2 ** 30, 2 ** 30], [2 ** 30, 3 * 2 ** 30]],
  });
  const questions = Array.from({ length: count }, (_, i) => ({ kind: "yes/no", name: `q${i}` }));
  const waves = [{ tables: questions.map(() => 0), objectives: questions.map(() => "shares") }];
  const document = JSON.parse(vectors("campaigns").good[1].text);
  return readCampaign(JSON.stringify(sign({ ...document, questions, waves, tables: [table] })));
}

test("the sum is decided by the tables in whole numbers, not by what they claim", async () => {
  for (const count of [2, 3, 40, 64]) {
    const campaign = await pair(count);
    const make = (epsilon) => new Client(campaign, { storage: memory(), policy: { epsilon } });
    const loss = count * Math.log(3);
    make(loss * (1 + 2 ** -48));
    assert.throws(() => make(loss * (1 - 2 ** -48)), { code: "privacy" });
    make(1e300);
  }
});

test("the total counts what a campaign may lose as a whole", async () => {
  const storage = memory();
  const limits = { epsilon: 6.5, total: 7.4 };
  await new Client(all, { storage, policy: limits, now }).reports(values);
  await assert.rejects(new Client(late, { storage, policy: limits, now }).report(true), {
    code: "policy", message: /6\.5 is spent, this costs 1$/,
  });
  assert.equal(Object.keys(ledger(storage).reports).length, 1);
});

test("answers are taken by themselves and by their labels; one question needs no name", async () => {
  for (const value of [true, false, 0, 1, "yes", "no", { late: true }]) {
    await new Client(late, { storage: memory(), now }).report(value);
  }
  for (const value of ["secret", 2, null, undefined, NaN, [true], { late: "secret" }, { secret: 1 }, 1n]) {
    const storage = memory();
    await assert.rejects(new Client(late, { storage, now }).report(value), (error) =>
      error.code === "value" && /late/.test(error.message) && !/secret/.test(error.message));
    assert.equal(storage.entries.size, 0);
  }
  const wrong = [{ stars: 0 }, { stars: true }, { age: 45 }, { means: "Train" }, { late: 2 }, { commute: "42" }];
  for (const change of wrong) {
    const [name] = Object.keys(change);
    const client = new Client(survey, { storage: memory(), policy, now });
    await assert.rejects(client.report({ ...values, ...change }), {
      code: "value", message: new RegExp(`^the value of ${name} must be `),
    });
  }
});

test("reports are sent one by one, and again after a failure", async () => {
  const storage = memory();
  const client = new Client(all, { storage, policy, now });
  const counted = new Map();
  let fails = 1;
  const fetch = async (url, { body }) => {
    const { id } = JSON.parse(body);
    if (counted.size === 3 && fails-- > 0) return new Response("{}", { status: 403 });
    const repeated = Number(counted.has(id));
    counted.set(id, body);
    return new Response(JSON.stringify({ accepted: 1 - repeated, repeated }));
  };
  const url = "https://collect.example/campaigns/survey-all";
  await assert.rejects(client.submit(url, values, { ...shortNap, fetch }), { code: "delivery" });
  assert.equal(ledger(storage).reports[all.fingerprint].sent, false);
  const { reports, accepted, repeated } = await client.submit(url, values, { ...shortNap, fetch });
  assert.deepEqual([accepted, repeated], [3, 3]);
  assert.deepEqual([...counted.values()], reports.map((report) => JSON.stringify(report)));
  assert.equal(ledger(storage).reports[all.fingerprint].sent, true);
});
