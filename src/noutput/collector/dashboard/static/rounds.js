// What is under the pointer in the time chart, and a choice of rounds by dragging over them.

const readout = document.getElementById("round-readout");
if (readout && matchMedia("(pointer: fine)").matches) {
  readout.textContent += " Drag over rounds to see these alone.";
}
const normal = readout?.textContent;
const NAMESPACE = "http://www.w3.org/2000/svg";
let start = null;
let mark = null;

const data = () => JSON.parse(document.querySelector("#rounds script").textContent);

/** The place of a round in a picture, by the pointer; none beside the axis. */
function place(event, svg, count) {
  const axis = svg.querySelector(".chart-base");
  const inside = new DOMPoint(event.clientX, event.clientY).matrixTransform(
    svg.getScreenCTM().inverse(),
  );
  const [left, right] = ["x1", "x2"].map((name) => Number(axis.getAttribute(name)));
  const found = Math.floor(((inside.x - left) / (right - left)) * count);
  return found >= 0 && found < count ? found : null;
}

function show(svg, first, last, count) {
  const axis = svg.querySelector(".chart-base");
  const [left, right, base] = ["x1", "x2", "y1"].map((name) => Number(axis.getAttribute(name)));
  const step = (right - left) / count;
  mark ??= svg.appendChild(document.createElementNS(NAMESPACE, "rect"));
  const box = { x: left + first * step, width: (last - first + 1) * step, y: 0, height: base };
  for (const [name, value] of Object.entries(box)) mark.setAttribute(name, value);
  mark.setAttribute("class", "chart-chosen");
}

function move(event) {
  const svg = event.target.closest?.("#rounds svg");
  if (!svg) return;
  const { texts } = data();
  const found = place(event, svg, texts.length);
  if (found === null) return;
  readout.textContent = texts[found];
  if (start !== null) show(svg, Math.min(start, found), Math.max(start, found), texts.length);
}

function end(event) {
  const svg = event.target.closest?.("#rounds svg");
  const { first, texts } = data();
  const found = svg && start !== null ? place(event, svg, texts.length) : null;
  mark?.remove();
  const from = start;
  mark = start = null;
  if (found === null || found === from) return;
  const address = new URL(location.href);
  for (const name of ["first", "last"]) address.searchParams.delete(name);
  const chosen = [from, found].sort((a, b) => a - b).map((each) => first + each);
  address.searchParams.set("rounds", chosen.join("-"));
  location.href = address.href;
}

if (readout) {
  const card = readout.closest("section");
  card.addEventListener("pointerdown", (event) => {
    const svg = event.pointerType === "mouse" && event.target.closest?.("#rounds svg");
    if (svg) start = place(event, svg, data().texts.length);
  });
  card.addEventListener("pointermove", move);
  card.addEventListener("pointerup", end);
  card.addEventListener("pointerleave", () => {
    mark?.remove();
    mark = start = null;
    readout.textContent = normal;
  });
}
