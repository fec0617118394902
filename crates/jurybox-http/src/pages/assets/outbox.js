// Verdicts and skips on their way: kept in the browser until the server confirms them, and resent
// with the same key.

const FIRST = 1000, LONGEST = 10000; // milliseconds between tries

export class Outbox {
  // `told(state, entry, answer)` is called with the state "sent" or "refused", or with "waiting"
  // (no connection) or "locked" (login needed) and the number of entries as the answer.
  constructor(queue, reviewer, told) {
    this.place = `jurybox/outbox/${queue}/${reviewer}`;
    this.path = `/q/${queue}/desk/`;
    this.told = told;
    this.rest = FIRST;
    this.sending = null;
    this.held = null;
  }

  all() {
    if (this.held) return this.held;
    try {
      const kept = JSON.parse(localStorage.getItem(this.place));
      // Entries of unknown form would block those after them.
      return Array.isArray(kept) ? kept.filter((entry) => entry?.id && entry.step && entry.body?.item !== undefined) : [];
    } catch {
      return [];
    }
  }

  // Stores all entries. If the browser's storage is full, they are kept while the page is open.
  keep(all) {
    try {
      localStorage.setItem(this.place, JSON.stringify(all));
      this.held = null;
    } catch {
      this.held = all;
    }
  }

  has(id) {
    return this.all().some((entry) => entry.id === id);
  }

  holds(item) {
    return this.all().some((entry) => entry.body.item === item);
  }

  // `rests`: for how many milliseconds the entry is held back and can be removed.
  add(step, body, rests = 0) {
    this.keep([...this.all(), { step, id: body.id, body, from: Date.now() + rests }]);
    this.flush();
  }

  // Sends everything now.
  hurry() {
    this.keep(this.all().map((entry) => ({ ...entry, from: 0 })));
    return this.flush();
  }

  // Holds back only the last `most` entries of a step; earlier ones are sent now.
  limit(step, most) {
    const older = this.all().filter((entry) => entry.step === step).slice(0, -most);
    if (!older.some((entry) => entry.from > Date.now())) return;
    const ids = older.map((entry) => entry.id);
    this.keep(this.all().map((entry) => (ids.includes(entry.id) ? { ...entry, from: 0 } : entry)));
    this.flush();
  }

  // Whether an entry was sent at least once: the server may have it although no answer came.
  wasSent(id) {
    return this.all().some((entry) => entry.id === id && entry.sent);
  }

  remove(id) {
    this.keep(this.all().filter((entry) => entry.id !== id));
  }

  // Sends waiting entries in order, one at a time.
  flush() {
    clearTimeout(this.timer);
    this.sending ??= this.work();
    return this.sending;
  }

  // The page is closing: sends everything without waiting. The next page sends all of it again,
  // with the same keys.
  leave() {
    this.keep(this.all().map((entry) => ({ ...entry, from: 0, sent: true })));
    for (const entry of this.all()) post(this.path + entry.step, entry.body, entry.id);
  }

  // The first entry that is not held back.
  ready() {
    return this.all().find((entry) => !(entry.from > Date.now()));
  }

  async work() {
    // Continues after the code that is running now, which may still add entries.
    await null;
    try {
      for (let entry = this.ready(); entry; entry = this.ready()) {
        this.keep(this.all().map((one) => (one.id === entry.id ? { ...one, sent: true } : one)));
        const answer = await post(this.path + entry.step, entry.body, entry.id);
        if (answer.away || answer.status === 401) {
          this.told(answer.away ? "waiting" : "locked", entry, this.all().length);
          this.timer = setTimeout(() => this.flush(), this.rest);
          this.rest = Math.min(2 * this.rest, LONGEST);
          return;
        }
        this.rest = FIRST;
        this.remove(entry.id);
        const refused = !answer.ok || answer.body.taken === false;
        this.told(refused ? "refused" : "sent", entry, answer.body);
      }
      const rests = Math.min(...this.all().map((entry) => entry.from));
      if (Number.isFinite(rests)) this.timer = setTimeout(() => this.flush(), Math.max(0, rests - Date.now()) + 50);
    } finally {
      this.sending = null;
    }
  }
}

// Sends a request. With `away` in the answer, the server is unreachable or overloaded, and the
// request can be repeated.
export async function post(path, body, key) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  try {
    // With `keepalive` the request arrives even if the page is closed.
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(15000), keepalive: true });
    const away = answer.status >= 500 || answer.status === 429 || answer.status === 408;
    return { away, ok: answer.ok, status: answer.status, body: away ? {} : await answer.json() };
  } catch {
    return { away: true, ok: false, status: 0, body: {} };
  }
}

// A random id.
export function word() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "desk-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
