// The sampler that devices run, with the platform's randomness, fits the table: chi-square.
import assert from "node:assert/strict";
import test from "node:test";
import { memory, noutput, vectors } from "../testing/module.js";

const { Client, readCampaign, toUnit } = noutput;
const campaign = await readCampaign(vectors("campaigns").good[0].text);
const now = () => Date.parse("2026-11-01T00:00:00Z");
const REPORTS = 6000;
const CRITICAL = 41.45; // chi-square with 2 degrees of freedom: exceeded once in 10^9

function probabilities(table, x) {
  const { knots, weights } = table;
  let cell = knots.length - 2;
  while (cell && knots[cell] > x) cell--;
  const share = (x - knots[cell]) / (knots[cell + 1] - knots[cell]);
  return weights[cell].map((w, i) => (w + share * (weights[cell + 1][i] - w)) / 2 ** 32);
}

const distance = (counts, expected) =>
  counts.reduce((sum, n, i) => sum + (n - REPORTS * expected[i]) ** 2 / (REPORTS * expected[i]), 0);

for (const value of [0, 60, 180]) {
  test(`reports of ${value} minutes fit their probabilities`, async () => {
    const counts = campaign.table.outputs.map(() => 0);
    for (let i = 0; i < REPORTS; i++) {
      const client = new Client(campaign, { storage: memory(), now });
      counts[(await client.report(value)).output]++;
    }
    const x = toUnit(campaign.attributes[0], value);
    assert.ok(distance(counts, probabilities(campaign.table, x)) < CRITICAL, `${counts}`);
    const wrong = probabilities(campaign.table, x > 0.5 ? x - 0.3 : x + 0.3);
    assert.ok(distance(counts, wrong) > CRITICAL, "the test has no power");
  });
}
