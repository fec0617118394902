// Taking back what was said last: here where it was never sent, on the server where that may have it.
import { post } from "./outbox.js";

export class Undo {
  // `returned(back, shown)`: what was taken back, and its item as it is in hand again.
  constructor({ path, reviewer, undoFor, outbox, said, bar, returned }) {
    Object.assign(this, { path, reviewer, undoFor, outbox, said, bar, returned });
    this.refused = new Set(); // the ids of what was not taken
  }

  async last() {
    const back = this.said.last();
    if (!back) return this.bar.tell(`Nothing can be taken back any more: that can be done for ${this.undoFor / 1000} seconds.`);
    if (back.undoing) return;
    back.undoing = true;
    const shown = await this.takenBack(back);
    back.undoing = false;
    if (!shown) return;
    this.said.remove(back);
    this.returned(back, shown);
  }

  // The item of what was taken back, with its note; nothing where it was not. What has never been sent is not sent. What was sent may be with
  // the server though no answer came: that is asked first, and then it is taken back there.
  async takenBack(back) {
    const { outbox, bar } = this;
    if (outbox.has(back.id) && !outbox.wasSent(back.id)) {
      outbox.remove(back.id);
      if (!outbox.ready()) bar.state("outbox");
      return back.shown;
    }
    back.wanted = true;
    if (outbox.has(back.id)) await outbox.flush();
    if (outbox.has(back.id) || this.refused.has(back.id)) return;
    if (back.step === "skip") return bar.tell("The skip has been sent: you will not be given that item again.");
    const answer = await post(this.path + "undo", { reviewer: this.reviewer, verdict: back.id }, back.id + "-undo");
    if (answer.away) return bar.state("undo", "The server cannot be reached: undo it once it is back.");
    bar.state("undo");
    if (!answer.ok) {
      this.said.remove(back);
      return bar.tell(answer.body.detail);
    }
    if (back.thought) bar.tell("You have seen what the jury thought of this one: your next verdict on it counts, and is marked as not blind.", "", back.shown.item);
    return { ...(answer.body.items[0] ?? back.shown), note: back.shown.note };
  }
}
