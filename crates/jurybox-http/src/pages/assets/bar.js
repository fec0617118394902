// What a reviewer is told above the item: how the server is, and what was not taken. A note that was written for an item that is gone stays there
// until somebody uses it or lets it go.

const STAYS = 15000; // milliseconds

export class Bar {
  // `use(note)` puts a note into the one that is being written.
  constructor(element, use) {
    this.element = element;
    this.use = use;
    this.lines = new Map();
    this.told = [];
  }

  // How something is now; nothing where it is well. Each of what is spoken of has a line of its own: that one is well does not unsay the other.
  state(about, line) {
    if (line === this.lines.get(about)) return;
    if (line) this.lines.set(about, line);
    else this.lines.delete(about);
    this.draw();
  }

  // What has happened, with the note that would be lost; what is about one item is told while that is shown. Told again, it stands there once.
  tell(text, note, about) {
    const told = { text, note: note?.trim(), about };
    this.told = this.told.filter((other) => other.note || other.text !== text);
    this.told.push(told);
    if (!told.note) setTimeout(() => this.drop(told), STAYS);
    this.draw();
  }

  // Another item is shown: what was about the one before is not about this.
  shows(item) {
    this.told = this.told.filter((told) => told.note || !told.about || told.about === item);
    this.draw();
  }

  // Closes all but the notes that are kept.
  close() {
    this.told = this.told.filter((told) => told.note);
    this.draw();
  }

  drop(told) {
    this.told = this.told.filter((other) => other !== told);
    this.draw();
  }

  draw() {
    const lines = this.told.map((told) => this.drawn(told));
    // What waits to be sent says that the server is away as well.
    const states = [...this.lines].filter(([about]) => about !== "server" || !this.lines.has("outbox"));
    lines.unshift(...states.map(([, line]) => made("p", line)));
    this.element.replaceChildren(...lines);
    this.element.hidden = lines.length === 0;
  }

  drawn(told) {
    const line = made("p", told.text + " ");
    if (told.note) {
      const use = button("use it here", () => {
        this.use(told.note);
        this.drop(told);
      });
      line.append("Your note is kept: ", made("q", told.note), " ", use);
    }
    line.append(button(told.note ? "let it go" : "close", () => this.drop(told)));
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
