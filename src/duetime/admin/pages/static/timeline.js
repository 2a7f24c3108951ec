// Adds to the timeline: zoom by dragging and by keys, and a list of what has the focus.

const SVG = "http://www.w3.org/2000/svg";
const KEYS = { "+": "closer", "=": "closer", "-": "wider", ArrowLeft: "earlier", ArrowRight: "later", 0: "usual" };
const LEAST_DRAG = 6, LEAST_MS = 60000;
const chartOf = (event) => event.target.closest?.("#timeline-chart");
let drag = null;

// Where the chart is wider than its place, its middle is shown first.
const whole = document.getElementById("timeline-chart");
whole.scrollLeft = (whole.scrollWidth - whole.clientWidth) / 2;

// -- keys ---------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const name = chartOf(event) && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
  const link = name && document.querySelector(`[data-zoom="${name}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});

// -- dragging -----------------------------------------------------------------------------

function place(event, svg, { left, right }) {
  const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return Math.min(Math.max(x, Number(left)), Number(right));
}

document.addEventListener("pointerdown", (event) => {
  const chart = chartOf(event), svg = chart?.querySelector("svg");
  if (!svg || event.button !== 0 || event.pointerType === "touch") return;
  const x = place(event, svg, chart.dataset);
  drag = { chart, svg, from: x, to: x, box: null };
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  drag.to = place(event, drag.svg, drag.chart.dataset);
  if (!drag.box && Math.abs(drag.to - drag.from) < LEAST_DRAG) return;
  if (!drag.box?.isConnected) {
    drag.box = document.createElementNS(SVG, "rect");
    drag.box.setAttribute("class", "chosen");
    drag.box.setAttribute("y", "0");
    drag.box.setAttribute("height", "100%");
    drag.svg.append(drag.box);
  }
  drag.box.setAttribute("x", Math.min(drag.from, drag.to));
  drag.box.setAttribute("width", Math.abs(drag.to - drag.from));
});

document.addEventListener("pointerup", () => {
  const done = drag;
  drag = null;
  if (!done?.box) return;
  done.box.remove();
  document.addEventListener("click", (click) => click.preventDefault(), { once: true, capture: true });
  zoomTo(done.chart.dataset, Math.min(done.from, done.to), Math.max(done.from, done.to));
});

document.addEventListener("dragstart", (event) => chartOf(event) && event.preventDefault());

function zoomTo({ start, end, left, right, here }, from, to) {
  const first = Date.parse(start), length = Date.parse(end) - first;
  const at = (x) => first + ((x - left) / (right - left)) * length;
  const query = new URLSearchParams(here);
  query.set("start", new Date(at(from)).toISOString());
  query.set("end", new Date(Math.max(at(to), at(from) + LEAST_MS)).toISOString());
  location.assign(`?${query}#timeline-chart`);
}

// -- what has the focus -------------------------------------------------------------------

function name(event) {
  const chart = chartOf(event), mark = event.target.closest?.("#timeline-chart a, #timeline-chart g[tabindex]");
  if (!chart || !mark) return;
  const words = mark.querySelector("title")?.textContent ?? mark.getAttribute("aria-label") ?? "";
  const list = document.createElement("ul");
  for (const line of words.split("\n")) {
    const item = document.createElement("li");
    item.textContent = line;
    list.append(item);
  }
  document.getElementById("timeline-shown").replaceChildren(list);
}

document.addEventListener("focusin", name);
document.addEventListener("pointerover", (event) => drag || name(event));
