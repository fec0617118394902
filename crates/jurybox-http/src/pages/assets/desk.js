// The desk: sends the page's forms without leaving it, with keys and undo, and fetches the next
// item in advance.
import { Bar } from "./bar.js";
import { Drafts } from "./drafts.js";
import { Outbox, post, word } from "./outbox.js";
import { Undoable } from "./undoable.js";
import { Skips } from "./skips.js";
import { Tabs } from "./tabs.js";
import { localise } from "./times.js";
import { Undo } from "./undo.js";

const UNSEEN = 300; // milliseconds: keys and taps this soon after a new item were meant for the one before

const $ = (id) => document.getElementById(id);
const desk = $("desk");
if (desk) begin();

function begin() {
  const { queue, reviewer } = desk.dataset;
  const lease = 1000 * Number(desk.dataset.lease);
  const undoFor = 1000 * Number(desk.dataset.undo);
  const leaving = Number(desk.dataset.leaving); // the most skips that can be undone at a time
  const path = `/q/${queue}/desk/`;
  const buttons = [...document.querySelectorAll("button[name=label]")];
  const done = new Set(); // items judged here or in another tab, by item and token
  let skew = Date.parse(desk.dataset.now) - Date.now();
  let current = onPage(), next = [], active = Date.now(), filling = null, again = false, spoken = 0, shownAt = 0;

  const bar = new Bar($("bar"), (note) => {
    openNote();
    $("note-text").value = [$("note-text").value, note].filter(Boolean).join("\n");
  });
  const outbox = new Outbox(queue, reviewer, heard);
  const drafts = new Drafts(queue, reviewer);
  const said = new Undoable($("said"), undoFor, (id) => outbox.has(id), () => undo.last());
  const undo = new Undo({ path, reviewer, undoFor, outbox, said, bar, returned });
  // The server cannot undo a skip. A skip is sent when it can no longer be undone, and at the
  // latest after half of the lease.
  const skips = new Skips($("skipping"), (reason) => leaveItem("skip", { reason }, `Skipped: ${reason}`, Math.min(undoFor, lease / 2)));
  const tabs = new Tabs(`jurybox/desk/${queue}/${reviewer}`, {
    // The tab that showed an item first keeps it.
    shows(item, since) {
      next = next.filter((shown) => shown.item !== item);
      if (current?.item === item && since < tabs.mine.since) goOn(Date.now() - tabs.mine.since > 2000 && "This item is open in another of your tabs. Here is the next one.");
    },
    left(mark) {
      done.add(mark);
      next = next.filter((shown) => marked(shown) !== mark);
      if (current && marked(current) === mark) goOn("You have judged this item in another tab. Here is the next one.");
    },
  });

  function heard(state, entry, answer) {
    const one = said.find(entry.id);
    if (state === "sent") {
      // An older answer to `fill` may still offer the item. After a reload, `done` lacks earlier
      // verdicts.
      done.add(marked(entry.body));
      bar.state("server");
      if (!outbox.ready()) bar.state("outbox");
      listOwn();
      if (one && entry.step === "skip") said.remove(one);
      else if (one) one.until = Date.now() + 1000 * answer.undo_seconds;
      if (one && answer.jury) {
        one.thought = true;
        thought(answer.jury);
      }
      said.draw();
      fill();
    } else if (state === "refused") {
      undo.refused.add(entry.id);
      if (one) said.remove(one);
      bar.state("server");
      if (!outbox.ready()) bar.state("outbox");
      // A refused skip needs no notice: the item is no longer held.
      if (entry.step === "skip") return fill();
      today(-1);
      bar.tell(`${entry.body.label} was not accepted: ${answer.why ?? answer.detail ?? "the server gave no reason"}.`, entry.body.note);
      fill();
    } else if (state === "locked") {
      bar.state("outbox", `You have been logged out. ${waits(answer)} in this browser. Log in in another tab to send it.${wanted()}`);
    } else {
      bar.state("outbox", `The server cannot be reached. ${waits(answer)} in this browser until it is back.${wanted()}`);
    }
  }

  function waits(count) {
    return count === 1 ? "1 verdict waits" : `${count} verdicts wait`;
  }

  function wanted() {
    return said.all.at(-1)?.wanted ? " The last one may have arrived already: undo it then." : "";
  }

  // The item that the page came with.
  function onPage() {
    const { item, token, until } = $("item").dataset;
    return item === undefined ? null : { item, token: Number(token), until, html: $("item").innerHTML };
  }

  const marked = (shown) => `${shown.token}/${shown.item}`;

  function today(by) {
    spoken += 1;
    $("today").textContent = (Number($("today").textContent.replaceAll(",", "")) + by).toLocaleString("en");
  }

  // Updates the number of waiting items in both places.
  function wait(count) {
    $("waiting").textContent = count.toLocaleString("en");
    const big = document.querySelector("#empty .big");
    if (big) big.textContent = count ? `${count.toLocaleString("en")} waiting` : "Nothing waits.";
  }

  function show(shown) {
    current = shown ?? null;
    shownAt = performance.now();
    tabs.show(current?.item ?? null);
    bar.shows(current?.item);
    desk.dataset.state = current ? "item" : "empty";
    $("item").innerHTML = current ? current.html : "";
    fit();
    $("note-text").value = current?.note ?? drafts.of(current?.item);
    $("note").open = $("note-text").value !== "";
    skips.close();
    tick();
    if (current) {
      $("read").scrollTop = 0;
      $("item").focus({ preventScroll: true });
    }
  }

  // Shows the next item after the current one was lost or done elsewhere, and saves its note.
  function goOn(why) {
    const note = $("note-text").value;
    if (why || note.trim()) bar.tell(why || "This item is open in another of your tabs. Here is the next one.", note);
    show(next.shift());
    if (!current) fill();
  }

  // Makes frames as tall as their content, so that the item scrolls as a whole, also by keys.
  function fit() {
    for (const frame of $("item").querySelectorAll("iframe")) {
      const grow = () => (frame.style.height = `${Math.min(frame.contentDocument?.documentElement?.scrollHeight ?? 0, 30000)}px`);
      frame.addEventListener("load", grow);
      grow();
    }
  }

  // Fetches the held items and the next one. Called during a fetch, it fetches once more
  // afterwards.
  function fill() {
    if (filling) {
      again = true;
      return filling;
    }
    again = false;
    tabs.ask();
    const skipped = outbox.all().filter((entry) => entry.step === "skip").length;
    filling = post(path + "next", { reviewer, leaving: skipped }).then((answer) => {
      filling = null;
      if (again) fill();
      if (answer.away) {
        away();
        setTimeout(fill, 2000);
        return;
      }
      answered();
      bar.state("next", answer.ok ? "" : (answer.body.detail ?? "The server gave no item."));
      if (!answer.ok) return;
      skew = Date.parse(answer.body.now) - Date.now();
      wait(answer.body.waiting);
      const fresh = answer.body.items.filter((shown) => !done.has(marked(shown)) && !outbox.holds(shown.item));
      const same = current && fresh.find((shown) => shown.item === current.item);
      if (same) Object.assign(current, { token: same.token, until: same.until });
      const notes = new Map(next.map((shown) => [shown.item, shown.note]));
      next = fresh.filter((shown) => shown.item !== current?.item && !tabs.has(shown.item));
      for (const shown of next) shown.note = notes.get(shown.item);
      if (!current) show(next.shift());
    });
    return filling;
  }

  function leaveItem(step, body, words, rests) {
    const shown = { ...current, note: $("note-text").value };
    drafts.keep(shown.item, "");
    done.add(marked(shown));
    tabs.left(marked(shown));
    const id = word();
    // Added before sending, because `heard` looks for it when the answer comes.
    said.add({ id, step, words, shown, until: Date.now() + undoFor });
    outbox.add(step, { reviewer, id, item: shown.item, token: shown.token, ...body }, rests);
    outbox.limit("skip", leaving);
    show(next.shift());
    if (!current || step === "skip") fill();
  }

  // Whether the reviewer can have read the item on display.
  const isRead = () => current !== null && performance.now() - shownAt >= UNSEEN;

  function judge(label) {
    if (!isRead()) return;
    today(1);
    leaveItem("verdict", { label, note: $("note-text").value }, label);
  }

  function thought(html) {
    $("jury").innerHTML = html;
    clearTimeout(thought.timer);
    thought.timer = setTimeout(() => $("jury").replaceChildren(), 2000);
  }

  // A verdict or a skip was undone: shows its item with its note, and the current item comes next.
  function returned(back, shown) {
    $("jury").replaceChildren();
    done.delete(marked(shown));
    listOwn();
    if (back.step === "verdict") today(-1);
    if (current && current.item !== shown.item) next.unshift({ ...current, note: $("note-text").value });
    show(shown);
  }

  // Reloads the list of own verdicts, if it is open.
  async function listOwn() {
    if (!$("last").open) return;
    try {
      const answer = await fetch("?panel=last", { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      $("own").innerHTML = await answer.text();
      localise($("own"));
    } catch {
      // The bar already says that the server is unreachable.
    }
  }

  function openSkips() {
    if (current) skips.open();
  }

  function openNote() {
    $("note").open = true;
    $("note-text").focus();
  }

  function tick() {
    said.age();
    if (!current) return;
    const left = Math.max(0, Date.parse(current.until) - Date.now() - skew);
    const seconds = Math.round(left / 1000);
    $("left").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    $("lease").style.transform = `scaleX(${Math.min(1, left / lease)})`;
    // The lease ended while nobody was here: a returning reviewer learns at once who has the item.
    if (left === 0 && current.asked !== current.until && isHere()) {
      current.asked = current.until;
      keep();
    }
  }

  // Tells the reviewer that the server cannot be reached, even if nothing is being sent.
  function away() {
    bar.state("server", "The server cannot be reached. You can go on: your verdicts are kept in this browser and sent when it is back.");
  }

  function answered() {
    bar.state("server");
    if (!bar.lines.has("undo")) return;
    bar.state("undo");
    if (said.last()) bar.tell("The server is back: undo works again.");
  }

  // Checks the connection.
  async function reach() {
    if (document.hidden) return;
    try {
      await fetch("/healthz", { signal: AbortSignal.timeout(4000), cache: "no-store" });
      answered();
    } catch {
      away();
    }
  }

  const isHere = () => !document.hidden && Date.now() - active < Math.max(lease, 600000);

  // Extends the leases while the reviewer is active, and updates the counts. Tells what became of
  // items that are no longer held.
  async function keep(counts = false) {
    if (!isHere()) return;
    const midnight = new Date();
    midnight.setHours(0, 0, 0, 0);
    const [asked, spoke] = [current, spoken];
    const answer = await post(path + "keep", { reviewer, showing: asked?.item, since: counts ? midnight.toISOString() : undefined });
    if (answer.away) return away();
    answered();
    if (!answer.ok) return;
    skew = Date.parse(answer.body.now) - Date.now();
    const held = new Map(answer.body.held);
    for (const shown of [current, ...next]) if (shown && held.has(shown.item)) shown.until = held.get(shown.item);
    next = next.filter((shown) => held.has(shown.item));
    wait(answer.body.waiting);
    if (counts && spoke === spoken && !outbox.all().length) $("today").textContent = answer.body.today.toLocaleString("en");
    if (answer.body.gone && asked === current) await lost(asked, answer.body.gone);
    tick();
  }

  // Shows the next item, unless the lost one could be claimed again, or was given up meanwhile.
  async function lost(shown, why) {
    const token = shown.token;
    await fill();
    if (current === shown && shown.token === token) goOn(`This item is no longer reserved for you: ${why}. Here is the next one.`);
  }

  $("verdict").onsubmit = (event) => {
    event.preventDefault();
    if (event.submitter?.name === "label") judge(event.submitter.value);
  };
  $("claim").onsubmit = (event) => {
    event.preventDefault();
    fill();
  };
  document.querySelector("form.leave").onsubmit = async (event) => {
    event.preventDefault();
    // Skips that wait are sent before the items are returned.
    await outbox.hurry();
    event.target.submit();
  };
  $("note-text").addEventListener("input", () => current && drafts.keep(current.item, $("note-text").value));
  $("last").addEventListener("toggle", listOwn);
  $("skip").onclick = openSkips;
  $("stay").onclick = () => skips.close();
  $("help").onclick = () => $("keys").showModal();

  // A click into a payload's frame would take the keyboard focus. With Tab, the reviewer wants to
  // scroll inside.
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
    s: openSkips,
    u: () => undo.last(),
    n: openNote,
    l: () => {
      $("last").open = !$("last").open;
      $("last").scrollIntoView({ block: "nearest" });
    },
    "?": () => $("keys").showModal(),
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const within = event.target.closest("input, textarea, select");
    if (event.key === "Escape") {
      skips.close();
      bar.close();
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
    if (skips.isOpen()) return skips.key(event);
    const button = buttons.find((button) => button.dataset.key === event.key);
    if (button && current) {
      event.preventDefault();
      judge(button.value);
    } else if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  window.addEventListener("keyup", (event) => event.key === " " && reveal(false));
  window.addEventListener("online", () => outbox.flush());
  window.addEventListener("pagehide", () => outbox.leave());
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    active = Date.now();
    keep(true);
  });

  desk.dataset.live = "";
  fit();
  if (current && !$("note-text").value) {
    $("note-text").value = drafts.of(current.item);
    $("note").open = $("note-text").value !== "";
  }
  // The verdicts that can be undone, as the page lists them.
  for (const one of JSON.parse($("said").dataset.said)) {
    said.add({ ...one, step: "verdict", shown: { note: one.note }, until: Date.parse(one.until) - skew });
  }
  said.draw();
  tabs.show(current?.item ?? null);
  if (current && outbox.holds(current.item)) show(null);
  const left = outbox.all().length;
  outbox.flush();
  if (current || left) fill();
  else tabs.ask();
  tick();
  keep(true);
  setInterval(tick, 1000);
  setInterval(keep, Math.max(2000, Math.min(lease / 3, 60000)));
  setInterval(() => current || keep(), 5000);
  setInterval(reach, 5000);
  for (const sign of ["online", "offline"]) window.addEventListener(sign, reach);
}
