// One process of several that share a ledger: node answering.js MODE FOLDER PLACE... answers campaigns
// of the vectors, and prints the id of its report, or the code of the error. MODE is "shared", or "paused": after it has read the ledger for the
// first time it prints "read", and goes on when it is told to. "unlocked" is paused, without a lock.
import { mkdirSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { openLedger } from "../node.js";
import { locks as none, noutput, vectors } from "./module.js";

const [mode, folder, ...places] = process.argv.slice(2);
const file = `${folder}/plain`;
const plain = {
  getItem: () => {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return null;
    }
  },
  setItem: (_, text) => writeFileSync(file, text),
};
mkdirSync(folder, { recursive: true });
const ledger = mode === "unlocked" ? { storage: plain, locks: none } : openLedger(folder);
const waitForInput = () => {
  for (;;)
    try {
      return readSync(0, new Uint8Array(1));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error; // where the pipe does not block
    }
};
const { getItem } = ledger.storage;
let isPaused = mode !== "shared";
ledger.storage.getItem = (key) => {
  const text = getItem(key);
  if (isPaused) {
    isPaused = false;
    writeFileSync(1, "read\n");
    waitForInput();
  }
  return text;
};
for (const place of places) {
  const campaign = await noutput.readCampaign(vectors("campaigns").good[place].text);
  const now = () => Date.parse(campaign.opens);
  const client = new noutput.Client(campaign, { ...ledger, now, policy: { epsilon: 8, total: 8 } });
  const values = { late: "yes", commute: 42 }[campaign.id];
  console.log(await client.report(values).then(({ id }) => id, ({ code, message }) => code ?? message));
}
