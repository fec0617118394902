// Times by the clock of whoever looks: the page comes with them in UTC.

const two = (number) => String(number).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

export function localise(root) {
  const today = day(new Date());
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    time.textContent = day(at) === today ? clock : `${day(at)} ${clock}`;
    time.title = at.toString();
  }
}
