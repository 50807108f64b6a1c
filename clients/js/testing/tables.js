// Tables and documents for tests, made without the client.
import { sign, signTable } from "./sign.js";

const SCALE = 2 ** 32;
const RARE = 2; // the weight of every output but the row's own

/** A table with one output per row. The low half MIDDLE draws the output with the number of its row. */
export function telltale(...axes) {
  const count = axes.reduce((product, axis) => product * (axis.length ?? axis), 1);
  const row = (own) =>
    Array.from({ length: count }, (_, i) => (i === own ? SCALE - RARE * (count - 1) : RARE));
  const weights = Array.from({ length: count }, (_, own) => row(own));
  return signTable({ format: "noutput-table", version: 1, epsilon: 23, scale: SCALE, axes, weights });
}
export const MIDDLE = SCALE / 2;

/** The halves of 64-bit words that are written in hexadecimal digits. */
export const halves = (...words) =>
  words.flatMap((word) => [word.slice(0, 8), word.slice(8)].map((digits) => parseInt(digits, 16)));

/** A document that asks one question with one table, both fingerprints right. */
export const ask = (question, table) =>
  sign({
    format: "noutput-campaign",
    version: 1,
    id: "commute",
    title: "Commute",
    text: "How long?",
    public: true,
    opens: "2026-03-01T00:00:00Z",
    closes: "2036-03-01T00:00:00Z",
    ask: "one",
    questions: [question],
    waves: [{ tables: [0], objectives: ["mean"] }],
    tables: [table],
    segments: {},
    schedule: null,
    admission: "open",
  });

/** A question that a table with one axis fits. */
export function questionOf({ axes: [axis] }) {
  if (!Array.isArray(axis))
    return { kind: "choice", name: "a", answers: Array.from({ length: axis }, (_, i) => `${i}`) };
  const edges = axis.filter((knot, i) => knot === axis[i - 1]);
  return { kind: "number", name: "a", unit: "", lower: axis[0], upper: axis.at(-1), edges };
}

/** The neighboring double of a number that is not 0: 1 for the one farther from 0, -1 for the nearer. */
export function neighbor(number, step) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(step));
  return view.getFloat64(0);
}
