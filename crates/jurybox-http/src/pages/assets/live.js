// What changes is fetched again: the server says which queue, and the page asks for the panels of that queue, one at a time.
import { dress } from "./charts.js";
import { localise } from "./times.js";

const AGAIN = 15000; // milliseconds until a stream that was closed is asked for again

const panels = () => [...document.querySelectorAll("[data-panel]")];
const fresh = document.getElementById("fresh");
let stale = new Set(), working = false;
// By the server's clock, in milliseconds: when what is shown was read, and when something last changed.
// What comes older than a moment has changed since: the server looks no more often than it can bear.
const age = Number(fresh?.dataset.age);
let read = Number(fresh?.dataset.at), changed = age < 1000 ? read : read + age;
const skew = read + age - Date.now();
// Where all queues are, a new one is too.
const all = document.querySelector("[data-all]");

localise(document);
dress(document);

if (fresh && (panels().length || all)) {
  // A browser has few connections to a server: pages that nobody sees hold none.
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
    const closed = stream?.readyState === EventSource.CLOSED ? ", not live: trying again" : ": the server cannot be reached";
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
        // Nobody has heard what changed while it was lost.
        if (lost) for (const panel of panels()) stale.add(panel.dataset.panel);
        [tried, lost] = [true, false];
        tell();
        work();
      };
      stream.onerror = () => {
        [tried, lost] = [true, true];
        tell();
        // A browser gives up where the answer was an error: of a server that starts, or because a key was revoked.
        if (stream?.readyState === EventSource.CLOSED) setTimeout(revive, AGAIN);
      };
    }
  };
  listen();
  document.addEventListener("visibilitychange", () => {
    // Nobody has heard what changed meanwhile.
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
  // A queue that changes all the time is looked at every two seconds.
  setTimeout(() => {
    working = false;
    if (stale.size) work();
  }, 2000);
}

// What is open, scrolled or has the focus in a panel is so in its new contents as well.
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
  // A link may stand at another place now; what has no address is found by its place.
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
    // Another stretch of time was chosen meanwhile, and asked for.
    if (location.search !== asked) return;
    read = Number(answer.headers.get("Jurybox-As-Of")) || read;
    replace(panel, html);
  } catch {
    // The stream says when the server is back.
  }
}

document.addEventListener("visibilitychange", () => document.hidden || work());

// Another stretch of time: what is open stays open, and the address says what is shown.
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

// Anywhere by a few letters. What is written while the field is not there yet is written into it, and nothing else hears it: at the desk letters judge.
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
// At the desk it is there also when the server is not.
if (document.getElementById("desk")) import("./palette.js");
window.addEventListener("keydown", (event) => {
  const letter = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  // The field of a dialog that was just closed may hear keys for a moment more.
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
