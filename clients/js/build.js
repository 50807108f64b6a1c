// Writes noutput.min.js, here and for the dashboard. Run with terser at hand: npx --yes --package terser node build.js
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const file = (name) => new URL(name, import.meta.url);
const source = readFileSync(file("noutput.js"));
const compress = "passes=3,ecma=2022,unsafe_arrows,keep_fargs=false";
const options = ["--module", "--compress", compress, "--mangle"];
const code = execFileSync("terser", options, { input: source });
const digest = createHash("sha256").update(source).digest("hex");
const dashboard = "../../src/noutput/collector/dashboard/static/noutput.min.js";
for (const name of ["noutput.min.js", dashboard]) {
  writeFileSync(file(name), `/* noutput.js, MIT, sha256 ${digest} */\n${code}`);
}
