// Counts of outputs as a device draws them, for audits written in other languages. Reads
// {"campaign": text, "value": answer, "reports": number} from standard input, writes a list.
import { readFileSync } from "node:fs";
import { memory, noutput } from "./module.js";

const { campaign: text, value, reports } = JSON.parse(readFileSync(0));
const campaign = await noutput.readCampaign(text);
const now = () => Date.parse(campaign.opens);
const policy = { epsilon: campaign.epsilon, total: campaign.epsilon };
const counts = campaign.tables[0].weights[0].map(() => 0);
for (let i = 0; i < reports; i++) {
  const client = new noutput.Client(campaign, { storage: memory(), now, policy });
  counts[(await client.report(value)).output]++;
}
console.log(JSON.stringify(counts));
