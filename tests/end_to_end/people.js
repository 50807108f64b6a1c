// Many people, each with a ledger of their own, answer a campaign. Reads
// {"module": address, "url": address, "values": [number, ...]}, writes how many were accepted.
import { readFileSync } from "node:fs";

const { module, url, values } = JSON.parse(readFileSync(0));
const noutput = await import(module);
const campaign = await noutput.fetchCampaign(url);
let accepted = 0;
for (const value of values) {
  const storage = new Map();
  const policy = { epsilon: campaign.epsilon, total: campaign.epsilon };
  const client = new noutput.Client(campaign, { storage, policy });
  const receipt = await client.submit(url, value);
  const again = await client.submit(url, value);
  accepted += receipt.accepted + again.accepted;
}
console.log(accepted);
