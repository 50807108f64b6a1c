// One person with an enrollment code: asks the issuer, reports twice.
// node enrolled.js CAMPAIGN-URL CODE
import { admit, enroll } from "../../clients/js/enroll.js";
import { Client, fetchCampaign } from "../../clients/js/noutput.js";
import { memory } from "../../clients/js/testing/module.js";

const [url, credential] = process.argv.slice(2);
const storage = memory();
const campaign = await fetchCampaign(url);
const token = await enroll(campaign, { credential, storage });
const client = new Client(campaign, { storage, policy: { epsilon: 8, total: 8 } });
const admitted = await admit(campaign, token);
const first = await client.submit(url, "yes", { admitted });
const again = await client.submit(url, "no", { admitted });
console.log(JSON.stringify({ token, accepted: [first.accepted, again.accepted], repeated: again.repeated }));
