// The sampler that devices run, with the platform's randomness, fits the tables: chi-square.
import assert from "node:assert/strict";
import test from "node:test";
import { forgetful, locks, noutput, textOf } from "../testing/module.js";
import { signTable } from "../testing/sign.js";
import { ask, neighbor } from "../testing/tables.js";

const { Client, encode, readCampaign } = noutput;
const commute = await readCampaign(textOf("commute"));
const [survey, all] = await Promise.all(
  ["survey", "survey-all"].map((id) => readCampaign(textOf(id))),
);
const now = () => Date.parse("2026-11-01T00:00:00Z");
// Chi-square by degrees of freedom: exceeded once in 10^9.
const CRITICAL = { 2: 41.45, 9: 60.67, 52: 138.04 };

/** The probability of every output for a number in its own unit, or for the index of an answer. */
function probabilities({ axes: [knots], weights }, x) {
  if (!Array.isArray(knots)) return weights[x].map((weight) => weight / 2 ** 32);
  let cell = knots.length - 2;
  while (cell && knots[cell] > x) cell--;
  const share = (x - knots[cell]) / (knots[cell + 1] - knots[cell]);
  return weights[cell].map((w, i) => (w + share * (weights[cell + 1][i] - w)) / 2 ** 32);
}

function distance(counts, expected) {
  assert.ok(CRITICAL[expected.length - 1], "no such degrees of freedom");
  const total = counts.reduce((a, b) => a + b);
  const part = (n, i) => (n - total * expected[i]) ** 2 / (total * expected[i]);
  return counts.reduce((sum, n, i) => sum + part(n, i), 0);
}

function check(counts, expected, wrong) {
  const most = CRITICAL[expected.length - 1];
  assert.ok(distance(counts, expected) < most, `${counts}`);
  assert.ok(distance(counts, wrong) > most, "the test has no power");
}

for (const value of [0, 60, 180]) {
  test(`reports of ${value} minutes fit their probabilities`, async () => {
    const counts = [0, 0, 0];
    const client = new Client(commute, { storage: forgetful(), locks, now });
    for (let i = 0; i < 6000; i++) counts[(await client.report(value)).output]++;
    const x = encode(commute.questions[0], value);
    const [table] = commute.tables;
    check(counts, probabilities(table, x), probabilities(table, x > 135 ? x - 27 : x + 27));
  });
}

test("reports of an edge, and of the number just below it, fit rows of their own side", async () => {
  const weights = [[2, 1, 1], [1, 2, 1], [1, 1, 2], [2, 1, 1]].map((row) => row.map((part) => part * 2 ** 30));
  const [{ epsilon: _, ...question }] = commute.questions;
  const table = signTable({ ...commute.tables[0], epsilon: 1, axes: [[0, 45, 45, 180]], weights });
  const campaign = await readCampaign(JSON.stringify(ask({ ...question, edges: [45] }, table)));
  for (const [value, row] of [[neighbor(45, -1), 1], [45, 2]]) {
    const counts = [0, 0, 0];
    const client = new Client(campaign, { storage: forgetful(), locks, now });
    for (let i = 0; i < 3000; i++) counts[(await client.report(value)).output]++;
    const [own, other] = [row, 3 - row].map((index) => weights[index].map((weight) => weight / 2 ** 32));
    check(counts, own, other);
    assert.deepEqual(probabilities(campaign.tables[0], value).map((p) => Math.round(p * 4)), own.map((p) => p * 4));
  }
});

const values = { commute: 60, stars: 4, age: "under 30", means: "car", late: true, kilometers: 0.5 };
const others = { commute: 60, stars: 4, age: "under 30", means: "car", late: false, kilometers: 0.5 };

/** The probability of every output of every question, where one is drawn. */
const joint = ({ questions, tables }, given) =>
  questions.flatMap((question, i) =>
    probabilities(tables[i], encode(question, given[question.name])).map((p) => p / questions.length));

test("a question of any kind is drawn, and its report fits the answer", async () => {
  const { questions, tables } = survey;
  const sizes = tables.map(({ weights }) => weights[0].length);
  const start = sizes.map((_, i) => sizes.slice(0, i).reduce((a, b) => a + b, 0));
  const counts = Array(53).fill(0);
  const client = new Client(survey, { storage: forgetful(), locks, now, policy: { epsilon: 2 } });
  for (let i = 0; i < 3000; i++) {
    const report = await client.report(values);
    counts[start[questions.findIndex(({ name }) => name === report.question)] + report.output]++;
  }
  check(counts, joint(survey, values), joint(survey, others));
});

test("where all questions are asked, reports are drawn apart from each other", async () => {
  const [late, stars] = [4, 1];
  const both = (given) => {
    const chances = [late, stars].map((index) =>
      probabilities(all.tables[index], encode(all.questions[index], given[all.questions[index].name])));
    return chances[0].flatMap((p) => chances[1].map((q) => p * q));
  };
  const counts = Array(10).fill(0);
  const client = new Client(all, { storage: forgetful(), locks, now, policy: { epsilon: 7, total: 7 } });
  for (let i = 0; i < 3000; i++) {
    const reports = await client.reports(values);
    counts[5 * reports[late].output + reports[stars].output]++;
  }
  check(counts, both(values), both(others));
});
