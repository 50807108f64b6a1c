// Outputs for many inputs, for audits written in other languages. Reads {"campaign": text, "x":
// [numbers in the question's unit, or indices of answers]} from standard input, draws each from the
// table of the first question with a word of its own, and writes a list.
import { readFileSync } from "node:fs";
import { noutput } from "./module.js";

const { campaign: text, x } = JSON.parse(readFileSync(0));
const { tables: [table] } = await noutput.readCampaign(text);
const words = new Uint32Array(8192);
const outputs = x.map((number, i) => {
  const start = (2 * i) % words.length;
  if (start === 0) crypto.getRandomValues(words);
  return noutput.draw(table, [number], words.subarray(start, start + 2));
});
console.log(JSON.stringify(outputs));
