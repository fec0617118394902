// What was just said and can still be taken back, the last one last; and the line that shows for how long.
import { made } from "./bar.js";

export class Undoable {
  // `waits(id)`: whether it is still here and the server may not have begun to count; `undo` takes the last one back.
  constructor(element, span, waits, undo) {
    Object.assign(this, { element, span, waits, undo, all: [], drawn: null });
  }

  // `one`: its id, its words, the item that it was about, the note beside it, and until when it can be taken back, by this clock.
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

  // Forgets what can be taken back no more.
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
    words.title = last.words; // a long one is cut off
    more.className = "more";
    this.element.replaceChildren(words, back, line, more);
    const left = Math.max(0, last.until - Date.now());
    rest.animate([{ transform: `scaleX(${Math.min(1, left / this.span)})` }, { transform: "scaleX(0)" }], { duration: left, fill: "forwards" });
  }
}
