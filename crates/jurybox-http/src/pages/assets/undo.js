// Undo of the last verdict or skip: in the browser if the server cannot have it, else on the
// server.
import { post } from "./outbox.js";

export class Undo {
  // `returned(back, shown)` gets the undone entry and its item.
  constructor({ path, reviewer, undoFor, outbox, said, bar, returned }) {
    Object.assign(this, { path, reviewer, undoFor, outbox, said, bar, returned });
    this.refused = new Set(); // the ids of refused entries
  }

  async last() {
    const back = this.said.last();
    if (!back) return this.bar.tell(`Nothing to undo. Verdicts and skips can be undone for ${this.undoFor / 1000} seconds.`);
    if (back.undoing) return;
    back.undoing = true;
    const shown = await this.takenBack(back);
    back.undoing = false;
    if (!shown) return;
    this.said.remove(back);
    this.returned(back, shown);
  }

  // The item of an undone entry with its note, or nothing if it cannot be undone. An entry that was
  // sent without an answer is sent again first; then a verdict is undone on the server.
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
    if (back.step === "skip") return bar.tell("The skip has been sent. You will not get that item again.");
    const answer = await post(this.path + "undo", { reviewer: this.reviewer, verdict: back.id }, back.id + "-undo");
    if (answer.away) return bar.state("undo", "The server cannot be reached. Undo it once it is back.");
    bar.state("undo");
    if (!answer.ok) {
      this.said.remove(back);
      return bar.tell(answer.body.detail);
    }
    if (back.thought) bar.tell("You have seen the prediction for this item. Your next verdict on it counts, and is marked as not blind.", "", back.shown.item);
    return { ...(answer.body.items[0] ?? back.shown), note: back.shown.note };
  }
}
