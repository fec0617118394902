"""Reading, locking, writing and merging juries and state files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import _core
from ._core import Jury
from ._errors import Error
from ._table_options import Path


def read(state: Jury | Path | None) -> Jury | None:
    return state if state is None or isinstance(state, Jury) else Jury.load(state)


@contextmanager
def turn(state: Jury | Path | None, wait: float, *, changes: bool) -> Iterator[tuple[Jury | None, Callable[[Jury], None]]]:
    """The jury to work on (None if the file does not exist), and a function that saves it. A
    state file is locked until the end if ``changes``."""
    if state is None or isinstance(state, Jury):
        yield state, lambda jury: None
        return
    path = os.fspath(state)
    if os.path.exists(path) and not os.path.isfile(path):
        # Reading a pipe would block, and it cannot be written back to.
        raise Error(f"{path}: a state that changes must be a plain file, and this is not one", code="state", path=path)
    lock = _core.Lock(path, float(wait)) if changes else None
    try:
        yield (Jury.load(path) if os.path.exists(path) else None), lambda jury: jury.save(path)
    finally:
        if lock is not None:
            lock.release()


def merge(*juries: Jury | Path, again: bool = False, out: Path | None = None, wait: float = 60) -> Jury:
    """One jury from several that learnt separately (juries or state files): ``jurybox merge``.

    The result is what one jury would have learnt from everything. Juries that learnt the same file
    or the same round of picks are refused unless ``again``, because it would count twice. ``a + b``
    is ``merge(a, b)``.

    Rounds learnt by ``Jury.learn`` and ``Jury.round`` are not recognized: merging a jury with its
    copy counts them twice. Begin each part with an empty jury (``jb.Jury(...)``), let it learn its
    own data, and merge once.

    Parameters
    ----------
    juries : juries, or state files
    again : count data twice that several juries learnt
    out : a state file to write the result to as well; it may be one of those merged
    wait : seconds to wait for that file while another process is changing it

    >>> import jurybox as jb
    >>> here, there = (jb.Jury(["spam", "abuse"], "lin-ucb") for _ in range(2))
    >>> here.learn([[0.9, 0.1]], [1.0]), there.learn([[0.1, 0.2]], [0.0])
    (Learnt(used=1, ignored_rewards=0), Learnt(used=1, ignored_rewards=0))
    >>> jb.merge(here, there).seen["used"]
    2
    """
    if len(juries) == 1 and isinstance(juries[0], (list, tuple)):
        juries = tuple(juries[0])
    if out is None:
        return _merged(juries, again)
    lock = _core.Lock(os.fspath(out), float(wait))
    try:
        summed = _merged(juries, again)
        summed.save(out)
    finally:
        lock.release()
    return summed


def _merged(juries: tuple[Jury | Path, ...], again: bool) -> Jury:
    return _core.merge([jury if isinstance(jury, Jury) else Jury.load(jury) for jury in juries], again=again)
