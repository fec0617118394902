// The verdicts and skips that can still be undone, newest last, and a line that shows for how long
// the last of them can still be undone.
import { made } from "./bar.js";

export class Undoable {
  // `waits(id)` says whether an entry is still in the outbox, so that it can be undone in any case.
  // `undo` undoes the last entry.
  constructor(element, span, waits, undo) {
    Object.assign(this, { element, span, waits, undo, all: [], drawn: null });
  }

  // `one` has an id, words, its item with the note, and until when it can be undone, by the
  // browser's clock.
  add(one) {
    this.all.push(one);
    this.draw();
  }

  remove(one) {
    this.all = this.all.filter((other) => other !== one);
    this.draw();
  }

  find(id) {
    return this.all.find((one) => one.id === id);
  }

  // Forgets entries that can no longer be undone.
  age() {
    this.all = this.all.filter((one) => one.undoing || this.waits(one.id) || one.until > Date.now());
    this.draw();
  }

  last() {
    this.age();
    return this.all.at(-1);
  }

  draw() {
    const last = this.all.at(-1);
    const now = last && `${last.id} ${this.all.length} ${last.until}`;
    if (now === this.drawn) return;
    this.drawn = now;
    if (!last) return this.element.replaceChildren();
    const line = made("span", ""), rest = document.createElement("i"), back = made("button", " undo");
    line.className = "line";
    line.append(rest);
    back.type = "button";
    back.className = "quiet";
    back.prepend(made("kbd", "u"));
    back.onclick = this.undo;
    const before = this.all.length - 1, words = made("b", last.words), more = made("span", before ? `${before} more before it` : "");
    words.title = last.words; // long texts are cut off
    more.className = "more";
    this.element.replaceChildren(words, back, line, more);
    const left = Math.max(0, last.until - Date.now());
    rest.animate([{ transform: `scaleX(${Math.min(1, left / this.span)})` }, { transform: "scaleX(0)" }], { duration: left, fill: "forwards" });
  }
}
