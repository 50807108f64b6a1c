// The mean and its interval over time.

const place = document.getElementById("history");
let chart = null;

const data = () => JSON.parse(document.querySelector("#history-data script").textContent);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });

function columns({ at, reports, mean, low, high, target }) {
  const middle = mean.at(-1);
  return [
    at,
    high,
    low,
    mean,
    at.map(() => middle + target),
    at.map(() => middle - target),
    reports,
  ];
}

function draw() {
  chart?.destroy();
  place.hidden = false;
  const found = data();
  const [accent, band, muted, line, mark] = [
    "--accent", "--band", "--muted", "--line", "--mark",
  ].map(color);
  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const axis = { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const shown = (_, value) => (value == null ? "–" : number.format(value));
  const edge = { stroke: "transparent", width: 0, points: { show: false } };
  const wanted = { stroke: mark, width: 1, dash: [3, 4], points: { show: false } };
  const lone = found.at.length < 2;
  chart = new uPlot(
    {
      width: place.clientWidth,
      height: 220,
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: true, range: lone ? (_, low) => [low - 30, low + 30] : undefined },
        count: { auto: false, range: [0, 1] },
      },
      legend: { live: true },
      bands: [{ series: [1, 2], fill: band }],
      axes: [
        { ...axis, grid: { show: false } },
        { ...axis, size: 56, values: (_, marks) => marks.map((value) => number.format(value)) },
      ],
      series: [
        { label: "When" },
        { ...edge, label: "Upper end", value: shown },
        { ...edge, label: "Lower end", value: shown },
        { label: "Average", stroke: accent, width: 2, value: shown, points: { show: lone } },
        { ...wanted, label: "Wanted", value: () => `± ${number.format(data().target)}` },
        { ...wanted, label: "Wanted, below" },
        { label: "Reports", scale: "count", value: shown, paths: () => null, points: { show: false } },
      ],
    },
    columns(found),
    place,
  );
}

if (place) {
  draw();
  addEventListener("themechange", draw);
  addEventListener("pagechange", () => chart.setData(columns(data())));
  new ResizeObserver(() => {
    if (place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: 220 });
  }).observe(place);
}
