// Live pages: the server streams which queue has changed, and the page fetches its panels again,
// one at a time.
import { dress } from "./charts.js";
import { localise } from "./times.js";

const AGAIN = 15000; // milliseconds until a closed stream is opened again

const panels = () => [...document.querySelectorAll("[data-panel]")];
const fresh = document.getElementById("fresh");
let stale = new Set(), working = false;
// Both in milliseconds by the server's clock: when the data on display was read, and the last known
// change. The server sends data older than a second only if the queue has changed since.
const age = Number(fresh?.dataset.age);
let read = Number(fresh?.dataset.at), changed = age < 1000 ? read : read + age;
const skew = read + age - Date.now();
// A list of all queues is reloaded when a queue is added.
const all = document.querySelector("[data-all]");

localise(document);
dress(document);

if (fresh && (panels().length || all)) {
  // Browsers allow few connections per server: hidden pages close theirs.
  let stream = null, tried = false, lost = false;
  const pulse = document.getElementById("pulse");
  const hear = (event) => {
    const { queue, at } = JSON.parse(event.data);
    const concerned = panels().filter((panel) => !panel.dataset.queue || panel.dataset.queue === queue);
    if (!concerned.length && all && !document.querySelector("dialog[open]")) location.reload();
    if (!concerned.length) return;
    changed = at;
    for (const panel of concerned) stale.add(panel.dataset.panel);
    work();
  };
  const tell = () => {
    const live = stream?.readyState === EventSource.OPEN;
    pulse.classList.toggle("on", live);
    fresh.classList.toggle("warn", !live && tried);
    const seconds = Math.max(0, Math.round((Date.now() + skew - read) / 1000));
    const long = seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
    const closed = stream?.readyState === EventSource.CLOSED ? ", not live; trying again" : ": the server cannot be reached";
    if (!live && tried) fresh.textContent = `as of ${long} ago${closed}`;
    else if (!live) fresh.textContent = `as of ${long} ago`;
    else if (seconds < 2) fresh.textContent = "as of now";
    else fresh.textContent = changed > read ? `as of ${long} ago` : `no change for ${long}`;
  };
  const revive = () => {
    if (stream?.readyState !== EventSource.CLOSED) return;
    stream = null;
    listen();
  };
  const listen = () => {
    if (document.hidden) {
      stream?.close();
      [stream, tried] = [null, false];
    } else if (!stream) {
      stream = new EventSource("/live");
      stream.onmessage = hear;
      stream.onopen = () => {
        // Changes during the lost connection are unknown.
        if (lost) for (const panel of panels()) stale.add(panel.dataset.panel);
        [tried, lost] = [true, false];
        tell();
        work();
      };
      stream.onerror = () => {
        [tried, lost] = [true, true];
        tell();
        // Browsers give up after an error response, as from a server that starts or after a revoked
        // key.
        if (stream?.readyState === EventSource.CLOSED) setTimeout(revive, AGAIN);
      };
    }
  };
  listen();
  document.addEventListener("visibilitychange", () => {
    // Changes while the page was hidden are unknown.
    if (!document.hidden && !stream) for (const panel of panels()) stale.add(panel.dataset.panel);
    listen();
  });
  setInterval(tell, 1000);
}

async function work() {
  if (working || document.hidden) return;
  working = true;
  while (stale.size) {
    const [name] = stale;
    stale.delete(name);
    await again(name);
  }
  // At most one round of updates every two seconds.
  setTimeout(() => {
    working = false;
    if (stale.size) work();
  }, 2000);
}

// Replaces a panel, and keeps what is open, scrolled or focused in it.
function replace(panel, html) {
  const open = [...panel.querySelectorAll("details")].map((details) => details.open);
  const along = [...panel.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
  const reach = () => [...panel.querySelectorAll("a, button, summary, [tabindex]")];
  const focus = panel.contains(document.activeElement) ? document.activeElement : null;
  const place = reach().indexOf(focus);
  panel.innerHTML = html;
  localise(panel);
  dress(panel);
  panel.querySelectorAll("details").forEach((details, at) => (details.open = open[at] ?? details.open));
  panel.querySelectorAll(".scroll").forEach((part, at) => (part.scrollLeft = along[at] ?? 0));
  if (!focus) return;
  // A link is found by its URL, other elements by their position.
  const same = reach().find((other) => focus.href && other.href === focus.href);
  (same ?? reach()[place])?.focus({ preventScroll: true });
}

async function again(name) {
  const panel = panels().find((panel) => panel.dataset.panel === name);
  if (!panel) return;
  const at = new URL(location.href), asked = location.search;
  at.searchParams.set("panel", name);
  try {
    const answer = await fetch(at, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const html = await answer.text();
    // If the time range was changed meanwhile, its own data is on the way.
    if (location.search !== asked) return;
    read = Number(answer.headers.get("Jurybox-As-Of")) || read;
    replace(panel, html);
  } catch {
    // The stream reports when the server is back.
  }
}

document.addEventListener("visibilitychange", () => document.hidden || work());

// Changes the time range and the URL; open panels stay open.
function move(address) {
  history.pushState(null, "", address);
  look();
}
let looked = location.search;
function look() {
  if (location.search === looked) return;
  looked = location.search;
  for (const panel of panels()) again(panel.dataset.panel);
}
document.addEventListener("range", (event) => move(event.detail));
document.addEventListener("click", (event) => {
  const way = event.target.closest?.(".ranges a");
  if (!way || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  move(way.href);
});
window.addEventListener("popstate", look);

// Opens the command palette. Keys typed while it loads go into its field and nowhere else, because
// single letters give verdicts at the desk.
let written = null;
async function goTo() {
  if (written !== null) return;
  written = "";
  try {
    const palette = await import("./palette.js");
    if (written !== null) palette.open(written);
  } finally {
    written = null;
  }
}
window.addEventListener(
  "keydown",
  (event) => {
    if (written === null) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.key === "Escape") written = null;
    else if (event.key === "Backspace") written = written.slice(0, -1);
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) written += event.key;
  },
  true,
);
// The desk loads the palette in advance, for when the server is unreachable.
if (document.getElementById("desk")) import("./palette.js");
window.addEventListener("keydown", (event) => {
  const letter = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  // The field of a closed dialog may receive keys for a moment.
  const field = event.target.closest?.("input:not([type=radio],[type=checkbox]), textarea, select");
  const writing = (field && !field.closest("dialog:not([open])")) || document.querySelector(".skipping.open");
  const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !writing;
  if (!(letter || slash) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  goTo();
});
document.addEventListener("click", (event) => {
  const way = event.target.closest?.("a.go");
  if (!way || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  goTo();
});
