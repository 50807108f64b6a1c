import assert from "node:assert/strict";
import test from "node:test";
import { noutput, vectors } from "../testing/module.js";

const { certify, draw, encode, exponentialFloor, readCampaign } = noutput;
const campaigns = vectors("campaigns");
const frame = JSON.parse(campaigns.good.at(-2).text); // with one table

/** Read a table the way a client meets it: inside a campaign. */
const readTable = (table) => readCampaign(JSON.stringify({ ...frame, tables: [table] }));
const accepted = (table) =>
  assert.rejects(readTable(table), { code: "document", message: /bad fingerprint/ });

function thresholds(table) {
  return table.weights.map((row) => {
    let sum = 0;
    return row.map((weight) => (sum += weight));
  });
}

test("the exponential is the same whole number", () => {
  for (const { epsilon, floor } of vectors("exponential").cases) {
    assert.equal(exponentialFloor(epsilon), BigInt(floor), `epsilon ${epsilon}`);
  }
});

test("the same word gives the same output", () => {
  const { tables, draws } = vectors("draws");
  const ready = tables.map((table) => ({ ...table, thresholds: thresholds(table) }));
  assert.ok(draws.length > 400);
  for (const { table, x, word, output } of draws) {
    const [upper, lower] = [word.slice(0, 8), word.slice(8)].map((half) => parseInt(half, 16));
    assert.equal(draw(ready[table], x, upper, lower), output, `${table} ${x} ${word}`);
  }
});

test("a table of the default size is read, and draws the same", async () => {
  const { campaign, draws } = vectors("balanced");
  const { tables: [table], waves: [{ objectives }] } = await readCampaign(campaign);
  assert.deepEqual(objectives, ["balanced", "balanced"]);
  assert.equal(table.outputs.length, 128);
  assert.ok(draws.some(({ output }) => output > 100));
  for (const { x, word, output } of draws) {
    const [upper, lower] = [word.slice(0, 8), word.slice(8)].map((half) => parseInt(half, 16));
    assert.equal(draw(table, x, upper, lower), output, `${x} ${word}`);
  }
});

test("100 lying tables are refused, by whatever amount they lie", async () => {
  const { lying } = vectors("tables");
  assert.equal(lying.length, 100);
  for (const { output, good, bad } of lying) {
    assert.equal(certify(good.weights, good.epsilon), -1);
    assert.equal(certify(bad.weights, bad.epsilon), output);
    await assert.rejects(readTable(bad), { code: "privacy" });
    // The twin at the limit passes every check of a table: only the campaign's fingerprint,
    // which covers another table, is wrong.
    await accepted(good);
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
  const knots = Array.from({ length: 4096 }, (_, k) => k / 2047.5 - 1);
  const row = [2 ** 31, 2 ** 32];
  let reads = 0;
  const counted = new Proxy(knots, {
    get: (list, name) => {
      reads += /^\d+$/.test(String(name));
      return list[name];
    },
  });
  const counts = [-1, -0.99999, -0.3, 0, 1e-9, 0.5, 0.99999, 1].map((x) => {
    reads = 0;
    draw({ knots: counted, thresholds: knots.map(() => row) }, x, 0, 0);
    return reads;
  });
  assert.ok(Math.max(...counts) <= 12 + 4, `${counts}`);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `${counts}`);
});

test("values map to the same double", () => {
  for (const { lower, upper, value, x } of campaigns.units) {
    assert.ok(Object.is(encode({ kind: "number", name: "a", lower, upper }, value), x), `${value}`);
  }
  for (const value of [NaN, Infinity, -Infinity, "42", null, undefined, 42n]) {
    const attempt = () => encode({ kind: "number", name: "a", lower: 0, upper: 1 }, value);
    assert.throws(attempt, { code: "value", message: /^the value of a must be a finite number$/ });
  }
});
