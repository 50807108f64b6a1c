// The visitor's own browser makes a report, shows it, and sends it only when told to.
import { Client, encode, fetchCampaign } from "./noutput.min.js";

const form = document.getElementById("try");
const part = (name) => document.getElementById(`try-${name}`);
const SCALE = 2 ** 32;
const LIMIT = "noutput-limit";
const PERIOD = 4; // reports at the limit in 30 days
const NAMESPACE = "http://www.w3.org/2000/svg";
const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** How likely every output is for a number of [-1, 1], or for the place of an answer. */
function chances({ knots, weights }, x) {
  if (!knots) return weights[x].map((weight) => weight / SCALE);
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

/** A bar for every report: its chance for this number, and the range over all numbers. */
function picture(table, mine, chosen) {
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
  svg.setAttribute("aria-label", "How likely your number makes each report");
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
const input = (name) => form.querySelector(`[data-attribute="${name}"]`);
const labelOf = (name) => input(name).dataset.label;

function show(campaign, report, values, again) {
  const { tables, questions } = campaign;
  const name = report.question ?? report.attribute;
  const place = questions.findIndex((question) => question.name === name);
  const table = tables[place];
  const mine = chances(table, encode(questions[place], values[name]));
  const column = table.weights.map((row) => row[report.output] / SCALE);
  const [least, most] = [Math.min(...column), Math.max(...column)].map((chance) => format.format(100 * chance));
  const about = questions.length > 1 ? ` about ${labelOf(name)}` : "";
  part("says").textContent = again
    ? `This browser has answered before, so it sends the same report again: number ${report.output} of 0 to ${mine.length - 1}${about}. Repeating it tells nobody anything new.`
    : `Your report is number ${report.output} of 0 to ${mine.length - 1}${about}. With your answer its chance was ${format.format(100 * mine[report.output])}%; with any other answer it would have been between ${least}% and ${most}%.`;
  const caption = document.createElement("figcaption");
  caption.textContent =
    "Bars: how likely your answer makes each report; the filled one was drawn. Behind them: what other answers would do.";
  part("figure").replaceChildren(picture(table, mine, report.output), caption);
  part("report").textContent = JSON.stringify(report);
  part("sent").textContent = "";
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

if (form) {
  form.hidden = false;
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
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    part("error").hidden = true;
    try {
      campaign ??= await fetchCampaign(address);
      values = Object.fromEntries(
        campaign.questions.map(({ name }) => [name, input(name).valueAsNumber]),
      );
      // The limit is the visitor's, whatever the campaign asks for.
      const epsilon = Number(limit.value);
      if (campaign.epsilon > epsilon) throw new Error(tooMuch(campaign.epsilon, epsilon));
      const policy = { epsilon, total: PERIOD * epsilon };
      client = new Client(campaign, { policy, storage });
      isNew = false;
      const report = await client.report(values);
      show(campaign, report, values, !isNew);
    } catch (error) {
      part("result").hidden = true;
      fail(error);
    }
  });
  part("send").addEventListener("click", async () => {
    part("send").disabled = true;
    part("error").hidden = true;
    try {
      const { accepted } = await client.submit(address, values); // the report that was shown
      part("sent").textContent = accepted
        ? "Sent and counted. Thank you."
        : "It had been counted before.";
      dispatchEvent(new Event("looknow"));
    } catch (error) {
      part("send").disabled = false;
      fail(error);
    }
  });
}
