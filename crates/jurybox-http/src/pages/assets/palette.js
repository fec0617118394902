// The command palette (Ctrl-K, Cmd-K or `/`), loaded on first use by `live.js`.
// Its entries are the links of the page /go, which works without scripts.

const MOST = 12; // the most entries shown at once

// The queue of this page. Names of queues need no escapes.
const here = location.pathname.match(/^\/q\/([^/%]+)/)?.[1] ?? "";
let dialog = null, ways = [], found = [], at = 0;

function build() {
  dialog = document.createElement("dialog");
  dialog.id = "palette";
  dialog.setAttribute("aria-label", "Go to");
  dialog.innerHTML =
    '<input role="combobox" aria-label="Go to" aria-expanded="true" aria-controls="ways" aria-autocomplete="list" autocomplete="off" spellcheck="false" placeholder="Go to a queue, a desk, an evaluator, or an item by its id">' +
    '<ul id="ways" role="listbox" aria-label="Pages"></ul><p class="small"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> go <kbd>Esc</kbd> close</p><span class="unseen" role="status"></span>';
  document.body.append(dialog);
  const input = dialog.querySelector("input");
  input.addEventListener("input", () => list(input.value));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: MOST, PageUp: -MOST }[event.key];
    if (step) mark((at + step + (Math.abs(step) === 1 ? found.length : 0)) % (found.length || 1));
    else if (event.key === "Enter" && found[at]) go(found[at]);
    else return;
    event.preventDefault();
  });
  // A click outside closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

// The score of an entry, or -1 unless every word occurs in it. A match at the start of a word
// scores higher.
function fit(way, words) {
  const text = way.text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    if (!text.includes(word)) return -1;
    sum += text.startsWith(word) ? 3 : [" ", ":", "·"].some((before) => text.includes(before + word)) ? 2 : 1;
  }
  return sum;
}

function list(asked) {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ways.map((way, place) => ({ way, place, fit: fit(way, words) })).filter((one) => one.fit >= 0);
  fits.sort((a, b) => b.fit - a.fit || a.place - b.place);
  found = fits.slice(0, MOST).map((one) => one.way);
  const id = asked.trim();
  if (id && here && ways.some((way) => way.items)) {
    found.push({ name: `Item ${id}`, what: here, to: `/q/${here}/items/${encodeURIComponent(id)}`, text: id });
  }
  const rows = found.map((way, place) => {
    const row = document.createElement("li");
    row.id = `way-${place}`;
    row.setAttribute("role", "option");
    const what = document.createElement("span");
    what.textContent = way.what;
    row.append(way.name, " ", what);
    row.addEventListener("click", () => go(way));
    row.addEventListener("pointermove", () => at === place || mark(place));
    return row;
  });
  dialog.querySelector("ul").replaceChildren(...rows);
  dialog.querySelector("[role=status]").textContent = found.length ? `${found.length} results` : "No results";
  mark(0);
}

function mark(place) {
  at = Math.min(Math.max(place, 0), Math.max(found.length - 1, 0));
  const rows = [...dialog.querySelectorAll("li")];
  rows.forEach((row, other) => row.setAttribute("aria-selected", String(other === at)));
  rows[at]?.scrollIntoView({ block: "nearest" });
  const input = dialog.querySelector("input");
  if (rows[at]) input.setAttribute("aria-activedescendant", rows[at].id);
  else input.removeAttribute("aria-activedescendant");
}

function go(way) {
  dialog.close();
  location.assign(way.to);
}

// Opens the palette. `written` is the text that its field begins with.
export async function open(written) {
  if (!dialog) build();
  if (dialog.open) return;
  dialog.querySelector("input").value = written;
  dialog.showModal();
  list(written);
  try {
    const answer = await fetch(`/go?panel=list${here && `&queue=${encodeURIComponent(here)}`}`, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    ways = [...parsed.querySelectorAll("a")].map((way) => ({
      name: way.firstChild.textContent,
      what: way.querySelector("span")?.textContent ?? "",
      to: way.getAttribute("href"),
      text: way.textContent,
      items: "items" in way.dataset,
    }));
  } catch {
    // The server is unreachable: the entries read before remain.
  }
  list(dialog.querySelector("input").value);
}
