// Documents by somebody who wants a report that tells more than it may: all with right fingerprints.
import assert from "node:assert/strict";
import test from "node:test";
import { noutput, vectors } from "../testing/module.js";
import { sign, signTable } from "../testing/sign.js";

const { readCampaign } = noutput;
const document = JSON.parse(vectors("campaigns").good[0].text);
const [, stars] = document.tables;
const question = { kind: "choice", name: "means", answers: ["train", "car"] };
const HALF = 2 ** 31;
const fair = { ...stars, axes: [2], weights: [[HALF, HALF], [HALF, HALF]] };
const wave = { tables: [0], objectives: ["shares"] };

/** The text of a document with one question and one table. */
const ask = (entry, table = signTable(fair)) =>
  JSON.stringify(sign({ ...document, questions: [entry], waves: [wave], tables: [table] }));
const refused = (text, code = "document") =>
  assert.rejects(readCampaign(text), (error) =>
    error instanceof noutput.NoutputError && error.code === code && error.message.length < 200);

test("the signed document is read as it is", async () => {
  const campaign = await readCampaign(ask(question));
  assert.deepEqual(campaign.questions, [question]);
  assert.equal(JSON.stringify(sign(document)), JSON.stringify(document));
});

test("wrong kinds are refused, also those that objects have of themselves", async () => {
  const kinds = ["rank", "", "Choice", "constructor", "__proto__", "toString", null, 1, ["choice"], {}];
  for (const kind of kinds) await refused(ask({ ...question, kind }));
  for (const entry of [null, [], "choice", 7, {}]) await refused(ask(entry));
});

test("2 to 64 answers of up to 200 bytes are read, and no others", async () => {
  const choice = (count) => ({ ...question, answers: Array.from({ length: count }, (_, i) => `a${i}`) });
  const table = (count) =>
    signTable({ ...stars, axes: [count], weights: Array.from({ length: count }, () => [HALF, HALF]) });
  await readCampaign(ask(choice(64), table(64)));
  await refused(ask(choice(65), table(65)));
  await refused(ask(choice(1), table(1)));
  await refused(ask(choice(3), table(2)));
  await refused(ask(choice(2), table(3)));
  await refused(ask({ ...question, answers: Array(50_000).fill("a") }));
  await refused(ask({ ...question, answers: ["a", "b".repeat(201)] }));
  await refused(ask({ ...question, answers: ["a", "b".repeat(1e6)] }));
  for (const answers of [{ length: 2, 0: "a", 1: "b" }, "ab", [["a"], ["b"]], ["a", 1], [], null]) {
    await refused(ask({ ...question, answers }));
  }
});

test("huge numbers are refused", async () => {
  const text = ask({ kind: "scale", name: "stars", answers: [1, 2] });
  await readCampaign(text);
  for (const number of ["1e400", "-1e400", "1".repeat(400), "NaN", "Infinity"]) {
    await refused(text.replace('"answers":[1,2]', `"answers":[1,${number}]`));
    await refused(text.replace('"epsilon":1', `"epsilon":${number}`));
    await refused(text.replace(`[${HALF},${HALF}]`, `[${HALF},${number}]`));
  }
  for (const weight of [2 ** 32, 2 ** 53, 1e300, -1, 0, 0.5, 1e-300]) {
    await refused(ask(question, signTable({ ...fair, weights: [[HALF, HALF], [HALF, weight]] })));
  }
  for (const epsilon of [0, -1]) await refused(ask(question, signTable({ ...fair, epsilon })));
  await readCampaign(ask(question, signTable({ ...fair, epsilon: 1e308 })));
  await refused(ask({ ...question, epsilon: 1e308 }));
});

test("rows that are none, or do not add up, are refused", async () => {
  const rows = [
    [[HALF, HALF - 1], [HALF, HALF]],
    [[HALF, HALF + 1], [HALF, HALF]],
    [[2 ** 32], [2 ** 32]],
    [[HALF, HALF], [HALF, HALF / 2, HALF / 2]],
    [[HALF, HALF]],
    [[HALF, HALF], []],
    [[], []],
    [[HALF / 2 + 0.5, HALF + HALF / 2 - 0.5], [HALF, HALF]],
    Array.from({ length: 2 }, () => [...Array(256).fill(1), 2 ** 32 - 256]),
  ];
  for (const weights of rows) await refused(ask(question, signTable({ ...fair, weights })));
  const none = [null, {}, "", 3, [], [null, null], [[HALF, HALF], null], ["ab", "ab"], [{ length: 2 }, {}]];
  for (const weights of none) await refused(ask(question, { ...signTable(fair), weights }));
});

test("a table that tells more than it claims is refused, whatever else is right", async () => {
  const weights = [[2 ** 32 - 1, 1], [1, 2 ** 32 - 1]];
  await refused(ask(question, signTable({ ...fair, weights })), "privacy");
  await refused(ask(question, signTable({ ...fair, axes: [[0, 60]], weights })), "privacy");
});

test("tables of another question, or of another version, are refused", async () => {
  await refused(ask(question, signTable({ ...fair, axes: [[0, 60]] })));
  for (const version of [0, 2, "1", [1], true, null]) {
    await refused(ask(question, { ...signTable(fair), version }));
  }
});

test("keys that change prototypes are refused and change none", async () => {
  const places = ['"format":"noutput-campaign"', '"kind":"choice"', '"format":"noutput-table"', '"objectives":'];
  const good = ask(question);
  for (const key of ["", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
    for (const value of ['{"kind":"choice","isAdmin":true}', "null", "1"]) {
      for (const place of places) {
        assert.ok(good.includes(place));
        await refused(good.replace(place, `"${key}":${value},${place}`));
      }
      const segments = good.replace('"segments":{}', `"segments":{"${key}":${value}}`);
      assert.notEqual(segments, good);
      await refused(segments);
      await refused(`{"${key}":${good}}`);
    }
  }
  assert.equal({}.isAdmin, undefined);
  assert.equal({}.kind, undefined);
});

test("keys twice, whole numbers with a point and long unknown keys are refused", async () => {
  const good = ask(question);
  const edits = [
    ['"kind":"choice"', '"kind":"choice","kind":"choice"'],
    ['"kind":"choice"', '"kind":"scale","k\\u0069nd":"choice"'],
    ['"tables":[0]', '"tables":[0.0]'],
    ['"tables":[0]', '"tables":[0e0]'],
    ['"version":1,"id"', '"version":1.0,"id"'],
    [`[${HALF},`, `[${HALF}.0,`],
    ['"kind":"choice"', `"${"k".repeat(1e5)}":1,"kind":"choice"`],
  ];
  for (const [old, changed] of edits) {
    assert.ok(good.includes(old), old);
    await refused(good.replace(old, changed));
  }
  await readCampaign(good.replace('"tables":[0]', '"tables":[-0]'));
});
