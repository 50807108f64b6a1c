// Asks for this very page again and puts what has changed in its place.

const source = document.querySelector("[data-poll]");
const LONGEST = 60;
let seconds = Number(source?.dataset.poll ?? 0);
let wait = seconds;
let tag = null;
let timer = 0;

/** A line that appears while the collector is away, with the time of what the page shows. */
const notice = document.createElement("p");
notice.className = "away";
notice.setAttribute("role", "status");
let seen = new Date();

function replace(fresh) {
  const kind = (page) => page.querySelector("[data-reload]")?.id;
  if (kind(document) !== kind(fresh)) {
    location.reload(); // the page has other parts now
    return;
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(part.id);
    if (next && next.outerHTML !== part.outerHTML) part.replaceWith(document.adoptNode(next));
  }
  dispatchEvent(new Event("pagechange"));
}

async function look() {
  const headers = { Accept: "text/html", ...(tag && { "If-None-Match": tag }) };
  const answer = await fetch(location.href, { headers, cache: "no-store" });
  if (answer.status === 304) return;
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  tag = answer.headers.get("ETag");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!fresh.querySelector("[data-poll]")) seconds = 0; // it was closed
  replace(fresh);
}

async function turn() {
  clearTimeout(timer);
  if (!seconds || document.hidden) return;
  try {
    await look();
    wait = seconds;
    seen = new Date();
    notice.textContent = "";
  } catch {
    wait = Math.min(2 * wait, LONGEST); // the collector is away; it need not be asked so often
    notice.textContent =
      `The collector does not answer. This is what it said at ${seen.toLocaleTimeString()}; ` +
      "the page goes on by itself once it is back.";
  }
  clearTimeout(timer); // somebody else may have asked meanwhile
  if (seconds) timer = setTimeout(turn, 1000 * wait);
}

if (seconds) {
  timer = setTimeout(turn, 1000 * seconds);
  document.body.append(notice);
  document.addEventListener("visibilitychange", turn);
  addEventListener("online", turn);
  addEventListener("looknow", turn);
}
