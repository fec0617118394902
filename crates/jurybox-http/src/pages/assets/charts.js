// Charts by pointer and arrow keys: a crosshair with all values, and the selection of a time range.
//
// A chart carries its data in strips: position, time and the height of each line. Only the wide
// drawing of a chart has strips; the narrow one is drawn by relative positions.
import { clockOf } from "./times.js";

const NS = "http://www.w3.org/2000/svg";
const LEAST = 8; // pixels: less is a click, not a selection

let shown = null; // the plot under the pointer or the keys: { panel, at, share, keys }
let drag = null; // where a selection began: { plot, share, keys }

const plots = (root = document) => [...root.querySelectorAll(".plot[data-live]")];
const named = (plot) => plot.closest("[data-panel]")?.dataset.panel;

// The strips of a chart, with positions relative to the plot area.
function strips(plot) {
  if (plot.strips) return plot.strips;
  const area = areaOf(plot.querySelector(".wide>svg"));
  const lines = [...plot.querySelectorAll(".wide [data-line]")];
  const colour = (at) => lines.find((line) => line.dataset.line === at)?.getAttribute("stroke");
  plot.strips = [...plot.querySelectorAll(".wide [data-x]")].map((strip) => {
    const title = strip.previousElementSibling;
    const [head, ...words] = title.textContent.split("\n");
    // The browser's own tooltip would cover ours.
    title.remove();
    const heights = strip.dataset.y ? strip.dataset.y.split(",").map((one) => one.split(" ")) : [];
    const values = words.map((text, at) => {
      const [line, y] = heights[at] ?? [];
      return { text, colour: colour(line), y: (y - area.top) / area.height };
    });
    return { x: (strip.dataset.x - area.left) / area.width, t: Number(strip.dataset.t), head, values };
  });
  return plot.strips;
}

// The plot area within a drawing: its nested svg, less 4 units on the right for marks at the edge.
function areaOf(svg) {
  const inner = svg.querySelector("svg");
  const of = (name) => Number(inner.getAttribute(name));
  return { left: of("x"), top: of("y"), width: of("width") - 4, height: of("height") };
}

const visible = (plot) => [...plot.querySelectorAll(".wide>svg,.narrow>svg")].find((svg) => svg.getClientRects().length);

function make(name, attributes, parent) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

const timed = (plot) => strips(plot).some((strip) => strip.t);
const nearest = (all, far) => all.reduce((best, one) => (far(one) < far(best) ? one : best));

// The time at a relative position, interpolated between two strips.
function timeAt(plot, share) {
  const all = strips(plot).filter((strip) => strip.t);
  const next = all.findIndex((strip) => strip.x >= share);
  if (next === 0 || all.length < 2) return all[0].t;
  const [one, other] = next < 0 ? all.slice(-2) : [all[next - 1], all[next]];
  const along = (share - one.x) / (other.x - one.x || 1);
  return one.t + Math.min(Math.max(along, 0), next < 0 ? 1 : along) * (other.t - one.t);
}

function clear(plot) {
  plot.querySelectorAll(".cross,.tip").forEach((old) => old.remove());
}

function hide() {
  plots().forEach(clear);
  shown = drag = null;
}

// Draws the vertical line with its dots, and the selection `brush` if there is one.
function cross(plot, strip, brush) {
  clear(plot);
  const svg = visible(plot);
  if (!svg) return;
  const area = areaOf(svg);
  const x = (share) => area.left + share * area.width;
  const group = make("g", { class: "cross" }, svg);
  if (brush) {
    const [from, to] = [Math.min(...brush), Math.max(...brush)];
    make("rect", { class: "brush", x: x(from), y: area.top, width: (to - from) * area.width, height: area.height }, group);
  }
  make("path", { d: `M${x(strip.x)} ${area.top}v${area.height}` }, group);
  for (const { y, colour } of strip.values) {
    if (y >= 0 && y <= 1) make("circle", { cx: x(strip.x), cy: area.top + y * area.height, r: 3.5, fill: colour }, group);
  }
}

// Draws the box with all values beside the vertical line.
function tip(plot, strip) {
  const box = document.createElement("div");
  box.className = "tip";
  box.setAttribute("role", "status");
  const head = document.createElement("b");
  head.textContent = strip.t ? clockOf(new Date(strip.t), true) : strip.head;
  box.append(head);
  if (strip.t && !strip.head.includes("until")) box.append(Object.assign(document.createElement("span"), { textContent: strip.head }));
  for (const { text, colour } of strip.values) {
    const line = document.createElement("span");
    if (colour) {
      const mark = document.createElement("i");
      mark.style.background = colour;
      line.append(mark);
    }
    // Lines that did not fit have no value.
    const cut = text.lastIndexOf(": ");
    const value = document.createElement("b");
    value.textContent = cut < 0 ? "" : text.slice(cut + 2);
    line.append(cut < 0 ? text : text.slice(0, cut), " ", value);
    box.append(line);
  }
  plot.append(box);
  const svg = visible(plot), area = areaOf(svg);
  const scale = svg.clientWidth / svg.viewBox.baseVal.width;
  const at = (area.left + strip.x * area.width) * scale;
  // The box is to the right of the line. It is to the left if there is no room, or if the selection
  // is to the right.
  const [before, after] = [at - 12 - box.offsetWidth, at + 12];
  const left = after + box.offsetWidth > plot.clientWidth || (drag?.share > strip.x && before >= 0);
  box.style.left = `${Math.max(0, Math.min(left ? before : after, plot.clientWidth - box.offsetWidth))}px`;
  box.style.top = `${area.top * scale}px`;
}

function show(plot, share, keys = false) {
  if (!strips(plot).length) return;
  const strip = nearest(strips(plot), (one) => Math.abs(one.x - share));
  shown = { panel: named(plot), at: plots(plot.closest("[data-panel]") ?? document).indexOf(plot), share, keys };
  const brush = drag?.plot === plot ? [drag.share, share] : null;
  cross(plot, strip, brush);
  tip(plot, strip);
  // Marks the same moment in the other charts.
  for (const other of plots()) {
    if (other === plot) continue;
    const all = strips(other).filter((one) => one.t);
    const within = strip.t && all.length > 1 && strip.t >= all[0].t && strip.t <= all.at(-1).t;
    if (within) cross(other, nearest(all, (one) => Math.abs(one.t - strip.t)));
    else clear(other);
  }
}

// Shows the selected range, in whole seconds.
function choose(plot, one, other) {
  const times = [timeAt(plot, Math.min(one, other)), timeAt(plot, Math.max(one, other))];
  const from = Math.floor(times[0] / 1000), to = Math.ceil(times[1] / 1000);
  if (!plot.closest("[data-ranged]") || !(to > from)) return;
  const address = new URL(location.href);
  const write = (seconds) => new Date(seconds * 1000).toISOString().replace(".000", "");
  address.searchParams.delete("range");
  address.searchParams.set("from", write(from));
  address.searchParams.set("to", write(to));
  address.hash = "";
  document.dispatchEvent(new CustomEvent("range", { detail: address.href }));
}

const shareAt = (plot, event) => {
  const svg = visible(plot), area = areaOf(svg);
  const box = svg.getBoundingClientRect();
  const x = ((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width;
  return Math.min(Math.max((x - area.left) / area.width, 0), 1);
};
const focused = () => document.activeElement?.closest?.(".plot[data-live]");
const under = (event) => event.target.closest?.(".plot[data-live]");

document.addEventListener("pointermove", (event) => {
  const plot = drag && !drag.keys ? drag.plot : under(event);
  if (plot?.isConnected) show(plot, shareAt(plot, event));
  else if (shown && !shown.keys) hide();
});
document.addEventListener("pointerdown", (event) => {
  const plot = under(event);
  if (!plot) return hide();
  show(plot, shareAt(plot, event));
  // Moving a finger scrolls.
  if (event.button === 0 && event.pointerType === "mouse" && timed(plot) && plot.closest("[data-ranged]")) {
    event.preventDefault();
    drag = { plot, share: shareAt(plot, event), from: event.clientX };
  }
});
document.addEventListener("pointerup", (event) => {
  if (!drag || drag.keys) return;
  const { plot, share, from } = drag;
  drag = null;
  if (plot.isConnected && Math.abs(event.clientX - from) >= LEAST) choose(plot, share, shareAt(plot, event));
});
document.addEventListener("focusout", (event) => {
  // Replacing a panel takes the focus away and gives it back at once: the crosshair stays.
  if (under(event)) setTimeout(() => shown?.keys && !(focused() && named(focused()) === shown.panel) && hide());
});

document.addEventListener("keydown", (event) => {
  const plot = focused();
  if (!plot || event.ctrlKey || event.altKey || event.metaKey) return;
  const all = strips(plot);
  const here = shown?.panel === named(plot) ? shown.share : 1;
  const now = all.indexOf(nearest(all, (one) => Math.abs(one.x - here)));
  const steps = { ArrowLeft: shown ? now - 1 : now, ArrowRight: now + 1, Home: 0, End: all.length - 1 };
  if (event.key in steps) {
    if (!event.shiftKey) drag = null;
    else if (!drag && timed(plot)) drag = { plot, share: all[now].x, keys: true };
    show(plot, all[Math.min(Math.max(steps[event.key], 0), all.length - 1)].x, true);
  } else if (event.key === "Enter" && drag?.keys) {
    const { share } = drag;
    drag = null;
    choose(plot, share, shown.share);
  } else if (event.key === "Escape" && shown) {
    hide();
  } else {
    return;
  }
  event.preventDefault();
});

// Prepares charts that were just inserted. A crosshair on one of them is drawn again.
export function dress(root) {
  for (const plot of plots(root)) {
    const own = plot.querySelector(".wide>svg").getAttribute("aria-label");
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${own}. Arrow keys show the values${plot.closest("[data-ranged]") && timed(plot) ? "; with Shift they select a time range, and Enter shows it" : ""}.`);
  }
  if (!shown || root.dataset?.panel !== shown.panel) return;
  const plot = plots(root)[shown.at];
  if (!plot) return hide();
  if (drag) drag.plot = plot;
  show(plot, shown.share, shown.keys);
}
