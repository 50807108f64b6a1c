import assert from "node:assert/strict";
import test from "node:test";
import { noutput, vectors } from "../testing/module.js";
import { ask, halves, questionOf } from "../testing/tables.js";

const { certify, draw, encode, exponentialFloor, readCampaign } = noutput;
const campaigns = vectors("campaigns");

/** Read a table the way a client meets it: inside a campaign, whose question it fits if it can. */
const readTable = (table) => {
  let question = { kind: "number", name: "a", unit: "", lower: -1, upper: 1 };
  try {
    question = questionOf(table);
  } catch {
    // it has no axis that a question could be made for
  }
  return readCampaign(JSON.stringify(ask(question, table)));
};

test("the exponential is the same whole number", () => {
  for (const { epsilon, floor } of vectors("exponential").cases) {
    assert.equal(exponentialFloor(epsilon), BigInt(floor), `epsilon ${epsilon}`);
  }
});

test("the same word gives the same output", () => {
  const { tables, draws } = vectors("draws");
  assert.ok(draws.length > 400);
  for (const { table, x, word, output } of draws) {
    assert.equal(draw(tables[table], [x], halves(word)), output, `${table} ${x} ${word}`);
  }
});

test("two coordinates take a word each", () => {
  const { pair_tables: tables, pair_draws: draws } = vectors("draws");
  assert.ok(draws.length > 100);
  for (const { table, x, words, output } of draws) {
    assert.equal(draw(tables[table], x, halves(...words)), output, `${table} ${x} ${words}`);
  }
});

test("the tables of the draws are read, with the jumps where they are", async () => {
  const { tables } = vectors("draws");
  assert.ok(tables.filter((table) => questionOf(table).edges.length).length > 5);
  for (const table of tables) assert.deepEqual((await readTable(table)).tables[0].axes, table.axes);
});

test("a table of the default size is read, and draws the same", async () => {
  const { campaign, draws } = vectors("balanced");
  const { tables: [table], waves: [{ objectives }] } = await readCampaign(campaign);
  assert.deepEqual(objectives, ["balanced", "balanced"]);
  assert.equal(table.weights[0].length, 128);
  assert.ok(draws.some(({ output }) => output > 100));
  for (const { x, word, output } of draws) {
    assert.equal(draw(table, [x], halves(word)), output, `${x} ${word}`);
  }
});

test("100 lying tables are refused, by whatever amount they lie", async () => {
  const { lying } = vectors("tables");
  assert.equal(lying.length, 100);
  for (const { output, good, bad } of lying) {
    assert.equal(certify(good.weights, good.epsilon), -1);
    assert.equal(certify(bad.weights, bad.epsilon), output);
    await assert.rejects(readTable(bad), { code: "privacy" });
    assert.deepEqual((await readTable(good)).tables[0].weights, good.weights); // the twin at the limit
  }
});

test("tables that are none are refused", async () => {
  for (const { why, table } of vectors("tables").malformed) {
    await assert.rejects(readTable(table), { code: "document" }, why);
  }
});

test("text that is no campaign is refused", async () => {
  for (const text of ["", "[]", "null", "3", "{", '"text"', "[".repeat(100000)]) {
    await assert.rejects(readCampaign(text), { code: "document" }, text.slice(0, 9));
  }
});

test("unusual documents are read or refused as by every client", async () => {
  const { documents } = vectors("documents");
  assert.ok(documents.length > 90);
  for (const { why, accepted, body } of documents) {
    const read = readCampaign(Buffer.from(body, "base64"));
    if (accepted) await read.catch((error) => assert.fail(`${why}: ${error.message}`));
    else await assert.rejects(read, { code: "document" }, why);
  }
});

test("texts with characters that cannot be seen are refused as by every client", async () => {
  const { base, titles } = vectors("texts");
  assert.ok(titles.length > 80);
  for (const { title, accepted, fingerprint } of titles) {
    const read = readCampaign(JSON.stringify({ ...base, title, fingerprint }));
    if (accepted) assert.equal((await read).title, title);
    else await assert.rejects(read, { code: "document", message: /title/ }, JSON.stringify(title));
  }
});

test("the cell is found in the same number of steps, whatever the value", () => {
  const knots = Array.from({ length: 4096 }, (_, k) => ((k + 1) >> 1) / 1024 - 1); // all inner ones are edges
  const row = [2 ** 31, 2 ** 31];
  let reads = 0;
  const counted = new Proxy(knots, {
    get: (list, name) => {
      reads += /^\d+$/.test(String(name));
      return list[name];
    },
  });
  const counts = [-1, -0.99999, -0.3, 0, 1e-9, 0.5, 0.99999, 1].map((x) => {
    reads = 0;
    draw({ axes: [counted], weights: knots.map(() => row) }, [x], [0, 0]);
    return reads;
  });
  assert.ok(Math.max(...counts) <= 12 + 4, `${counts}`);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `${counts}`);
});

test("values are moved into the bounds, and stay in their unit", () => {
  for (const { lower, upper, value, x } of campaigns.clamped) {
    assert.equal(encode({ kind: "number", name: "a", lower, upper }, value), x, `${value}`);
  }
  for (const value of [NaN, Infinity, -Infinity, "42", null, undefined, 42n]) {
    const attempt = () => encode({ kind: "number", name: "a", lower: 0, upper: 1 }, value);
    assert.throws(attempt, { code: "value", message: /^the value of a must be a finite number$/ });
  }
});
