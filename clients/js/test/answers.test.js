// Documents, answers and reports against the vectors that all clients share.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { memory, noutput, vectors } from "../testing/module.js";
import { halves } from "../testing/tables.js";

const { Client, canonical, certify, draw, encode, labels, readCampaign } = noutput;
const { good, lying, bad } = vectors("campaigns");
const text = (document) => (typeof document === "string" ? document : JSON.stringify(document));
const read = (document) => readCampaign(text(document));
const bytes = async (parts) => Buffer.from(await new Blob(parts).arrayBuffer()).toString("hex");
const now = () => Date.parse("2026-11-01T00:00:00Z");

test("the canonical form is the same", async () => {
  const { cases } = vectors("canonical");
  assert.ok(cases.length > 15);
  for (const { value, bytes: expected } of cases) {
    assert.equal(await bytes(canonical(value)), expected, JSON.stringify(value));
  }
});

test("campaigns with questions of all kinds are read, certified and frozen", async () => {
  for (const { fingerprint, epsilon, text: document } of good) {
    const campaign = await read(document);
    assert.equal(campaign.fingerprint, fingerprint);
    assert.ok(Math.abs(campaign.epsilon - epsilon) < 1e-12);
    assert.deepEqual(campaign.questions, JSON.parse(document).questions);
    assert.equal(campaign.tables.length, campaign.questions.length);
    assert.throws(() => (campaign.questions[0].name = "x"), TypeError);
    assert.throws(() => campaign.tables[0].weights[0].fill(0), TypeError);
  }
  const survey = await read(good[0].text);
  assert.equal(survey.tables[1], survey.tables[5]); // equal tables are one object
  assert.deepEqual(survey.questions.map(({ kind }) => kind),
    ["number", "scale", "scale", "choice", "yes/no", "scale"]);
});

test("the same word draws the same output for an answer", () => {
  const { tables, draws } = vectors("answers");
  assert.ok(draws.length > 100);
  for (const { table, answer, word, output } of draws) {
    assert.equal(draw(tables[table], [answer], halves(word)), output, `${table} ${answer} ${word}`);
  }
});

test("the same values are answers, and others are refused without being repeated", () => {
  const { answers } = vectors("answers");
  assert.ok(answers.length > 150);
  for (const { question, value, place } of answers) {
    const attempt = () => encode(question, value);
    if (place !== null) assert.equal(attempt(), place, `${question.name} ${value}`);
    else {
      const message = `the value of ${question.name} must be one of ${labels(question).join(", ")}`;
      assert.throws(attempt, { code: "value", message });
    }
  }
});

test("labels are written as Python writes them", () => {
  const written = {
    "1e+16": 1e16, "9999999999999998": 9999999999999998, "-1.5e+300": -1.5e300, "1e-05": 1e-5,
    "0.0001": 1e-4, "1.25e-10": 1.25e-10, "5e-324": 5e-324, "0": -0, "-2.5": -2.5, "1e+100": 1e100,
  };
  for (const [label, answer] of Object.entries(written)) {
    const question = { kind: "scale", name: "a", answers: [answer, 1e301] };
    assert.equal(labels(question)[0], label);
    assert.equal(encode(question, label), 0);
    assert.equal(encode(question, answer), 0);
  }
  assert.deepEqual(labels({ kind: "yes/no" }), ["no", "yes"]);
  assert.deepEqual(labels({ kind: "choice", answers: ["1e20", "b"] }), ["1e20", "b"]);
  assert.deepEqual(labels({ kind: "number", lower: 0, upper: 1 }), []);
});

test("tables of answers that lie by one unit are refused, their twins are not", async () => {
  assert.equal(lying.length, 20);
  for (const pair of lying) {
    const [{ weights, epsilon }] = pair.bad.tables;
    assert.notEqual(certify(weights, epsilon), -1);
    await assert.rejects(read(pair.bad), { code: "privacy" });
    assert.equal((await read(pair.good)).epsilon, epsilon);
  }
});

test("documents that are changed, or need a newer version, are refused", async () => {
  assert.ok(bad.length > 90);
  for (const { why, error, campaign } of bad) {
    await assert.rejects(read(campaign), { code: error }, why);
  }
});

test("what is unknown is named, with a hint at newer versions", async () => {
  const document = JSON.parse(good[0].text);
  const [wave] = document.waves;
  const question = { ...document.questions[0] };
  const changes = [
    [{ version: 2 }, "version of the document"],
    [{ version: 0 }, "version of the document"],
    [{ audience: 1 }, "audience of the document"],
    [{ ask: "two" }, "ask of the document"],
    [{ waves: [wave, wave] }, "next wave"],
    [{ waves: [{ ...wave, opens: null }] }, "opens of the wave"],
    [{ segments: { country: ["a"] } }, "country of the segments"],
    [{ schedule: {} }, "every of the schedule"],
    [{ admission: "token" }, "admission"],
    [{ admission: { kind: "invitation" } }, "kind of the admission"],
    [{ admission: { kind: "token", days: 3 } }, "days of the admission"],
    [{ questions: [{ ...question, kind: "rank" }] }, "kind of the question"],
    [{ questions: [{ ...question, hint: "" }] }, "hint of the question"],
    [{ tables: [{ ...document.tables[0], version: 2 }] }, "version of the table"],
  ];
  for (const [change, part] of changes) {
    await assert.rejects(read({ ...document, ...change }), {
      code: "document",
      message: `the campaign has a bad ${part}, or needs a newer version of noutput`,
    });
  }
});

test("reports are written as on the wire", async () => {
  for (const { campaign, reports, bodies } of vectors("wire").cases) {
    const own = await read(campaign);
    const client = new Client(own, { storage: memory(), now, policy: { epsilon: 8, total: 8 } });
    const values = Object.fromEntries(own.questions.map((question) =>
      [question.name, question.kind === "number" ? 1 : labels(question)[0]]));
    const made = await client.reports(values);
    const written = JSON.parse(Buffer.from(bodies[0].body, "hex"));
    for (const report of made) {
      assert.deepEqual(Object.keys(report), Object.keys(written));
      assert.equal(report.version, written.version);
      assert.equal(report.campaign, reports[0].campaign);
    }
  }
});

test("the questions of the README are encoded as it says", () => {
  const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, block] = /```js\nimport \{ encode, labels \}.*\n([^]*?)```/.exec(page);
  const stated = /^((?:encode|labels)\(.*\)); \/\/ (-?[\d.]*\d|\[.*\])/gm;
  const checks = block.replaceAll(stated, "check($1, $2); //");
  let count = 0;
  const check = (found, expected) => void assert.deepEqual(found, expected, `${++count}`);
  new Function("encode", "labels", "check", checks)(encode, labels, check);
  assert.equal(count, 6);
});
