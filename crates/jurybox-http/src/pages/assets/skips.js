// The form for the reason of a skip: by a number key, in own words, or by pointer. No reason is
// preselected.

export class Skips {
  // `skip(reason)` skips the item.
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

  // Closes the form and forgets its choice, which was about another item.
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

  // Shows or hides the request for a reason.
  want(shown) {
    this.form.querySelector("[role=alert]").textContent = shown ? "Choose a reason, or write one." : "";
  }

  // A number skips with the reason at that place, Enter with the chosen one. Any other character
  // but the space begins a reason in own words.
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
      // The character is typed into the newly focused field.
      this.form.querySelector("input[name=other]").focus();
    }
  }
}
