// Drafts of notes by item, kept in the browser. They survive a reload, or a phone that suspends the
// page.
const MOST = 50;

export class Drafts {
  constructor(queue, reviewer) {
    this.key = `jurybox/drafts/${queue}/${reviewer}`;
  }

  all() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key));
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  }

  // The draft about an item, or an empty text.
  of(item) {
    return this.all().find((draft) => draft[0] === item)?.[1] ?? "";
  }

  // Stores a draft, and removes the oldest of more than 50. An empty draft is removed.
  keep(item, note) {
    const others = this.all().filter((draft) => draft[0] !== item);
    const kept = note ? [...others, [item, note]].slice(-MOST) : others;
    try {
      localStorage.setItem(this.key, JSON.stringify(kept));
    } catch {
      // Storage is full or forbidden: the note is only on the page.
    }
  }
}
