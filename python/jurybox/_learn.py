"""`learn`: from scores and rewards of rows, or from the verdicts on picks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Jury
from ._errors import Error
from ._progress import Bar, Watch
from ._sources import RESULT_COLUMNS, Source, without_prefix
from ._states import turn
from ._table_options import Long, Missing, Names, Numbers, Path, default_policy, file_options, log_notes, logger, names, table_options, whole_or_none
from ._tables import returned_source, table_source


def learn(
    data: Any = None,
    *,
    reward: str | None = None,
    label: Numbers = None,
    reviewer: str | None = None,
    context: Names = None,
    state: Jury | Path | None = None,
    picks: Any = None,
    verdicts: Any = None,
    id: str | None = None,
    round: str | None = None,
    policy: str | None = None,
    at: int | None = None,
    again: bool = False,
    drop: Names = None,
    evaluators: Names = None,
    ignore: Names = None,
    invert: Names = None,
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
) -> Jury:
    """Learns from scores and rewards of rows, or from the verdicts on picks: ``jurybox learn``.

    Returns the jury: a new one, or the given one, which has then learnt. With the name of a state
    file, its state is extended and written back; the file is locked meanwhile.

    **Repeated data.** A state remembers which files it has learnt, and with ``id`` also which
    tables, in any order. Repeated ones are skipped, which is logged by the logger ``jurybox``. A
    frame without ``id`` counts each time, and so does a stream. Single rows are not remembered: a
    table with one row more is a new table, and *all* of its rows count. Pass only the new rows.
    Verdicts on picks (``picks=``) are recognized one by one.

    With ``picks``, verdicts are joined by ``id`` to the rows that `pick` returned. They may come
    late and in parts: each is learnt once, with the scores, probability and time of its pick. An
    empty cell means that there is no verdict yet.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards; empty where there is no verdict
    label : rewards of words in that column, such as ``{"remove": 1, "keep": 0}``
    reviewer : the column that says who gave each verdict. Severity and noise of each reviewer are
        learnt, and verdicts are weighted by them (``Jury.reviewers``)
    context : columns that name an item's group, such as its language: weights differ by group as
        far as rewards show it
    state : a `Jury` or a state file to extend
    picks, verdicts : what `pick` returned, and the verdicts on it; by default a column of the picks
        themselves. Frames of several rounds may be a list. Rows may be dicts, named tuples or rows
        of sqlite3
    id : the column that joins verdicts to picks, and by which tables are recognized
    round : the column that names each row's round; by default each file or frame is one round
    policy : for a new jury; its options are further keywords
    at : the time of the first round; by default one after the latest in the state
    again : learn again what the state has learnt already, and count it twice
    drop : evaluators of the state to forget

    The other parameters are those of `rank`.

    >>> import jurybox as jb, polars as pl
    >>> past = pl.DataFrame({"spam": [0.9, 0.2, 0.8], "abuse": [0.1, 0.3, 0.9], "verdict": [0, 0, 1]})
    >>> jury = jb.learn(past, reward="verdict", policy="lin-ucb")
    >>> jury.seen["used"]
    3
    """
    if (data is None) == (picks is None):
        raise Error("pass either data, to learn from rows, or picks=, to learn from verdicts on picks", code="two-ways")
    if verdicts is not None and picks is None:
        raise Error("verdicts= needs picks=: pass the rows that pick returned", code="two-ways")
    if picks is not None:
        unheard = {"policy": policy, "round": round, "at": at, "long": long, "context": context, "drop": drop, "evaluators": evaluators, "ignore": ignore}
        for name in [*(name for name, said in unheard.items() if said is not None), *options]:
            raise Error(f"picks are learnt as they were picked: {name}= cannot be combined with picks=", code="two-ways")
    if reviewer is not None and reward is None and picks is None:
        raise Error("reviewer= names the column of reviewers: pass reward= too, the column of verdicts", code="reward")
    at = whole_or_none(at, "at")
    if options and policy is None:
        policy = default_policy()
    files = file_options(input_format, delimiter, header, decimal, na, long)
    rows = None if data is None else table_source(data, long=files["long"])
    with turn(state, wait, changes=True) as (jury, write), Bar(progress) as bar:
        if rows is None:
            if jury is None:
                raise Error("pass state=, the state that the picks were made by", code="state")
            found, after = _learn_picks(picks, verdicts, id, reward, reviewer, invert, jury, again, threads, files, bar, label), jury
        else:
            _no_picks(rows)
            ask = table_options(evaluators, id, ignore, invert, reward, None, round, threads, files, reviewer, context, label)
            # Rows are recognized by a single id column; with several, none is needed.
            known = names(id) if len(names(id)) == 1 else []
            found, after = _core.learn(rows.export_needed(ask, jury, also=known), ask, jury, policy, options, at, names(drop), again, bar.watch)
        write(after)
    log_notes(found, rows)
    logger.info("learnt: %s", found["taught"])
    return after


def _no_picks(rows: Source) -> None:
    """Errors if a frame holds picks, whose rows were observed already. The compiled part checks
    files and streams."""
    if not rows.is_frame:
        return
    here = {without_prefix(name): name for name in rows.names}
    if {"receipt", "round", "row", "picked_at"} <= here.keys():
        column = here["receipt"]
        raise Error(
            f"these are picks, with receipts in `{column}`; their rows were observed when they were picked. Pass them as picks=",
            code="are-picks", column=column,
        )  # fmt: skip


def _learn_picks(
    picks: Any, verdicts: Any, id: str | None, reward: str | None, reviewer: str | None, invert: Names, jury: Jury, again: bool,
    threads: int | None, files: Mapping[str, Any], bar: Bar, label: Numbers,
) -> Any:  # fmt: skip
    if id is None:
        raise Error("pass id=, the column that joins verdicts to picks", code="id")
    known = jury._reward()
    name = reward or (known[0] if known else None)
    if name is None:
        raise Error("pass reward=, the column of verdicts", code="reward")
    shown = returned_source(picks, list(dict.fromkeys([*jury.evaluators, id, name, *RESULT_COLUMNS])))
    told = shown if verdicts is None else returned_source(verdicts, [one for one in (id, name, reviewer) if one is not None])
    ask = table_options([name], None, None, invert, None, None, id, threads, files, reviewer, label=label)
    return _core.learn_picks(_of_picks(shown, jury, id), _of_verdicts(told, id, name, reviewer), ask, name, jury, verdicts is None, again, bar.watch)


def _of_picks(rows: Source, jury: Jury, id: str) -> tuple[str, Any]:
    """The needed columns of a table of picks: those that `pick` added, the id and the scores."""
    if not rows.is_frame:
        return rows.export_needed(table_options(), None)
    here = rows.names
    ours = [name for name in here if without_prefix(name) in RESULT_COLUMNS]
    wanted = [*jury.evaluators, id, *ours]
    return rows.export([name for name in dict.fromkeys(wanted) if name in here], {"key": id, "context": jury.contexts})


def _of_verdicts(rows: Source, id: str, reward: str, reviewer: str | None) -> tuple[str, Any]:
    return rows.export_needed(table_options([reward], key=id, reviewer=reviewer), None)
