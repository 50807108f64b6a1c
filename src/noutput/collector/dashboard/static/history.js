// What is followed over time: a figure and its interval, or an uncertainty.

const place = document.getElementById("history");
const readout = document.getElementById("moment");
const normal = readout?.textContent;
const HEIGHT = 210;
const WIDEST = 6; // times the present half width: what was wider goes out of the picture
let chart = null;

const data = () => JSON.parse(document.querySelector("#history-data script").textContent);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const writer = (options) => {
  const format = new Intl.DateTimeFormat("en-GB", options);
  return (seconds) => format.format(1000 * seconds);
};
const day = writer({ day: "numeric", month: "short" });
const clock = writer({ hour: "2-digit", minute: "2-digit" });
const exact = writer({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const moment = writer({ dateStyle: "medium", timeStyle: "short" });

function columns({ at, mean, low, high, target, uncertainty }) {
  const middle = mean.at(-1);
  const level = (value) => at.map(() => value);
  const wanted = uncertainty ? [target, null] : [middle + target, middle - target];
  return [at, high, low, mean, ...wanted.map(level)];
}

function times(_, marks, __, ___, step) {
  return marks.map(step >= 86_400 ? day : step >= 60 ? clock : exact);
}

/** The present interval with room around it; of an uncertainty, all down to none. */
function heights() {
  const { mean, low, high, target, uncertainty } = data();
  if (uncertainty) {
    const most = WIDEST * Math.max(mean.at(-1), target / 2);
    return [0, 1.05 * Math.max(target, Math.min(most, Math.max(...mean)))];
  }
  const [least, most] = [Math.min(...low), Math.max(...high)];
  const now = high.at(-1) - low.at(-1);
  const reach = Math.max((WIDEST / 2) * now, 2 * target);
  const [bottom, top] = [Math.max(least, mean.at(-1) - reach), Math.min(most, mean.at(-1) + reach)];
  return [bottom - now / 4, top + now / 4];
}

function say(plot) {
  const { at, mean, low, high, reports, uncertainty } = data();
  const i = plot.cursor.idx;
  if (i == null || !(i in at)) {
    readout.textContent = normal;
    return;
  }
  const [middle, least, most] = [mean[i], low[i], high[i]].map((value) => number.format(value));
  const said = uncertainty
    ? `± ${middle} ${readout.dataset.unit}`
    : `${middle} ${readout.dataset.unit} (${least} to ${most})`;
  readout.textContent = `${moment(at[i])}: ${said} from ${reports[i].toLocaleString("en")} reports.`;
}

/** One point has no line through it: it is drawn as a dot, with room on both sides. */
const isLone = ({ at }) => at.length < 2;
let wasLone = false;

function draw() {
  chart?.destroy();
  place.hidden = false;
  const found = data();
  const [accent, band, muted, line, mark] = [
    "--accent", "--band", "--muted", "--line", "--mark",
  ].map(color);
  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const axis = { stroke: muted, font, ticks: { show: false } };
  const lone = isLone(found);
  const hidden = { points: { show: false } };
  const edge = { ...hidden, stroke: "transparent", width: 0 };
  const wanted = { ...hidden, stroke: mark, width: 1.5, dash: [2, 5] };
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      x: lone ? { range: (_, low) => [low - 30, low + 30] } : {},
      y: { range: heights },
    },
    bands: [{ series: [1, 2], fill: band }],
    axes: [
      { ...axis, grid: { show: false }, space: 70, size: 28, values: times },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        space: 36,
        size: 52,
        values: (_, marks) => marks.map((value) => number.format(value)),
      },
    ],
    series: [
      {},
      edge,
      edge,
      { stroke: accent, width: 2.5, points: { show: lone } },
      wanted,
      wanted,
    ],
    hooks: { setCursor: [say] },
  };
  wasLone = lone;
  chart = new uPlot(options, columns(found), place);
}

if (place) {
  draw();
  addEventListener("themechange", draw);
  addEventListener("pagechange", () => {
    const found = data();
    if (isLone(found) === wasLone) chart.setData(columns(found));
    else draw();
  });
  new ResizeObserver(() => {
    if (place.clientWidth !== chart.width) {
      chart.setSize({ width: place.clientWidth, height: HEIGHT });
    }
  }).observe(place);
}
