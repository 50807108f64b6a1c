// Writes noutput.min.js, here and for the dashboard. Run with terser at hand: npx --yes --package terser node build.js
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const file = (name) => new URL(name, import.meta.url);
const source = readFileSync(file("noutput.js"));
const code = execFileSync("terser", ["--module", "--compress", "--mangle"], { input: source });
const digest = createHash("sha256").update(source).digest("hex");
const dashboard = "../../src/noutput/collector/dashboard/static/noutput.min.js";
for (const name of ["noutput.min.js", dashboard]) {
  writeFileSync(file(name), `/* noutput.js, MIT, sha256 ${digest} */\n${code}`);
}
