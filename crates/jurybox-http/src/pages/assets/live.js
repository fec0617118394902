// What changes is fetched again: the server says which queue, and the page asks for the panels of that queue, one at a time.

const panels = () => [...document.querySelectorAll("[data-panel]")];
const fresh = document.getElementById("fresh");
let seen = Date.now(), stale = new Set(), working = false;

if (fresh && panels().length) {
  const stream = new EventSource("/live");
  const pulse = document.getElementById("pulse");
  stream.onmessage = (event) => {
    const { queue } = JSON.parse(event.data);
    seen = Date.now();
    for (const panel of panels()) if (!panel.dataset.queue || panel.dataset.queue === queue) stale.add(panel.dataset.panel);
    work();
  };
  stream.onopen = () => pulse.classList.add("on");
  stream.onerror = () => pulse.classList.remove("on");
  setInterval(() => {
    const seconds = Math.round((Date.now() - seen) / 1000);
    fresh.textContent = seconds < 2 ? "as of now" : seconds < 90 ? `no change for ${seconds} s` : `no change for ${Math.round(seconds / 60)} min`;
  }, 1000);
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

async function again(name) {
  const panel = panels().find((panel) => panel.dataset.panel === name);
  // Whoever has the focus, or a choice that is not made yet, is left alone.
  if (!panel || (panel.contains(document.activeElement) && document.activeElement !== document.body)) return;
  const at = new URL(location.href);
  at.searchParams.set("panel", name);
  try {
    const answer = await fetch(at, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const html = await answer.text();
    const open = [...panel.querySelectorAll("details")].map((details) => details.open);
    panel.innerHTML = html;
    panel.querySelectorAll("details").forEach((details, at) => (details.open = open[at] ?? details.open));
  } catch {
    // The stream says when the server is back.
  }
}

document.addEventListener("visibilitychange", () => document.hidden || work());
