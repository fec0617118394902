// The notice bar of the desk: the state of the connection, and notices such as refused verdicts. A
// note written for a lost item stays here until the reviewer uses or discards it.

const STAYS = 15000; // milliseconds

export class Bar {
  // `use(note)` adds a note to the one being written.
  constructor(element, use) {
    this.element = element;
    this.use = use;
    this.lines = new Map();
    this.notice = [];
  }

  // Sets the line of a subject; an empty line removes it.
  state(about, line) {
    if (line === this.lines.get(about)) return;
    if (line) this.lines.set(about, line);
    else this.lines.delete(about);
    this.draw();
  }

  // Adds a notice, with a note to save if there is one. Without a note, a notice disappears after
  // 15 seconds, and replaces one with the same text.
  tell(text, note, about) {
    const notice = { text, note: note?.trim(), about };
    this.notice = this.notice.filter((other) => other.note || other.text !== text);
    this.notice.push(notice);
    if (!notice.note) setTimeout(() => this.drop(notice), STAYS);
    this.draw();
  }

  // Removes notices about other items than the one now shown, except those that save a note.
  shows(item) {
    this.notice = this.notice.filter((notice) => notice.note || !notice.about || notice.about === item);
    this.draw();
  }

  // Closes all notices except those that save a note.
  close() {
    this.notice = this.notice.filter((notice) => notice.note);
    this.draw();
  }

  drop(notice) {
    this.notice = this.notice.filter((other) => other !== notice);
    this.draw();
  }

  draw() {
    const lines = this.notice.map((notice) => this.drawn(notice));
    // The outbox's line already says that the server is unreachable.
    const states = [...this.lines].filter(([about]) => about !== "server" || !this.lines.has("outbox"));
    lines.unshift(...states.map(([, line]) => made("p", line)));
    this.element.replaceChildren(...lines);
    this.element.hidden = lines.length === 0;
  }

  drawn(notice) {
    const line = made("p", notice.text + " ");
    if (notice.note) {
      const use = button("use it here", () => {
        this.use(notice.note);
        this.drop(notice);
      });
      line.append("Your note is saved: ", made("q", notice.note), " ", use);
    }
    line.append(button(notice.note ? "discard" : "close", () => this.drop(notice)));
    return line;
  }
}

export function made(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function button(text, does) {
  const element = made("button", text);
  element.type = "button";
  element.className = "quiet";
  element.onclick = does;
  return element;
}
