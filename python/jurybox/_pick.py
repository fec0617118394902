"""`pick`: the rows that a person should review now, with the receipts needed to learn from the
verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core
from ._core import Jury
from ._progress import Bar, Watch
from ._sources import Source
from ._states import turn
from ._table_options import Long, Missing, Names, Path, default_policy, file_options, how_many, log_notes, out_path, table_options, whole, whole_or_none
from ._tables import table_source


def pick(
    data: Any,
    k: int | None = None,
    *,
    id: str,
    state: Jury | Path,
    min_reward: float | None = None,
    context: Names = None,
    policy: str | None = None,
    at: int | None = None,
    observe: bool = True,
    all: bool = False,
    evaluators: Names = None,
    ignore: Names = None,
    invert: Names = None,
    out: Path | None = None,
    safe_csv: bool = False,
    seed: int = 0,
    wait: float = 60,
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    long: Long = None,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Any:
    """The `k` rows that a person should review now, picked by the policy: ``jurybox pick``.

    All rows are one round. The picks are returned as `rank` returns rows, with ``rank``, ``value``,
    ``probability`` (of having been picked), ``explored``, ``picked_at``, ``round``, ``row`` and
    ``receipt`` before their columns. Keep them: ``learn(picks=...)`` joins the verdicts to them
    later.

    The state observes the items too, each round once: a repeated call makes the same draws and
    counts nothing twice. A state file that does not exist is created; it is locked meanwhile.

    Parameters
    ----------
    data : as for `rank`
    k : how many rows to pick; by default 100, and with ``min_reward`` all that reach it
    id : the column that names items
    state : a `Jury`, which then has observed the items; or a state file
    min_reward : pick the rows whose expected reward is at least this, perhaps none. The policy must
        expect rewards; a `DataWarning` says where they are not calibrated
    context : for a new state file, columns that name an item's group: weights differ by group as
        far as verdicts show it
    policy : for a new state file; its options are further keywords
    at : the time of the round; by default the number of rounds so far
    observe : whether the state observes the items; False is ``--no-observe``
    all : every row in its order, with its probability of being picked: a log for
        ``replay(probability=...)``
    out : a file to write the picks to as well
    seed : of the random draws, which nevertheless differ between rounds
    wait : seconds to wait for a state file that another process is changing

    The other parameters are those of `rank`.
    """
    files = file_options(input_format, delimiter, header, decimal, na, long)
    rows = table_source(data, long=files["long"])
    ask = table_options(evaluators, None, ignore, invert, key=id, key_is_id=True, threads=threads, files=files, context=context)
    where = out_path(out, state)
    (most, min_reward), seed, at = how_many(k, min_reward), whole(seed, "seed"), whole_or_none(at, "at")
    if options and policy is None:
        policy = default_policy()
    if rows.is_frame:
        # Some column types do not support taking rows: fail before the state changes.
        first = np.arange(min(1, len(rows.native)))
        rows.take(first, {"rank": first})
    with turn(state, wait, changes=observe) as (jury, write), Bar(progress) as bar:
        found, after = _core.pick(
            rows.export_needed(ask, jury, whole=where is not None), ask, jury, policy, options, most, seed, at, observe, all, where, safe_csv, bar.watch, min_reward,
        )  # fmt: skip
        # Before the state is written, so that picks that cannot be returned were not made.
        picked = _picked(rows, found, all) if rows.is_frame else rows.from_core(found["rows"])
        if observe:
            write(after)
    log_notes(found, rows)
    return picked


def _picked(rows: Source, found: Mapping[str, Any], every: bool) -> Any:
    which = found["row"]
    places = np.arange(1, len(which) + 1)
    ranks: Any
    explored: Any
    if not every:
        shown, ranks, explored = which, places, found["explored"]
        receipts = list(found["receipt"])
    else:
        shown = np.arange(found["total"])
        ranks, explored = _holes(len(shown), which, places), _holes(len(shown), which, found["explored"])
        receipts = [None] * len(shown)
        for row, receipt in zip(which, found["receipt"], strict=True):
            receipts[row] = receipt
    front = {
        "rank": ranks,
        "value": found["values"],
        "probability": found["probabilities"],
        "explored": explored,
        "picked_at": np.full(len(shown), found["at"], dtype=np.int64),
        "round": [found["round"]] * len(shown),
        "row": shown + 1,
        "receipt": receipts,
    }
    return rows.take(None if every else shown, front)


def _holes(rows: int, at: Any, values: Any) -> list[Any]:
    """A list with values at some rows and None at the others."""
    cells: list[Any] = [None] * rows
    for row, value in zip(at.tolist(), values.tolist(), strict=True):
        cells[row] = value
    return cells
