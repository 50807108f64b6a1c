// Blind signatures by another implementation of RFC 9474. Reads a list of steps from standard input,
// each {"do": ..., ...} with bytes in hexadecimal digits, and answers each.
import { readFileSync } from "node:fs";
import { RSABSSA } from "@cloudflare/blindrsa-ts";

const suite = RSABSSA.SHA384.PSS.Deterministic();
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const hex = (data) => Buffer.from(data).toString("hex");
const load = (jwk, use) =>
  crypto.subtle.importKey("jwk", jwk, { name: "RSA-PSS", hash: "SHA-384" }, true, [use]);

const steps = {
  async blind({ key, message }) {
    const { blindedMsg, inv } = await suite.blind(await load(key, "verify"), bytes(message));
    return { blinded: hex(blindedMsg), inv: hex(inv) };
  },
  async sign({ key, blinded }) {
    return { signature: hex(await suite.blindSign(await load(key, "sign"), bytes(blinded))) };
  },
  async finalize({ key, message, signature, inv }) {
    const pub = await load(key, "verify");
    const done = await suite.finalize(pub, bytes(message), bytes(signature), bytes(inv));
    return { signature: hex(done), good: await suite.verify(pub, done, bytes(message)) };
  },
};
const { do: name, ...rest } = JSON.parse(readFileSync(0));
console.log(JSON.stringify(await steps[name](rest)));
