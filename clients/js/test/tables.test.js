// One table for all kinds of questions: which row is drawn from, and which documents are refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { noutput } from "../testing/module.js";
import { sign, signTable } from "../testing/sign.js";
import { ask, MIDDLE, neighbor, telltale } from "../testing/tables.js";

const { encode, readCampaign } = noutput;
const LAST = 2 ** 32 - 1;
const minutes = { kind: "number", name: "commute", unit: "minutes", lower: 0, upper: 60, edges: [15, 30] };
const jumping = [0, 15, 15, 20, 30, 30, 60]; // 20 is a knot inside a cell

/** The client with a fault: the one occurrence of a text in its source is another. */
async function planted(text, fault) {
  const source = readFileSync(new URL("../noutput.js", import.meta.url), "utf8");
  assert.equal(source.split(text).length, 2, text);
  const code = Buffer.from(source.replace(text, fault)).toString("base64");
  return import(`data:text/javascript;base64,${code}`);
}

/** Whether a list of wrong draws is not empty where the client has a fault. */
async function isNoticed(wrong, [text, fault]) {
  const { draw } = await planted(text, fault);
  try {
    return wrong(draw).length > 0;
  } catch (error) {
    return error instanceof TypeError; // a row that the table does not have
  }
}

// Knots, number, high half of its word, row.
const ROWS = [
  [jumping, 0, 0, 0],
  [jumping, 0, LAST, 0],
  [jumping, 7.5, 2 ** 31 - 1, 1],
  [jumping, 7.5, 2 ** 31, 0],
  [jumping, neighbor(15, -1), 0, 1], // below an edge: never a row of the cell above
  [jumping, neighbor(15, -1), LAST, 1],
  [jumping, 15, 0, 2], // on an edge: the first row of the cell above
  [jumping, 15, LAST, 2],
  [jumping, neighbor(15, 1), 0, 3],
  [jumping, neighbor(15, 1), 1, 2],
  [jumping, neighbor(20, -1), LAST, 3],
  [jumping, 20, 0, 3], // on a knot without a jump
  [jumping, neighbor(20, 1), 0, 4],
  [jumping, 25, 2 ** 31 - 1, 4],
  [jumping, 25, 2 ** 31, 3],
  [jumping, neighbor(30, -1), 0, 4],
  [jumping, neighbor(30, -1), LAST, 4],
  [jumping, 30, 0, 5],
  [jumping, 30, LAST, 5],
  [jumping, 45, 2 ** 31 - 1, 6],
  [jumping, 45, 2 ** 31, 5],
  [jumping, neighbor(60, -1), LAST, 6],
  [jumping, 60, 0, 6], // the upper bound belongs to the last cell
  [jumping, 60, LAST, 6],
  [[-1e308, 0, 0, 7e307], neighbor(-1e308, 1), LAST, 0],
  [[-1e308, 0, 0, 7e307], -5e307, 2 ** 31 - 1, 1],
  [[-1e308, 0, 0, 7e307], -5e-324, LAST, 1],
  [[-1e308, 0, 0, 7e307], -0, LAST, 2],
  [[-1e308, 0, 0, 7e307], 0, 0, 2],
  [[-1e308, 0, 0, 7e307], 7e307, LAST, 3],
  [[0, 1e-323, 1e-323, 2e-323], 0, 0, 0], // 2^32 / width is infinite: times 0 it is no number
  [[0, 1e-323, 1e-323, 2e-323], 5e-324, LAST, 1],
  [[0, 1e-323, 1e-323, 2e-323], 1e-323, LAST, 2],
  [[0, 1e-323, 1e-323, 2e-323], 2e-323, LAST, 3],
  [[1e15, 1e15 + 0.125, 1e15 + 0.125, 1e15 + 1], 1e15 + 0.125, 0, 2],
  [[1e15, 1e15 + 0.125, 1e15 + 0.125, 1e15 + 1], 1e15, LAST, 0],
  // Three quarters of a cell: in another order of operations, the position rounds to the other side.
  [[0, 2.8], 2.1, 3 * 2 ** 30 - 1, 1],
  [[0, 2.8], 2.1, 3 * 2 ** 30, 0],
  [[0, 3.6], 2.7, 3 * 2 ** 30, 1],
  [[0, 3.6], 2.7, 3 * 2 ** 30 + 1, 0],
];

const wrongRows = (draw) =>
  ROWS.filter(([knots, x, high, row]) => draw(telltale(knots), [x], [high, MIDDLE]) !== row);

test("a number draws from a row of its own side of an edge", () => {
  assert.deepEqual(wrongRows(noutput.draw), []);
});

test("a row of the other side of an edge is noticed, and every other fault of the draw", async () => {
  const faults = [
    ["if (knots[middle] > x) end", "if (knots[middle] >= x) end"],
    ["let cell = 0;", "let cell = 1;"],
    ["end = knots.length - 1,", "end = knots.length - 2,"],
    ["? cell + 1 : cell;", "? cell : cell + 1;"],
    ["? cell + 1 : cell;", "? cell + 2 : cell;"],
    ["? cell + 1 : cell;", "? cell - 1 : cell;"],
    ["return word < (x", "return word <= (x"],
    ["return word < (x - knots[cell]) * rise ? cell + 1 : cell", "return word >= (x - knots[cell]) * rise ? cell : cell + 1"],
    ["(x - knots[cell]) * rise ", "((x - knots[cell]) / (knots[cell + 1] - knots[cell])) * SCALE "],
    ["(x - knots[cell]) * rise ", "((x - knots[cell]) * SCALE) / (knots[cell + 1] - knots[cell]) "],
    ["halves[2 * i]", "halves[2 * i + 1]"],
    ["let [, left] = halves;", "let [left] = halves;"],
  ];
  for (const fault of faults) assert.ok(await isNoticed(wrongRows, fault), fault[1]);
  assert.equal(await isNoticed(wrongRows, ["let cell = 0;", "let cell = 0; "]), false);
});

test("an answer draws from its own row, whatever the high half is", () => {
  const table = telltale(5);
  for (const high of [0, 7, LAST])
    for (let answer = 0; answer < 5; answer++) assert.equal(noutput.draw(table, [answer], [high, MIDDLE]), answer);
});

test("an output has as many low halves as its weight", async () => {
  const table = { axes: [2], weights: [[2, 1, 1], [1, 1, 2]].map((row) => row.map((part) => part * 2 ** 30)) };
  // Answer, low half, output.
  const draws = [
    [0, 0, 0], [0, 2 ** 31 - 1, 0], [0, 2 ** 31, 1], [0, 3 * 2 ** 30 - 1, 1], [0, 3 * 2 ** 30, 2], [0, LAST, 2],
    [1, 2 ** 30 - 1, 0], [1, 2 ** 30, 1], [1, 2 ** 31 - 1, 1], [1, 2 ** 31, 2],
  ];
  const wrong = ({ draw }) => draws.filter(([answer, low, output]) => draw(table, [answer], [7, low]) !== output);
  assert.deepEqual(wrong(noutput), []);
  assert.equal(wrong(await planted("(left -= weight) < 0", "(left -= weight) <= 0")).length, 4);
});

// Axes, inputs, high halves, row.
const PAIRS = [
  [[jumping, 4], [15, 3], [LAST, 0], 2 * 4 + 3],
  [[jumping, 4], [neighbor(15, -1), 3], [LAST, LAST], 1 * 4 + 3],
  [[jumping, 4], [60, 0], [0, LAST], 6 * 4],
  [[4, jumping], [3, 30], [0, LAST], 3 * 7 + 5],
  [[4, jumping], [0, 25], [0, 2 ** 31 - 1], 4],
  [[4, jumping], [0, 25], [LAST, 2 ** 31], 3],
  [[4, jumping], [1, 25], [2 ** 31, 0], 1 * 7 + 4],
  [[jumping, [0, 1, 1, 2]], [25, 0.5], [2 ** 31 - 1, 2 ** 31], 4 * 4],
  [[jumping, [0, 1, 1, 2]], [25, 0.5], [2 ** 31, 2 ** 31 - 1], 3 * 4 + 1],
  [[jumping, [0, 1, 1, 2]], [30, 1], [0, 0], 5 * 4 + 2],
  [[2, 3], [1, 2], [0, 0], 5],
  [[3, 2], [1, 1], [0, 0], 3],
];
const wrongPairs = (draw) =>
  PAIRS.filter(([axes, inputs, [first, second], row]) => {
    const table = telltale(...axes);
    // The low half of the second word is used for nothing.
    return [0, LAST].some((unused) => draw(table, inputs, [first, MIDDLE, second, unused]) !== row);
  });

test("two coordinates round with a word each, and the first draws", async () => {
  assert.deepEqual(wrongPairs(noutput.draw), []);
  const faults = [
    ["row * countRows(axis) +", "row * axes.length +"],
    ["row * countRows(axis) +", "row + countRows(axis) *"],
    ["halves[2 * i]", "halves[0]"],
    ["halves[2 * i]", "halves[i]"],
    ["let [, left] = halves;", "let [, , , left] = halves;"],
    ["inputs[i]", "inputs[0]"],
  ];
  for (const fault of faults) assert.ok(await isNoticed(wrongPairs, fault), fault[1]);
});

test("numbers are encoded in their own unit", () => {
  for (const [value, input] of [[-5, 0], [0, 0], [15, 15], [neighbor(45, -1), neighbor(45, -1)], [60, 60], [1e300, 60]])
    assert.equal(encode(minutes, value), input);
});

const table = telltale(jumping);
const read = (document, client = noutput) => client.readCampaign(JSON.stringify(document));
const refused = (document, why, code = "document") =>
  assert.rejects(read(document), ({ code: own, message }) => own === code && message.length < 200, why);

test("a table with jumps is read, and is what the client draws from", async () => {
  const campaign = await read(ask(minutes, table));
  assert.deepEqual(campaign.tables[0].axes, [jumping]);
  assert.equal(campaign.tables[0].fingerprint, table.fingerprint);
  assert.throws(() => (campaign.tables[0].axes[0][1] = 0), TypeError);
  const policy = { epsilon: 23, total: 23 };
  const now = () => Date.parse(campaign.opens);
  for (const [value, rows] of [[neighbor(15, -1), [1]], [15, [2]], [60, [6]], [-7, [0]]]) {
    const drawn = Array.from({ length: 10 }, async () => {
      const client = new noutput.Client(campaign, { storage: new Map(), policy, now });
      return (await client.report(value)).output; // of another row with a chance of 3e-9
    });
    for (const output of await Promise.all(drawn)) assert.ok(rows.includes(output), `${value} ${output}`);
  }
});

/** Texts that differ by one character from `start` to `end`, and are other JSON, or none. */
function* changes(text, start, end) {
  const content = (json) => {
    try {
      return JSON.stringify(JSON.parse(json));
    } catch {
      return null;
    }
  };
  const original = content(text);
  for (let i = start; i < end; i++)
    for (const letter of ["", ..."017.e-,a"]) {
      const changed = text.slice(0, i) + letter + text.slice(i + 1);
      if (content(changed) !== original) yield changed;
    }
}

test("every changed character of a table is refused", async () => {
  const text = JSON.stringify(ask({ ...minutes, edges: [15] }, telltale([0, 15, 15, 60])));
  await readCampaign(text);
  let count = 0;
  for (const changed of changes(text, text.indexOf('"tables":[{'), text.indexOf('"segments"'))) {
    await assert.rejects(readCampaign(changed), noutput.NoutputError, changed);
    count++;
  }
  assert.ok(count > 2000, `${count}`);
});

test("tables that are changed are refused, also where a part of the fingerprints is made anew", async () => {
  const inner = [0, 15, 15, 21, 30, 30, 60];
  const classes = {
    epsilon: { epsilon: 24 },
    knot: { axes: [inner] },
    weight: { weights: telltale(inner).weights.map((row, k) => (k ? row : row.map((w, i) => w + [1, -1][i] || w))) },
    row: { weights: [table.weights[1], table.weights[0], ...table.weights.slice(2)] },
  };
  const document = ask(minutes, table);
  for (const [why, change] of Object.entries(classes)) {
    const changed = { ...table, ...change };
    await refused({ ...document, tables: [changed] }, why); // neither fingerprint
    await refused({ ...document, tables: [signTable(changed)] }, why); // that of the table
    await refused(sign({ ...document, tables: [changed] }), why); // that of the campaign
    await read(sign({ ...document, tables: [signTable(changed)] })); // another campaign
  }
  for (const fingerprint of ["0".repeat(64), table.fingerprint.toUpperCase(), "", null, [table.fingerprint]])
    await refused(sign({ ...document, tables: [{ ...table, fingerprint }] }), `${fingerprint}`);
  for (const surplus of [{ outputs: [1] }, { knots: jumping }, { edges: [15] }, { thresholds: [] }, { "": 0 }])
    await refused(sign({ ...document, tables: [{ ...table, ...surplus }] }), JSON.stringify(surplus));
  for (const key of Object.keys(table)) {
    const { [key]: _, ...rest } = table;
    await refused({ ...document, tables: [rest] }, key);
  }
  const { readCampaign: careless } = await planted('  expect(found.fingerprint === print, "fingerprint");\n', "");
  const changed = sign({ ...document, tables: [{ ...table, ...classes.knot }] });
  await careless(JSON.stringify(changed)); // so it is that line that refuses it
});

test("knots increase, one of them at most twice, and never a bound", async () => {
  const good = [
    [[0, 60], []],
    [[0, 15, 60], []],
    [[0, 15, 15, 60], [15]],
    [[0, 15, 15, 30, 30, 60], [15, 30]],
    [[0, 10, 15, 15, 20, 60], [15]],
    [[0, 15, 15, 60], [15]],
    [[-0, 15, 15, 60], [15]],
  ];
  for (const [knots, edges] of good) await read(ask({ ...minutes, edges }, telltale(knots)));
  const bad = [
    [[0, 0, 60], [0]],
    [[0, 0, 60], []],
    [[0, 60, 60], [60]],
    [[0, 60, 60], []],
    [[0, 15, 15, 15, 60], [15]],
    [[0, 15, 15, 15, 15, 60], [15, 15]],
    [[0, 15, 14, 60], []],
    [[0, 15, 0, 60], []],
    [[0, 15, 15, 14, 60], [15]],
    [[0, 30, 30, 15, 15, 60], [30, 15]],
    [[60, 0], []],
    [[0, 15, 61, 60], []],
  ];
  for (const [knots, edges] of bad) await refused(ask({ ...minutes, edges }, telltale(knots)), `${knots}`);
  const none = [[], {}, null, 1, 65, 2.5, "2", true, [0], ["0", "60"], [0, [15], 60], [0, null, 60], [[0, 60]], { length: 2 }];
  const two = telltale([0, 60]);
  for (const axis of none) {
    const { edges, ...question } = minutes;
    const changed = { ...two, axes: [axis] };
    let signed = changed;
    try {
      signed = signTable(changed);
    } catch {
      // no form that could be signed
    }
    await refused(ask(question, signed), JSON.stringify(axis));
  }
  for (const axes of [[], {}, null, 2, "a", [[0, 60], [0, 60], [0, 60]]])
    await refused(ask(minutes, { ...two, axes }), JSON.stringify(axes));
});

test("up to 4,096 knots are read", async () => {
  const even = [2 ** 31, 2 ** 31];
  const wide = (count) =>
    signTable({ ...table, axes: [Array.from({ length: count }, (_, k) => (60 * k) / (count - 1))], weights: Array(count).fill(even) });
  const { edges, ...question } = minutes;
  await read(ask(question, wide(4096)));
  await refused(ask(question, wide(4097)));
});

test("a table has the bounds and the edges of its question", async () => {
  const { edges, ...plain } = minutes;
  const smooth = telltale([0, 15, 30, 60]);
  await read(ask(plain, smooth));
  await read(ask({ ...minutes, edges: [] }, smooth));
  const wrong = [
    [minutes, smooth],
    [plain, table],
    [{ ...minutes, edges: [] }, table],
    [{ ...minutes, edges: [15] }, table],
    [{ ...minutes, edges: [15, 20] }, table],
    [{ ...minutes, edges: [15, 20, 30] }, table],
    [{ ...minutes, edges: [15, neighbor(30, 1)] }, table],
    [{ ...minutes, upper: neighbor(60, 1) }, table],
    [{ ...minutes, upper: 61 }, table],
    [{ ...minutes, lower: -1 }, table],
    [{ ...minutes, lower: 5e-324 }, table],
    [plain, telltale(4)],
    [plain, telltale([0, 60], 2)],
    [plain, telltale([0, 60], [0, 60])],
    [plain, telltale(2, [0, 60])],
    [minutes, telltale(jumping, 2)],
  ];
  for (const [question, own] of wrong) await refused(ask(question, own), JSON.stringify([question, own.axes]));
  const choice = { kind: "choice", name: "means", answers: ["train", "car", "other"] };
  await read(ask(choice, telltale(3)));
  for (const axes of [[2], [4], [[0, 1, 2]], [3, 2], [[0, 1, 1, 2]]]) await refused(ask(choice, telltale(...axes)), `${axes}`);
  await read(ask({ kind: "yes/no", name: "late" }, telltale(2)));
  await refused(ask({ kind: "yes/no", name: "late" }, telltale(3)));
});

test("a table of a later wave has its bounds, and the edges inside them", async () => {
  const next = { rule: "range 1", reports: 10, expected: 100, until: null };
  const first = { tables: [0], objectives: ["mean"], next };
  const begun = sign({ ...ask(minutes, table), waves: [first] });
  const continued = (bounds, knots) => {
    const inputs = [[table.weights.map(() => 1)]];
    const wave = { tables: [1], objectives: ["mean"], bounds: [bounds], inputs, predecessor: begun.fingerprint, reasons: [""] };
    return sign({ ...begun, waves: [first, wave], tables: [table, telltale(knots)] });
  };
  const { asked: [question] } = await read(continued([0, 20], [0, 15, 15, 20]));
  assert.deepEqual([question.lower, question.upper, question.edges], [0, 20, [15]]);
  assert.equal(encode(question, 25), 20);
  await read(continued([15, 60], [15, 20, 30, 30, 60]));
  await read(continued([5, 14], [5, 14]));
  const wrong = [
    [[0, 20], [0, 20]],
    [[0, 20], [0, 15, 20]],
    [[0, 20], [0, 15, 15, 20, 20]],
    [[0, 20], [0, 15, 15, 21]],
    [[0, 20], [0, 15, 15, 30, 30, 61]],
    [[0, 60], [0, 15, 15, 60]],
    [[15, 60], [15, 15, 30, 30, 60]],
    [[0, 30], [0, 15, 15, 30, 30]],
  ];
  for (const [bounds, knots] of wrong) await refused(continued(bounds, knots), `${bounds}: ${knots}`);
});

test("edges increase strictly inside the bounds, and are at most 31", async () => {
  const many = (count) => Array.from({ length: count }, (_, k) => (60 * (k + 1)) / (count + 1));
  const knots = (edges) => [0, ...edges.flatMap((edge) => [edge, edge]), 60];
  await read(ask({ ...minutes, edges: many(31) }, telltale(knots(many(31)))));
  const wrong = [many(32), [0], [60], [-1], [61], [30, 15], [15, 15], ["15"], [null], [[15]], [true], {}, "15", 15, null];
  for (const edges of wrong) {
    const own = telltale(Array.isArray(edges) && edges.every(Number.isFinite) ? knots(edges) : [0, 60]);
    await refused(ask({ ...minutes, edges }, own), JSON.stringify(edges));
  }
  for (const kind of ["scale", "choice"])
    await refused(ask({ kind, name: "means", answers: ["a", "b"], edges: [15] }, telltale(2)), kind);
});

test("a number of answers is written without a point, knots are as they like", async () => {
  const choice = JSON.stringify(ask({ kind: "yes/no", name: "late" }, telltale(2)));
  const number = JSON.stringify(ask(minutes, table));
  assert.ok(choice.includes('"axes":[2]') && number.includes('"axes":[[0,15,15,20,'));
  for (const axes of ["[2.0]", "[ 2e0 ]", "[2.0,[1.5]]", "[[1.5],2.0]", "2.0"])
    await assert.rejects(readCampaign(choice.replace('"axes":[2]', `"axes":${axes}`)), { code: "document" }, axes);
  await readCampaign(choice.replace('"axes":[2]', '"axes" : [ 2 ]'));
  for (const axes of ["[[0.0,15.0,1.5e1,2E1,", "[ [0,15,15,20.0,", "[\n[-0.0, 15, 15,\n20, "])
    await readCampaign(number.replace('"axes":[[0,15,15,20,', `"axes":${axes}`));
});
