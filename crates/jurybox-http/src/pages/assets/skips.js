// Why an item is skipped: by a number, in words of one's own, or by the pointer. Nothing is chosen before somebody chooses.

export class Skips {
  // `skip(reason)` lets the item go.
  constructor(form, skip) {
    Object.assign(this, { form, skip });
    form.onsubmit = (event) => {
      event.preventDefault();
      this.send();
    };
    form.addEventListener("input", () => this.want(false));
  }

  isOpen() {
    return this.form.classList.contains("open");
  }

  open() {
    this.form.classList.add("open");
    this.form.querySelector("fieldset").focus();
  }

  // What was chosen or written for one item is not about another.
  close() {
    this.form.reset();
    this.want(false);
    this.form.classList.remove("open");
  }

  send() {
    const said = new FormData(this.form);
    const reason = said.get("other").trim() || said.get("reason");
    if (!reason) return this.want(true);
    this.skip(reason);
  }

  // Whether it is said that a reason is wanted.
  want(shown) {
    this.form.querySelector("[role=alert]").textContent = shown ? "Choose a reason, or write one." : "";
  }

  // A number skips with that reason; Enter with what was chosen; any other sign begins a reason in words.
  key(event) {
    const reason = [...this.form.querySelectorAll("input[type=radio]")][Number(event.key) - 1];
    if (reason) {
      event.preventDefault();
      return this.skip(reason.value);
    }
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") {
      event.preventDefault();
      this.send();
    } else if (event.key.length === 1 && event.key !== " ") {
      // The sign is written where the focus goes.
      this.form.querySelector("input[name=other]").focus();
    }
  }
}
