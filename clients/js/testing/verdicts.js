// Which documents this client reads. Takes a list of documents in base 64 from standard input, and
// writes a list of truth values, for comparisons with clients in other languages.
import { readFileSync } from "node:fs";
import { noutput } from "./module.js";

const verdict = (body) =>
  noutput.readCampaign(Buffer.from(body, "base64")).then(
    () => true,
    (error) => {
      if (error instanceof noutput.NoutputError) return false;
      throw error;
    },
  );
const documents = JSON.parse(readFileSync(0));
console.log(JSON.stringify(await Promise.all(documents.map(verdict))));
