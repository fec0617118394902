"""`prevalence`: the mean reward of all rows, estimated from the reviewed ones."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Jury
from ._display import Prevalence
from ._errors import Error
from ._progress import Bar, Watch
from ._sources import without_prefix
from ._states import read
from ._table_options import Long, Missing, Names, Numbers, Path, ends, file_options, log_notes, named, names, table_options
from ._tables import table_source


def prevalence(
    data: Any,
    *,
    reward: str,
    label: Numbers = None,
    probability: str,
    by: str | None = None,
    period: str | None = None,
    prediction: str | None = None,
    golden: str | None = None,
    reviewer: str | None = None,
    state: Jury | Path | None = None,
    reward_range: tuple[float, float] | None = None,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    long: Long = None,
    threads: int | None = None,
    progress: bool | Watch | None = None,
) -> Prevalence:
    """The mean reward of all rows (such as the harm rate), estimated from the reviewed ones.

    The command is ``jurybox prevalence``. The table has all items, a reward where one was reviewed,
    and each row's probability of being reviewed. Rewards are weighted by the inverse of their
    probability. A jury's predictions for the other rows narrow the interval: for each fifth of the
    rows it learns from the other four (prediction-powered inference, Angelopoulos et al. 2023).
    Intervals hold the mean in at least 95 of 100 files if the range of rewards is known (0 and 1,
    or as declared) and probabilities are not steep; others are not ``reliable``.

    Rates are those of the reviewers, unless golden items correct them. With ``id``, rows of one id
    (a thread, an author) are taken together. Picks without a verdict may have any verdict, if the
    table tells which rows were picked.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards; empty where there was no review
    label : rewards of words in that column, such as ``{"remove": 1, "keep": 0}``
    probability : the column with each row's probability of being reviewed; it may be empty where
        there was no review
    by : a column whose values get an estimate each, such as language
    period : a column of dates and the length of a period, ``"created/day"``, ``"created/week"`` or
        ``"created/month"``
    prediction : a column that already predicts the reward, instead of a jury
    golden : a column with the right answer of golden items, 1 or 0, empty for others. Rates are
        corrected by the reviewers' errors on them; golden items count for nothing else
    reviewer : the column that says who gave each verdict: errors are weighted by how much each
        reviewer judged of the other rows
    state : a jury or a state file to predict by. It must not have learnt these rewards
    reward_range : the lowest and highest possible reward; by default 0 and 1 if all are one of
        these

    The other parameters are those of `rank`.

    >>> import jurybox as jb
    >>> import pandas as pd
    >>> harmful = [i % 5 == 0 for i in range(400)]
    >>> month = pd.DataFrame({"spam": [0.6 * h + 0.001 * (i * 37 % 400) for i, h in enumerate(harmful)]})
    >>> month["verdict"] = [float(h) if i % 4 == 0 else None for i, h in enumerate(harmful)]
    >>> month["p"] = 0.25
    >>> found = jb.prevalence(month, reward="verdict", probability="p")
    >>> found.all["low"] < 0.2 < found.all["high"]
    True
    """
    if prediction is not None:
        for other, is_said in (("evaluators", evaluators is not None), ("state", state is not None)):
            if is_said:
                raise Error(f"prediction= and {other}= cannot be combined", code="two-ways")
    dates = None if period is None else _column_of(period)
    if by is not None and by == dates:
        raise Error(f"by={by!r} is also the column of period=: leave one of them out", code="two-ways", column=by)
    files = file_options(input_format, delimiter, header, decimal, na, long)
    rows = table_source(data, long=files["long"])
    if reviewer is not None and golden is None:
        raise Error("reviewer= needs golden=: it weights each reviewer's errors", code="two-ways")
    apart = [*named(dates), *named(by), *named(golden)]
    ask = table_options(
        prediction or evaluators, id, [*names(ignore), *apart], invert, reward, probability,
        reviewer=reviewer, threads=threads, files=files, label=label,
    )  # fmt: skip
    jury = read(state)
    how = {"by": by, "period": period, "prediction": prediction, "golden": golden, "reward_range": ends(reward_range, "reward_range")}
    with Bar(progress) as bar:
        # The receipts in a log that `pick` wrote tell which rows were picked.
        picks = [name for name in rows.names if without_prefix(name) in ("receipt", "round", "row", "picked_at")] if rows.is_frame else []
        source = rows.export_needed({**ask, "apart": apart}, jury, also=[*names(id), *apart, *picks])
        found = _core.prevalence(source, ask, how, jury, bar.watch)
    log_notes(found, rows)
    return Prevalence(found["document"], found["text"])


def _column_of(period: str) -> str:
    """The column of dates in ``period``; its name may contain a slash."""
    column, _, length = period.rpartition("/")
    if not column or length not in ("day", "week", "month"):
        raise Error(f"period={period!r}: expected a column of dates and day, week or month, such as 'created/week'", code="period", value=period)
    return column
