// Replaces the page's UTC times by local ones.

const two = (number) => String(number).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

// The local time of day, with its date unless that is today.
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
