// What is under the pointer in the distribution, and the picture as PNG.

const readout = document.getElementById("readout");
const normal = readout?.textContent;
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const percent = (share) => `${number.format(100 * share)}%`;

function point(event) {
  const svg = event.target.closest?.("#distribution svg");
  if (!svg) return;
  const { edges, probabilities, lower, upper } = JSON.parse(
    document.querySelector("#distribution script").textContent,
  );
  if (!edges) return; // a picture of answers says everything by itself
  const axis = svg.querySelector(".chart-base");
  const inside = new DOMPoint(event.clientX, event.clientY).matrixTransform(
    svg.getScreenCTM().inverse(),
  );
  const [start, end] = ["x1", "x2"].map((name) => Number(axis.getAttribute(name)));
  const share = (inside.x - start) / (end - start);
  const bin = Math.floor(share * probabilities.length);
  if (!(bin in probabilities)) return;
  const [low, high] = [edges[bin], edges[bin + 1]].map(number.format);
  readout.textContent =
    `${low} to ${high} ${readout.dataset.unit}: ${percent(probabilities[bin])} of people ` +
    `(${percent(lower[bin])} to ${percent(upper[bin])}).`;
}

async function savePng(address, name) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.naturalWidth;
  canvas.height = 2 * image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

if (readout) {
  const card = readout.closest("section");
  card.addEventListener("pointermove", point);
  card.addEventListener("pointerleave", () => (readout.textContent = normal));
  const button = document.getElementById("export-png");
  button.hidden = false;
  button.addEventListener("click", () =>
    savePng(document.getElementById("export-svg").href, button.dataset.name).catch(() => {
      readout.textContent = "The picture cannot be made now: the collector does not answer.";
    }),
  );
}
