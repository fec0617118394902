"""Progress bar on a terminal or in a notebook, for work that takes more than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

#: Called with the count done, the position, its end (or None) and the unit, ``rows`` or ``runs``.
Watch = Callable[[int, int, "int | None", str], object]

#: Seconds before the bar appears.
PATIENCE = 1.0
WIDTH = 30


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    """A line that is redrawn in place and removed at the end."""

    def __init__(self, progress: bool | Watch | None) -> None:
        self._own = progress if callable(progress) else None
        shown = progress if isinstance(progress, bool) else sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
        #: The function the compiled part calls; None if no progress is shown.
        self.watch: Watch | None = self._own or (self._draw if shown else None)
        self._begun = time.monotonic()
        self._last = 0
        self._drawn = 0

    def _draw(self, done: int, position: int, of: int | None, unit: str) -> None:
        now = time.monotonic()
        if position < self._last:  # a second pass over the rows
            self._begun = now
        self._last = position
        taken = now - self._begun
        if taken < PATIENCE:
            return
        line = f"{done:,} {unit}"
        if of:
            share = min(position / of, 1.0)
            full = round(WIDTH * share)
            left = f", {taken / share - taken:.0f} s left" if share > 0 else ""
            line = f"[{'=' * full}{' ' * (WIDTH - full)}] {100 * share:3.0f}%  {line}{left}"
        self._write(line)

    def _write(self, line: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write("\r" + line.ljust(self._drawn))
            sys.stderr.flush()
        self._drawn = len(line)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._drawn:
            self._write("")
            if sys.stderr is not None:
                sys.stderr.write("\r")
