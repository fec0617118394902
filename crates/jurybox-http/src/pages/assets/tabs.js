// Coordination of one reviewer's desks in several tabs: an item is shown in one tab only, and an
// item judged or skipped in one tab is done in all.
import { word } from "./outbox.js";

export class Tabs {
  // `heard` is told what other tabs do: `shows(item, since)`, and `left(mark)` of a finished item.
  constructor(name, heard) {
    this.tab = word();
    this.mine = { item: null, since: 0 };
    this.others = new Map();
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }) => {
      if (data.asks) this.answer();
      else if (data.left) heard.left(data.left);
      else {
        this.others.set(data.tab, data.item);
        if (data.item) heard.shows(data.item, data.since);
      }
    };
    window.addEventListener("pagehide", () => this.channel.postMessage({ tab: this.tab, item: null }));
  }

  // Asks what the other tabs show. A tab that was killed does not answer, and so is forgotten.
  ask() {
    this.others.clear();
    this.channel.postMessage({ asks: true });
  }

  answer() {
    this.channel.postMessage({ tab: this.tab, ...this.mine });
  }

  show(item) {
    if (this.mine.item === item) return;
    this.mine = { item, since: Date.now() };
    this.answer();
  }

  left(mark) {
    this.channel.postMessage({ left: mark });
  }

  // Whether another tab shows the item.
  has(item) {
    return [...this.others.values()].includes(item);
  }
}
