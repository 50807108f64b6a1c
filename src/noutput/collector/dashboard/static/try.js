// The visitor's own browser makes a report, shows it, and sends it only when told to.
import { Client, encode, fetchCampaign, labels } from "./noutput.min.js";

const form = document.getElementById("try");
const part = (name) => document.getElementById(`try-${name}`);
const SCALE = 2 ** 32;
const LIMIT = "noutput-limit";
const LEDGER = "noutput-ledger"; // of noutput.js
const LONGEST_WAIT = 2 ** 31 - 1; // of setTimeout
const PERIOD = 4; // reports at the limit in 30 days
const NAMESPACE = "http://www.w3.org/2000/svg";
const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** How likely every output is for a number in its own unit, or for the index of an answer. */
function chances({ axes: [knots], weights }, x) {
  if (!Array.isArray(knots)) return weights[x].map((weight) => weight / SCALE);
  let cell = knots.length - 2;
  while (cell && knots[cell] > x) cell--;
  const share = (x - knots[cell]) / (knots[cell + 1] - knots[cell]);
  return weights[cell].map((weight, i) => ((1 - share) * weight + share * weights[cell + 1][i]) / SCALE);
}

function element(name, attributes, parent) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return parent.appendChild(made);
}

/** A bar for every report: its chance for this answer, and the range over all answers. */
function picture(table, mine, chosen, about) {
  const [width, height, base] = [480, 150, 128];
  const ranges = mine.map((_, i) => {
    const column = table.weights.map((row) => row[i] / SCALE);
    return [Math.min(...column), Math.max(...column)];
  });
  const highest = Math.max(...ranges.map(([, high]) => high));
  const step = width / mine.length;
  const y = (chance) => base - (chance / highest) * (base - 8);
  const svg = document.createElementNS(NAMESPACE, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `How likely your answer makes each report${about}`);
  mine.forEach((chance, i) => {
    const [left, right] = [i * step + step * 0.16, step * 0.68];
    const [low, high] = ranges[i];
    const kind = i === chosen ? "bar chosen" : "bar";
    element("rect", { class: "range", x: left, width: right, y: y(high), height: y(low) - y(high) }, svg);
    element("rect", { class: kind, x: left, width: right, y: y(chance), height: base - y(chance) }, svg);
    if (mine.length <= 24) {
      const text = element("text", { x: left + right / 2, y: base + 16, "text-anchor": "middle" }, svg);
      text.textContent = i;
    }
  });
  return svg;
}

// Not by the name of a field: one called `length` or `hidden` would hide what a form has itself.
const control = (name) => form.querySelector(`[data-question="${name}"]`);
const labelOf = (name) => control(name).dataset.label;

/** What the visitor answers: a number, or the label of the answer that was chosen. */
function valueOf(question) {
  const found = control(question.name);
  if (question.kind === "number") return found.valueAsNumber;
  const chosen = found.matches("select") ? found : found.querySelector("input:checked");
  return labels(question)[Number(chosen.value)];
}

/** One report in words, with its picture. */
function describe({ tables, asked }, report, values) {
  const name = report.question;
  const index = asked.findIndex((question) => question.name === name);
  const table = tables[index];
  const mine = chances(table, encode(asked[index], values[name]));
  const column = table.weights.map((row) => row[report.output] / SCALE);
  const [least, most] = [Math.min(...column), Math.max(...column)].map((chance) => format.format(100 * chance));
  const about = asked.length > 1 ? ` about ${labelOf(name)}` : "";
  return {
    number: `number ${report.output} of 0 to ${mine.length - 1}${about}`,
    chance: `With your answer its chance was ${format.format(100 * mine[report.output])}%; with any other answer it would have been between ${least}% and ${most}%.`,
    svg: picture(table, mine, report.output, about),
  };
}

function show(campaign, reports, values, again) {
  const found = reports.map((report) => describe(campaign, report, values));
  const [said, its] = [found.map(({ number }) => number).join("; "), reports.length > 1];
  const start = its ? "Your reports are" : "Your report is";
  part("says").textContent = again
    ? `This browser has answered before, so it sends the same report${its ? "s" : ""} again: ${said}. Repeating ${its ? "them" : "it"} tells nobody anything new.`
    : `${start} ${said}.${its ? "" : ` ${found[0].chance}`}`;
  const caption = document.createElement("figcaption");
  caption.textContent =
    "Bars: how likely your answer makes each report; the filled one was drawn. Behind them: what other answers would do.";
  part("figure").replaceChildren(...found.map(({ svg }) => svg), caption);
  part("report").textContent = reports.map((report) => JSON.stringify(report)).join("\n");
  part("sent").textContent = "";
  part("send").textContent = its ? "Send these reports" : "Send this report";
  part("send").disabled = false;
  part("result").hidden = false;
}

function fail(error) {
  part("error").textContent = error.message[0].toUpperCase() + error.message.slice(1);
  part("error").hidden = false;
}

const tooMuch = (asked, allowed) =>
  `This campaign asks for ε = ${asked}, and your limit is ${allowed}. No report was drawn. ` +
  "Choose a higher limit if a report may tell that much about you.";

/** The limit that was chosen last in this browser. */
function remembered() {
  try {
    return localStorage.getItem(LIMIT);
  } catch {
    return null;
  }
}

function remember(event) {
  try {
    localStorage.setItem(LIMIT, event.target.value);
  } catch {
    // The choice lasts as long as the page.
  }
}

/** What this browser has answered, as text; empty where it keeps nothing. */
function ledger() {
  try {
    return localStorage.getItem(LEDGER) ?? "";
  } catch {
    return "";
  }
}

/** From when to when a round lasts, in words, where the visitor is. */
const span = ({ start, end }) =>
  new Intl.DateTimeFormat("en-GB", {
    weekday: "long", day: "numeric", month: "long", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  }).formatRange(start, end);

/** When this browser answers, in words; and whether it may do so now, or has done so in this round. */
async function whenAsked(campaign) {
  // Any epsilon: nothing is drawn from a table here. The page is the collector's own, and so is what
  // it fetches: it may make its campaigns anew.
  const policy = { epsilon: 2 * campaign.epsilonPerPeriod, newRoots: true };
  const next = await new Client(campaign, { policy }).nextRound();
  const now = Date.now();
  const length = (Date.parse(campaign.closes) - Date.parse(campaign.opens)) / campaign.rounds;
  const present = Math.floor((now - Date.parse(campaign.opens)) / length);
  const isMade = ledger().includes(`"${campaign.root}:${present}"`);
  if (next?.start <= now) return { isAsked: true, said: `This browser answers now: ${span(next)}.` };
  const later = next
    ? `This browser answers next in this time, which was drawn in advance, whatever you would answer: ${span(next)}.`
    : "There is no further time in which this browser answers.";
  const wait = next ? next.start - now : LONGEST_WAIT;
  return { isAsked: isMade, said: isMade ? `This browser has made its report. ${later}` : later, wait };
}

if (form) {
  const address = new URL(form.dataset.campaign, location);
  let campaign = null;
  let client = null;
  let values = null;
  let isNew = false;
  const limit = part("limit");
  const chosen = remembered();
  if ([...limit.options].some(({ value }) => value === chosen)) limit.value = chosen;
  limit.addEventListener("change", remember);
  const storage = {
    getItem: (key) => localStorage.getItem(key),
    setItem: (key, text) => {
      isNew = true; // only a new report is written down
      localStorage.setItem(key, text);
    },
  };
  const ask = part("ask"); // where the campaign has a schedule
  const look = async () => {
    part("error").hidden = true;
    try {
      campaign ??= await fetchCampaign(address);
      const { isAsked, said, wait = LONGEST_WAIT } = await whenAsked(campaign);
      part("when").textContent = said;
      form.hidden = !isAsked;
      ask.hidden = true;
      if (wait < LONGEST_WAIT) setTimeout(look, wait);
    } catch (error) {
      fail(error);
    }
  };
  form.hidden = Boolean(ask);
  if (ask) {
    // The first look draws a secret and stores it, so it waits for the visitor.
    ask.hidden = false;
    ask.addEventListener("click", look);
    if (ledger().includes(ask.dataset.root)) look();
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    part("error").hidden = true;
    try {
      campaign ??= await fetchCampaign(address);
      values = Object.fromEntries(
        campaign.questions.map((question) => [question.name, valueOf(question)]),
      );
      // The limit is the visitor's, whatever the campaign asks for.
      const epsilon = Number(limit.value);
      if (campaign.epsilon > epsilon) throw new Error(tooMuch(campaign.epsilon, epsilon));
      const policy = { epsilon, total: PERIOD * epsilon, newRoots: true };
      client = new Client(campaign, { policy, storage, locks: navigator.locks });
      isNew = false;
      show(campaign, await client.reports(values), values, !isNew);
    } catch (error) {
      part("result").hidden = true;
      if (error.code === "due") look(); // the round ended while the page was open
      else fail(error);
    }
  });
  part("send").addEventListener("click", async () => {
    part("send").disabled = true;
    part("error").hidden = true;
    try {
      const { reports, accepted } = await client.submit(address, values); // those that were shown
      const before = reports.length > 1 ? "They had been counted before." : "It had been counted before.";
      part("sent").textContent = accepted ? "Sent and counted. Thank you." : before;
      dispatchEvent(new Event("looknow"));
    } catch (error) {
      part("send").disabled = false;
      fail(error);
    }
  });
}
