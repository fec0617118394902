// Notes that are being written, kept in this browser by item: a page that is loaded again, or that a phone has put aside, still has them.
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

  // What was written about an item, or nothing.
  of(item) {
    return this.all().find((draft) => draft[0] === item)?.[1] ?? "";
  }

  // The last so many are kept; an empty one is forgotten.
  keep(item, note) {
    const others = this.all().filter((draft) => draft[0] !== item);
    const kept = note ? [...others, [item, note]].slice(-MOST) : others;
    try {
      localStorage.setItem(this.key, JSON.stringify(kept));
    } catch {
      // No room, or none allowed: the note is on the page alone, as it was.
    }
  }
}
