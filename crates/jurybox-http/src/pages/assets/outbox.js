// Verdicts on their way: kept in this browser until the server has said that it has them, and sent again with the same key until then.

const FIRST = 1000, LONGEST = 10000; // milliseconds between tries

export class Outbox {
  // `told(state, entry, answer)`: "waiting" (a number wait), "sent", "refused", "locked" (somebody must log in).
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
      // Whatever else somebody has put there would stand in the way of all that comes after it.
      return Array.isArray(kept) ? kept.filter((entry) => entry?.id && entry.step && entry.body?.item !== undefined) : [];
    } catch {
      return [];
    }
  }

  // Where the browser has no more room, this page keeps them for as long as it is open.
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

  // `rests`: milliseconds for which it is kept here first, and can be taken out again.
  add(step, body, rests = 0) {
    this.keep([...this.all(), { step, id: body.id, body, from: Date.now() + rests }]);
    this.flush();
  }

  // Nothing rests any longer.
  hurry() {
    this.keep(this.all().map((entry) => ({ ...entry, from: 0 })));
    return this.flush();
  }

  // Of what rests, the last so many go on resting: whatever is older is sent now.
  limit(step, most) {
    const older = this.all().filter((entry) => entry.step === step).slice(0, -most);
    if (!older.some((entry) => entry.from > Date.now())) return;
    const ids = older.map((entry) => entry.id);
    this.keep(this.all().map((entry) => (ids.includes(entry.id) ? { ...entry, from: 0 } : entry)));
    this.flush();
  }

  // Whether it was sent at least once: the server may have it, though nobody has heard so.
  wasSent(id) {
    return this.all().some((entry) => entry.id === id && entry.sent);
  }

  remove(id) {
    this.keep(this.all().filter((entry) => entry.id !== id));
  }

  // Sends what waits, one after the other, in the order in which it was said.
  flush() {
    clearTimeout(this.timer);
    this.sending ??= this.work();
    return this.sending;
  }

  // The page is closed: all of it is sent, and nobody hears the answers. Opened again, the page sends it again with the same keys.
  leave() {
    this.keep(this.all().map((entry) => ({ ...entry, from: 0, sent: true })));
    for (const entry of this.all()) post(this.path + entry.step, entry.body, entry.id);
  }

  // The first that need not rest any longer.
  ready() {
    return this.all().find((entry) => !(entry.from > Date.now()));
  }

  async work() {
    // Never done within the call that began it: what the same task still adds is seen, too.
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

// Asks the server. `away`: it could not be reached, or cannot answer now; the same may be asked again.
export async function post(path, body, key) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  try {
    // `keepalive`: it arrives also where the page is closed meanwhile.
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(15000), keepalive: true });
    const away = answer.status >= 500 || answer.status === 429 || answer.status === 408;
    return { away, ok: answer.ok, status: answer.status, body: away ? {} : await answer.json() };
  } catch {
    return { away: true, ok: false, status: 0, body: {} };
  }
}

// A word that nobody else has.
export function word() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "desk-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
