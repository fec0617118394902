"""Clusters: `learn` and `rank` over many files with Ray, one task per file.

Juries can be merged, so each file is learnt where a core is free, and the states are merged in
the order of the files. The result equals that of one process. Ray repeats a task that is lost
with its node; an error in a task is raised as the original `jurybox.Error`.

    import jurybox as jb

    jury = jb.ray.learn("s3://bucket/day-*.parquet", reward="verdict")
    best = jb.ray.rank("s3://bucket/day-*.parquet", k=1000, state=jury)

Use a running cluster by ``address=`` (or call ``ray.init`` first); otherwise one is started on
this machine.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

import ray as _ray
from ray.exceptions import RayTaskError

from . import _core
from ._core import Jury, Rows
from ._errors import Error, NoFileError
from ._ray_tasks import ROW, Before, Part, first_rows_of_block, learn_part, rank_part, resolve_in_task, survey
from ._remote_files import expanded
from ._states import read
from ._table_options import Missing, Names, Numbers, Path, file_options, logger, named, names, numbers, table_options, warn, whole, whole_or_none

__all__ = ["learn", "rank"]

#: Warnings, each with the file or block it is about, or None.
Warned = list[tuple[Part, str]]


def learn(
    data: Any,
    *,
    reward: str | None = None,
    label: Numbers = None,
    reviewer: str | None = None,
    context: Names = None,
    state: Jury | Path | None = None,
    round: str | None = None,
    policy: str | None = None,
    at: int | None = None,
    again: bool = False,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    address: str | None = None,
    cpus: float = 1,
    window: int | None = None,
    before: Before | None = None,
    **options: Any,
) -> Jury:
    """As `jurybox.learn`, with one Ray task per file. Each file is a round unless ``round`` is set.

    Parameters
    ----------
    data : names of files and patterns, on shared disks or in object stores (``s3://``, ``gs://``,
        anything that `pyarrow.fs` knows); or a Ray dataset, each block of which counts as a file
    reward, label, reviewer, context, policy, evaluators, id, ignore, invert, at, again, options :
        as for `jurybox.learn`; by a single id column the rows of a file are recognized in any order
    round : the column that names each row's round. Rounds are counted first, so that each has the
        time that it would have in one process. A round must lie in one file
    input_format, delimiter, header, decimal, na : as for `jurybox.rank`
    state : a `Jury` or a state file to continue from; it is not changed
    address : of a running cluster; by default the one Ray is connected to, or a new one
    cpus : of a task, which uses as many threads
    window : how many tasks may run or wait for merging at once; by default two per core
    before : called in each task before it starts, with the file it is about to read
    """
    warned: Warned = []
    learnt = _learnt(
        data, reward, state, round, policy, at, again, table_options(evaluators, id, ignore, invert, reward, key=round,
        files=file_options(input_format, delimiter, header, decimal, na), reviewer=reviewer, context=context, label=label), address, cpus, window, before, options, warned,
    )  # fmt: skip
    warn(_once_each(warned), stacklevel=3)
    return learnt


def _learnt(
    data: Any, reward: str | None, state: Jury | Path | None, round: str | None, policy: str | None, at: int | None, again: bool,
    ask: dict[str, Any], address: str | None, cpus: float, window: int | None, before: Before | None, options: dict[str, Any],
    warned: Warned,
) -> Jury:  # fmt: skip
    """The jury; warnings are appended to ``warned``."""
    at = whole_or_none(at, "at")
    _connect(address)
    parts = _parts(data)
    jury = read(state)
    blank = _untrained_jury(parts, ask, jury, policy, options, warned)
    time = at if at is not None else (0 if jury is None or jury.seen["latest"] is None else jury.seen["latest"] + 1)
    times = list(range(time, time + len(parts)))
    if round is not None or jury is not None:
        parts, times = _surveyed(parts, ask, blank, None if again else jury, time, cpus, window)
    summed = jury

    def start(task: tuple[Part, int]) -> Any:
        part, time = task
        return learn_part.options(num_cpus=cpus).remote(part, time, blank, ask, before)

    for part, (learnt, told) in zip(parts, _in_order(start, iter(zip(parts, times, strict=True)), window), strict=True):
        warned += ((part, line) for line in told)
        if summed is None:
            summed = learnt
        elif not again and summed._shares(learnt):
            logger.info("%s: skipped, because the same rows were learnt before; pass again=True to count it again", part)
        else:
            summed = _core.merge([summed, learnt], again=again)
    assert summed is not None  # there is at least one file, or a state
    return summed


def _surveyed(
    parts: Sequence[Part], ask: Mapping[str, Any], blank: Jury, jury: Jury | None, time: int, cpus: float, window: int | None
) -> tuple[list[Part], list[int]]:
    """The files that the jury has not learnt, and the time of each file's first round, as in a
    single process."""

    picked = jury if jury is not None and len(ask["id"]) == 1 and jury._has_picked() else None

    def start(part: Part) -> Any:
        return survey.options(num_cpus=cpus).remote(part, dict(ask), blank, picked)

    kept: list[Part] = []
    times: list[int] = []
    last: tuple[Part, str] | None = None
    for part, (files, rounds, first, final) in zip(parts, _in_order(start, iter(parts), window), strict=True):
        if jury is not None and files and all(jury._knows_file(name) for name in files):
            logger.info("%s: skipped, because it was learnt before; pass again=True to count it again", part)
            continue
        if jury is not None:
            for name in files:
                jury._refuse_picked_from(str(part), name)
        if last is not None and first is not None and last[1] == first:
            raise Error(
                f"round `{first}` continues from {last[0]} in {part}: a round must lie in one file", code="round",
                value=first,
            )  # fmt: skip
        last = None if final is None else (part, final)
        kept.append(part)
        times.append(time)
        time += rounds
    return kept, times


def rank(
    data: Any,
    k: int = 100,
    *,
    policy: str | None = None,
    state: Jury | Path | None = None,
    weights: Numbers = None,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    reward: str | None = None,
    round: str | None = None,
    seed: int = 0,
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    address: str | None = None,
    cpus: float = 1,
    window: int | None = None,
    before: Before | None = None,
    **options: Any,
) -> Rows:
    """As `jurybox.rank`, with one Ray task per file: the best `k` of each file's best `k` rows.

    Without ``state`` and ``weights`` the policy first surveys all scores, as `jurybox.rank` does
    with ``every_row=True``. The parameters are those of `learn` and of `jurybox.rank`.
    """
    k, seed = whole(k, "k"), whole(seed, "seed")
    if k < 1:
        raise Error("k = 0: at least one row must be asked for", code="none-wanted")
    weights = numbers(weights, "weights")
    if state is not None and (policy is not None or weights or options):
        raise Error("state= ranks by what was learnt: pass no policy, options or weights with it", code="two-ways")
    if weights and (policy is not None or options):
        raise Error("weights= replaces the policy: pass no policy or options with it", code="two-ways")
    _connect(address)
    parts = _parts(data)
    aside = [*names(ignore), *named(reward), *named(round)]
    files = file_options(input_format, delimiter, header, decimal, na)
    jury = read(state)
    warned: Warned = []
    ask = table_options(evaluators, id, aside, invert, files=files)
    if jury is None and not weights:
        jury = _learnt(parts, None, None, None, policy, None, False, dict(ask), None, cpus, window, before, options, warned)
    if jury is None:
        ask["evaluators"] = [f"-{name}" if low else name for name, low in _resolved(parts, ask, warned)]
        ask["invert"] = []

    def start(task: tuple[Part, int, int]) -> Any:
        part, first, wanted = task
        return rank_part.options(num_cpus=cpus).remote(part, wanted, first, ask, jury, weights, seed, before)

    # One row more than needed. If it ties with the last one, the row numbers within all files
    # decide, and these are known only when the rows of earlier files are counted.
    best: list[tuple[pa.Table, int, int]] = []
    total = 0
    unsure: list[int] = []
    for number, (table, rows, told) in enumerate(_in_order(start, ((part, 0, k + 1) for part in parts), window)):
        warned += ((parts[number], line) for line in told)
        scores = table.column(_SCORE).to_pylist()
        if len(scores) > k and scores[k - 1] == scores[k]:
            unsure.append(number)
        best.append((table, total, rows))
        total += rows
    again = ((parts[number], best[number][1], k) for number in unsure)
    for number, (table, rows, _) in zip(unsure, _in_order(start, again, window), strict=True):
        shifted = table.set_column(table.schema.get_field_index(ROW), ROW, pa.array([row - best[number][1] for row in table[ROW].to_pylist()]))
        best[number] = (shifted, best[number][1], rows)
    warn(_once_each(warned), stacklevel=3)
    return _best(best, k, seed)


#: Positions of rank and score in results; columns of the file may have the same names.
_RANK, _SCORE = 0, 1


def _best(parts: Sequence[tuple[pa.Table, int, int]], k: int, seed: int) -> Rows:
    """The best rows of all parts, in the order that a single process would give."""
    numbers: list[int] = []
    values: list[float] = []
    for table, first, _ in parts:
        numbers += [first + row for row in table[ROW].to_pylist()]
        values += [float("-inf") if score is None else score for score in table.column(_SCORE).to_pylist()]
    places = {number: at for at, number in enumerate(numbers)}
    order = [places[number] for number in _core.top_rows(numbers, values, k, seed)]
    every = pa.concat_tables([table for table, _, _ in parts], promote_options="permissive").drop_columns([ROW])
    chosen = every.take(pa.array(order, type=pa.int64()))
    ranks = pa.array(range(1, len(order) + 1), type=pa.uint64())
    return Rows.from_arrow(chosen.set_column(_RANK, chosen.schema.names[_RANK], ranks))


def _connect(address: str | None) -> None:
    if not _ray.is_initialized():
        _ray.init(address=address, include_dashboard=False if address is None else None, log_to_driver=False)


def _in_order(start: Callable[[Any], Any], tasks: Iterator[Any], window: int | None) -> Iterator[Any]:
    """The results of tasks in order, with at most ``window`` tasks under way."""
    cores = _ray.cluster_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
    most = window or max(2, 2 * int(cores))
    under_way: deque[Any] = deque()
    for task in tasks:
        if len(under_way) >= most:
            yield _result(under_way.popleft())
        under_way.append(start(task))
    while under_way:
        yield _result(under_way.popleft())


def _result(reference: Any) -> Any:
    """The result of a task; its original error if it failed."""
    try:
        return _ray.get(reference)
    except RayTaskError as failed:
        cause = failed.cause
        if isinstance(cause, Exception):
            raise cause from failed
        raise


def _parts(data: Any) -> list[Part]:
    """The full names of all files, in order; or the blocks of a dataset."""
    if hasattr(data, "to_arrow_refs"):
        blocks = list(data.to_arrow_refs())
        if not blocks:
            raise Error("this dataset has no blocks", code="no-rows")
        return blocks
    named = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    parts: list[Part] = []
    for one in named:
        if isinstance(one, _ray.ObjectRef):
            parts.append(one)
            continue
        found = expanded(os.fspath(one))
        if not found:
            raise NoFileError(f"{one}: no file matches this pattern", code="no-match", path=str(one))
        parts += found
    if not parts:
        raise Error("no file is named", code="no-files")
    return parts


def _once_each(warned: Warned) -> list[str]:
    """The warnings, each once although it holds for many files."""
    found: dict[str, tuple[str, set[str]]] = {}
    for part, line in warned:
        _, parts = found.setdefault(re.sub("[0-9]+", "0", line.replace(str(part), "")), (line, set()))
        parts.add(str(part))
    return [line if len(parts) == 1 else f"{line}; likewise in {len(parts) - 1} more" for line, parts in found.values()]


def _untrained_jury(
    parts: Sequence[Part], ask: Mapping[str, Any], jury: Jury | None, policy: str | None, options: Mapping[str, Any], warned: Warned
) -> Jury:
    """An untrained jury over the evaluators that a single process would find in all files."""
    if jury is not None:
        low = set(jury.inverted)
        if policy is not None or options:
            raise Error("state= continues with its own policy: pass no policy or options with it", code="two-ways")
        return Jury(jury.evaluators, jury.policy, invert=[name for name in jury.evaluators if name in low], context=jury.contexts)
    found = _resolved(parts, ask, warned)
    return Jury([name for name, _ in found], policy, invert=[name for name, low in found if low], context=ask["context"], **options)


def _resolved(parts: Sequence[Part], ask: Mapping[str, Any], warned: Warned) -> list[tuple[str, bool]]:
    """The evaluators in all files or blocks, of which only the beginnings are read."""
    found: list[tuple[str, bool]]
    if isinstance(parts[0], _ray.ObjectRef):
        first = list(_in_order(first_rows_of_block.remote, iter(parts), None))
        _, found, _, told = _core.columns_needed(first, dict(ask), None)
        warned += ((None, line) for line in told)
        return found
    found, told = _result(resolve_in_task.remote(list(parts), dict(ask)))
    warned += ((None, line) for line in told)
    return found


