// The desk by keyboard: the forms of the page, sent without leaving it. The next item is there before it is asked for.
import { Outbox, post, word } from "./outbox.js";

const $ = (id) => document.getElementById(id);
const desk = $("desk");
if (desk) begin();

function begin() {
  const { queue, reviewer } = desk.dataset;
  const lease = 1000 * Number(desk.dataset.lease);
  const undoFor = 1000 * Number(desk.dataset.undo);
  const path = `/q/${queue}/desk/`;
  const buttons = [...document.querySelectorAll("button[name=label]")];
  const done = new Set(); // what was judged here, by item and token
  const refused = new Map(); // what was not taken and why, by its id
  let skew = Date.parse(desk.dataset.now) - Date.now();
  let current = onPage(), next = [], before = null, active = Date.now(), filling = null, again = false;

  const outbox = new Outbox(queue, reviewer, (state, entry, said) => {
    if (state === "sent") {
      // An answer to `fill` that is older than this one may still offer the item, and what was said before a reload is not known here.
      done.add(mark(entry.body));
      bar();
      listOwn();
      if (before?.id === entry.id && said.jury) {
        before.thought = true;
        thought(said.jury);
      }
      fill();
    } else if (state === "refused") {
      refused.set(entry.id, `${entry.body.label ?? "skip"}: ${said.why ?? said.detail ?? "it was refused"}`);
      if (before?.id === entry.id) forget();
      bar();
      fill();
    } else if (state === "locked") {
      bar(`You have been logged out. ${waits(said)} in this browser. Log in in another tab to have it sent.${wanted()}`);
    } else {
      bar(`The server cannot be reached. ${waits(said)} in this browser until it is back.${wanted()}`);
    }
  });

  function waits(count) {
    return count === 1 ? "1 verdict waits" : `${count} verdicts wait`;
  }

  function wanted() {
    return before?.wanted ? " The last one may have arrived: undo it then." : "";
  }

  // What the page came with.
  function onPage() {
    const { item, token, until } = $("item").dataset;
    return item === undefined ? null : { item, token: Number(token), until, html: $("item").innerHTML };
  }

  function bar(text) {
    const said = text ?? (refused.size ? `Not taken: ${[...refused.values()].join("; ")}` : "");
    $("bar").textContent = said;
    $("bar").hidden = said === "";
  }

  const mark = (shown) => `${shown.token}/${shown.item}`;
  const count = (id, by) => ($(id).textContent = Number($(id).textContent.replaceAll(",", "")) + by);

  function show(shown) {
    current = shown ?? null;
    desk.dataset.state = current ? "item" : "empty";
    $("item").innerHTML = current ? current.html : "";
    fit();
    $("note").open = false;
    $("note-text").value = "";
    skipping(false);
    tick();
    if (current) {
      $("item").scrollTop = 0;
      $("item").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
  }

  // A frame as tall as what is in it: then the item is scrolled as a whole, by keys too.
  function fit() {
    for (const frame of $("item").querySelectorAll("iframe")) {
      const grow = () => (frame.style.height = `${Math.min(frame.contentDocument?.documentElement.scrollHeight ?? 0, 30000)}px`);
      frame.addEventListener("load", grow);
      grow();
    }
  }

  // Has the server give what is held, and the next. Asked again while it is at it, it asks once more: there may be room since.
  function fill() {
    if (filling) {
      again = true;
      return filling;
    }
    again = false;
    filling = post(path + "next", { reviewer }).then((answer) => {
      filling = null;
      if (again) fill();
      if (answer.away) {
        if (!current) bar("The server cannot be reached. This page tries again by itself.");
        setTimeout(fill, 2000);
        return;
      }
      if (!answer.ok) return bar(answer.body.detail ?? "The server gave no item.");
      skew = Date.parse(answer.body.now) - Date.now();
      $("waiting").textContent = answer.body.waiting.toLocaleString("en");
      const fresh = answer.body.items.filter((shown) => !done.has(mark(shown)) && !outbox.holds(shown.item));
      const same = current && fresh.find((shown) => shown.item === current.item);
      if (same) Object.assign(current, { token: same.token, until: same.until });
      next = fresh.filter((shown) => shown.item !== current?.item);
      if (!current) show(next.shift());
      if (!outbox.all().length) bar();
    });
    return filling;
  }

  function leaveItem(step, body) {
    if (!current) return;
    const shown = current;
    done.add(mark(shown));
    const id = word();
    before = { id, shown, step };
    outbox.add(step, { reviewer, id, item: shown.item, token: shown.token, ...body });
    show(next.shift());
    if (!current) fill();
  }

  function judge(label) {
    if (!current) return;
    leaveItem("verdict", { label, note: $("note-text").value });
    count("today", 1);
    undoLine(label);
  }

  function skip() {
    const form = new FormData($("skipping"));
    const reason = form.get("other").trim() || form.get("reason");
    leaveItem("skip", { reason });
    before = null;
    $("skipping").reset();
    $("after").replaceChildren(said("p", `Skipped: ${reason}`));
  }

  // What was just said, for as long as it can be taken back.
  function undoLine(label) {
    const line = said("span", ""), rest = document.createElement("i"), back = document.createElement("button");
    line.className = "line";
    line.append(rest);
    back.type = "button";
    back.className = "quiet";
    back.innerHTML = "<kbd>u</kbd> undo";
    back.onclick = undo;
    const words = said("p", "Last: ");
    words.append(said("b", label), " ", back, line);
    $("after").replaceChildren(words);
    rest.animate([{ transform: "scaleX(1)" }, { transform: "scaleX(0)" }], { duration: undoFor, fill: "forwards" });
    const mine = before;
    const end = () => {
      if (mine !== before) return;
      // The server has not begun to count, as far as is known here.
      if (outbox.has(mine.id)) setTimeout(end, 1000);
      else forget();
    };
    setTimeout(end, undoFor);
  }

  function said(tag, text) {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }

  function thought(html) {
    const words = document.createElement("div");
    words.innerHTML = html;
    $("after").append(words);
    setTimeout(() => words.remove(), 2000);
  }

  function forget() {
    before = null;
    $("after").replaceChildren();
  }

  async function undo() {
    const back = before;
    // The page came with a form for the verdict before it.
    const form = $("after").querySelector("form.undo");
    if (!back && form) return form.requestSubmit();
    if (!back) return bar("Nothing can be taken back any more.");
    if (back.undoing) return;
    back.undoing = true;
    const shown = await takenBack(back);
    back.undoing = false;
    if (!shown) return;
    if (before === back) forget();
    done.delete(mark(shown));
    listOwn();
    count("today", -1);
    if (current && current.item !== shown.item) next.unshift(current);
    show(shown);
  }

  // The item of a verdict that was taken back; nothing where it was not. What has never been sent is not sent. What was sent may be with the
  // server though no answer came: that is asked first, and then it is taken back there.
  async function takenBack(back) {
    if (outbox.has(back.id) && !outbox.wasSent(back.id)) {
      outbox.remove(back.id);
      return back.shown;
    }
    back.wanted = true;
    if (outbox.has(back.id)) await outbox.flush();
    if (outbox.has(back.id)) return;
    if (refused.has(back.id)) return bar();
    const answer = await post(path + "undo", { reviewer, verdict: back.id }, back.id + "-undo");
    if (answer.away) return bar("The server cannot be reached: undo it once it is back.");
    if (!answer.ok) {
      if (before === back) forget();
      return bar(answer.body.detail);
    }
    bar(back.thought ? "You have seen what the jury thought of this one: your next verdict on it counts, and is marked as not blind." : undefined);
    return answer.body.items[0] ?? back.shown;
  }

  // What this reviewer said last, as it is now, where somebody looks at it.
  async function listOwn() {
    if (!$("last").open) return;
    try {
      const answer = await fetch("?panel=last", { headers: { Accept: "text/html" } });
      if (answer.ok && !answer.redirected) $("own").innerHTML = await answer.text();
    } catch {
      // The bar says that the server is away.
    }
  }

  function skipping(open) {
    $("skipping").classList.toggle("open", open && current !== null);
    if (open && current) $("skipping").querySelector("input[type=radio]:checked").focus();
  }

  function tick() {
    if (!current) return;
    const left = Math.max(0, Date.parse(current.until) - Date.now() - skew);
    const seconds = Math.round(left / 1000);
    $("left").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    $("lease").style.transform = `scaleX(${Math.min(1, left / lease)})`;
  }

  // Keeps what is held, while somebody is there; says how many wait where nothing is.
  async function keep() {
    if (document.hidden || Date.now() - active > Math.max(lease, 600000)) return;
    const answer = await post(path + "keep", { reviewer });
    if (!answer.ok) return;
    skew = Date.parse(answer.body.now) - Date.now();
    const held = new Map(answer.body.held);
    for (const shown of [current, ...next]) if (shown && held.has(shown.item)) shown.until = held.get(shown.item);
    next = next.filter((shown) => held.has(shown.item));
    $("waiting").textContent = answer.body.waiting.toLocaleString("en");
    const big = document.querySelector("#empty .big");
    if (big) big.textContent = answer.body.waiting ? `${answer.body.waiting.toLocaleString("en")} waiting` : "Nothing waits.";
    tick();
  }

  $("verdict").onsubmit = (event) => {
    event.preventDefault();
    if (event.submitter?.name === "label") judge(event.submitter.value);
  };
  $("skipping").onsubmit = (event) => {
    event.preventDefault();
    skip();
  };
  $("claim").onsubmit = (event) => {
    event.preventDefault();
    fill();
  };
  $("last").addEventListener("toggle", listOwn);
  $("skip").onclick = () => skipping(true);
  $("stay").onclick = () => skipping(false);
  $("help").onclick = () => $("keys").showModal();

  // A click into the frame of a payload would take the keys along; who gets there by Tab, where browsers let them, wants to scroll in it.
  let tabbed = 0;
  window.addEventListener("keydown", (event) => event.key === "Tab" && (tabbed = Date.now()));
  window.addEventListener("blur", () =>
    setTimeout(() => {
      const clicked = document.activeElement?.tagName === "IFRAME" && Date.now() - tabbed > 500;
      if (clicked) $("item").focus({ preventScroll: true });
    }),
  );

  const reveal = (on) => desk.classList.toggle("seen", on);
  desk.addEventListener("pointerdown", (event) => event.target.closest(".picture") && reveal(true));
  for (const end of ["pointerup", "pointercancel", "blur"]) window.addEventListener(end, () => reveal(false));
  for (const sign of ["pointerdown", "keydown"]) window.addEventListener(sign, () => (active = Date.now()));

  const actions = {
    c: () => current || fill(),
    s: () => skipping(true),
    u: undo,
    n: () => {
      $("note").open = true;
      $("note-text").focus();
    },
    l: () => ($("last").open = !$("last").open),
    "?": () => $("keys").showModal(),
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || $("keys").open) return;
    const within = event.target.closest("input, textarea, select");
    const skips = $("skipping").classList.contains("open");
    if (event.key === "Escape") {
      skipping(false);
      $("note").open = false;
      $("item").focus({ preventScroll: true });
      return;
    }
    if (within && within.type !== "radio") return;
    if (event.key === " " && desk.querySelector(".picture")) {
      event.preventDefault();
      return reveal(true);
    }
    if (event.repeat) return;
    if (skips && /^[1-9]$/.test(event.key)) {
      const reason = $("skipping").querySelectorAll("input[type=radio]")[Number(event.key) - 1];
      if (!reason) return;
      event.preventDefault();
      reason.checked = true;
      return skip();
    }
    const button = skips ? null : buttons.find((button) => button.dataset.key === event.key);
    if (button && current) {
      event.preventDefault();
      judge(button.value);
    } else if (actions[event.key] && !skips) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  window.addEventListener("keyup", (event) => event.key === " " && reveal(false));
  window.addEventListener("online", () => outbox.flush());

  desk.dataset.live = "";
  fit();
  if (current && outbox.holds(current.item)) show(null);
  const left = outbox.all().length;
  outbox.flush();
  if (current || left) fill();
  tick();
  setInterval(tick, 1000);
  setInterval(keep, Math.max(2000, Math.min(lease / 3, 60000)));
  setInterval(() => current || keep(), 5000);
}
