// Times by the clock of whoever looks: the page comes with them in UTC.

const two = (number) => String(number).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

// The time of day, to the second where asked, with its date where that is another.
export function clockOf(at, exact = false) {
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}${exact ? `:${two(at.getSeconds())}` : ""}`;
  return day(at) === day(new Date()) ? clock : `${day(at)} ${clock}`;
}

export function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    time.textContent = clockOf(at, "exact" in time.dataset);
    time.title = at.toString();
  }
}
