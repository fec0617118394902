"""`rank`: the rows most worth reviewing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

from . import _core
from ._core import Jury, Rows
from ._errors import DataWarning, Error
from ._progress import Bar, Watch
from ._states import read
from ._table_options import Long, Missing, Names, Numbers, Path, default_policy, file_options, how_many, log_notes, named, names, numbers, out_path, table_options, whole
from ._tables import table_source

Frame = TypeVar("Frame")


@overload
def rank(
    data: Path | Sequence[Path],
    k: int | None = None,
    *,
    min_reward: float | None = None,
    policy: str | None = None,
    state: Jury | Path | None = None,
    sigma: Any = None,
    weights: Numbers = None,
    every_row: bool = False,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    reward: str | None = None,
    round: str | None = None,
    group: str | None = None,
    explain: bool = False,
    all: bool = False,
    out: Path | None = None,
    safe_csv: bool = False,
    seed: int = 0,
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    long: Long = None,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Rows: ...
@overload
def rank(
    data: Frame,
    k: int | None = None,
    *,
    min_reward: float | None = None,
    policy: str | None = None,
    state: Jury | Path | None = None,
    sigma: Any = None,
    weights: Numbers = None,
    every_row: bool = False,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    reward: str | None = None,
    round: str | None = None,
    group: str | None = None,
    explain: bool = False,
    all: bool = False,
    out: Path | None = None,
    safe_csv: bool = False,
    seed: int = 0,
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    long: Long = None,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Frame: ...
def rank(
    data: Any,
    k: int | None = None,
    *,
    min_reward: float | None = None,
    policy: str | None = None,
    state: Jury | Path | None = None,
    sigma: Any = None,
    weights: Numbers = None,
    every_row: bool = False,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    reward: str | None = None,
    round: str | None = None,
    group: str | None = None,
    explain: bool = False,
    all: bool = False,
    out: Path | None = None,
    safe_csv: bool = False,
    seed: int = 0,
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
    """The `k` rows most worth reviewing, best first: ``jurybox rank``.

    A frame of pandas, polars or pyarrow gives rows of that frame, with its index and types, and
    ``rank`` and ``score`` before its columns. Files (names, patterns, lists of them), DuckDB
    relations and other Arrow streams give `Rows`.

    Every numeric column that has no other role is an evaluator. Without labels the policy first
    surveys the scores themselves; with ``state`` it ranks by what was learnt. Ranking explores
    nothing and remembers nothing. To learn from what people find, use `pick`.

    Parameters
    ----------
    data : frame, relation, stream, or names of files
    k : how many rows to keep, within each group if there is a ``group``; by default 100, and with
        ``min_reward`` all that reach it
    min_reward : keep the rows whose expected reward is at least this; needs the ``state`` of a
        policy that expects rewards. A `DataWarning` says where these may not be calibrated, because
        not every row had a label
    policy : how to rank, such as ``"esag"``; see `jurybox.policies`. Its options are further
        keywords
    state : a `Jury`, or a state file as `learn` writes it
    sigma : noise levels of the evaluators by name, for policies that take them; without a policy,
        ``esag`` ranks
    weights : fixed weights by name, instead of a policy
    every_row : survey the scores of every row; otherwise a sample is taken of more than 262,144
        rows, if the scores do not change along the file
    evaluators : their columns; a ``-`` before a name means that low scores mean high rewards
    id, ignore, reward, round : columns that are not evaluators; results contain them
    invert : evaluators whose low scores mean high rewards
    group : keep the top `k` for each value of this column
    explain : add each evaluator's contribution to a row's score: ``base`` and the columns
        ``by_NAME`` sum to it
    all : every row with its score, in the original order
    out : a file to write the result to as well; its name tells the format
    safe_csv : in CSV, put an apostrophe before text that a spreadsheet would run as a formula
    seed : decides the order of equal scores
    input_format : ``"csv"``, ``"jsonl"`` or ``"parquet"``; by default told by first bytes and name
    delimiter : what separates the cells of CSV; by default told by the first two lines
    header : False if CSV has no header: columns are named ``column1``, ``column2`` and so on
    decimal : the decimal sign in text, ``","`` or ``"."``; by default a point, and a comma where it
        can be nothing else
    na : further words and numbers that mean "missing", such as ``-99``
    long : for rows that are grades: the columns of the item, of who graded it, and of the grade.
        They are made wide, as `wide` does
    threads : how many threads read; the result does not depend on it
    progress : True or False, or a function that is called; by default shown on terminals and in
        notebooks

    >>> import jurybox as jb, polars as pl
    >>> posts = pl.DataFrame({"post": ["a", "b", "c"], "spam": [0.9, 0.2, 0.8], "abuse": [0.1, 0.3, 0.9]})
    >>> jb.rank(posts, k=1, policy="average")["post"].to_list()
    ['c']
    """
    weights = numbers(weights, "weights")
    if state is not None and (policy is not None or weights or sigma is not None or options):
        raise Error("state= ranks by what was learnt: pass no policy, options, weights or sigma with it", code="two-ways")
    if every_row and (state is not None or weights):
        raise Error("every_row= is for policies that survey the scores: it cannot be combined with state= or weights=", code="two-ways")
    if weights and (policy is not None or sigma is not None or options):
        raise Error("weights= replaces the policy: pass no policy or options with it", code="two-ways")
    if sigma is not None and not isinstance(sigma, Mapping):
        policy, options, sigma = policy or "esag", {**options, "sigma": sigma}, None
    if options and policy is None:
        policy = default_policy()
    files = file_options(input_format, delimiter, header, decimal, na, long)
    rows = table_source(data, long=files["long"])
    if all and min_reward is not None:
        raise Error("min_reward= selects rows and all= keeps every row: pass one of them", code="two-ways")
    if all and (explain or group is not None):
        raise Error("all= cannot be combined with explain= or group=", code="two-ways")
    if all and not rows.is_frame and out is None:
        raise Error("all= of files and streams needs a file to write to: pass out=", code="two-ways")
    if reward is not None and state is None and not weights:
        warnings.warn(
            f"`{reward}` is not used, and nothing is learnt from it: learn it first, jury = jb.learn(rows, reward={reward!r}), and rank with state=jury",
            DataWarning,
            stacklevel=2,
        )
    aside = [*names(ignore), *named(reward), *named(round)]
    ask = table_options(evaluators, id, aside, invert, key=group, threads=threads, files=files)
    where = out_path(out, state)
    (most, min_reward), seed = how_many(k, min_reward), whole(seed, "seed")
    jury = read(state)
    with Bar(progress) as bar:
        found = _core.rank(
            rows.export_needed(ask, jury, whole=where is not None), ask, most, seed, explain, all, where, safe_csv, jury, policy, options,
            dict(sigma or {}), weights, every_row, bar.watch, 0, min_reward,
        )  # fmt: skip
    log_notes(found, rows)
    if all:
        return rows.take(None, {"score": found["score"]}) if "score" in found else None
    if found["total"] < most and group is None and min_reward is None:
        warnings.warn(f"k = {most} is more than the {found['total']} rows: all of them are ranked", DataWarning, stacklevel=2)
    if not rows.is_frame:
        return rows.from_core(found["rows"])
    front: dict[str, Any] = {"rank": found["rank"], "score": found["score"]}
    if explain:
        front["base"] = found["base"]
        front.update((f"by_{name}", each) for name, each in found["each"].items())
    return rows.take(found["row"], front)
