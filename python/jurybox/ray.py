"""Clusters: `learn` and `rank` over many files with Ray, one task per file.

What juries have learnt merges, so a job is one map over files and one small fold: the state of each file is learnt where a core is
free, and folded here in the order of the files. The result is that of one process. A task that is lost with its node is run again by
Ray; an error in a task arrives as the `jurybox.Error` it is.

    import jurybox as jb

    jury = jb.ray.learn("s3://bucket/day-*.parquet", reward="verdict")
    best = jb.ray.rank("s3://bucket/day-*.parquet", k=1000, state=jury)

A cluster that runs is used by ``address=`` (or ``ray.init`` beforehand); otherwise one is started on this machine.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.fs

import ray as _ray
from ray.exceptions import RayTaskError

from . import _core
from ._core import Jury, Rows
from ._errors import Error, NoFileError
from ._frames import Arrow, Given, Paths
from ._tables import Names, Numbers, Path, _asked, _named, _names, _read

__all__ = ["learn", "rank"]

#: A file, or a block of a Ray dataset.
Part = Any
#: Called in a task before it begins, with what it is about to read.
Before = Callable[[Any], object]


def learn(
    data: Any,
    *,
    reward: str | None = None,
    state: Jury | Path | None = None,
    policy: str | None = None,
    at: int | None = None,
    again: bool = False,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    address: str | None = None,
    cpus: float = 1,
    window: int | None = None,
    before: Before | None = None,
    **options: Any,
) -> Jury:
    """As `jurybox.learn`, one Ray task per file; each file is a round.

    Parameters
    ----------
    data : names of files and patterns, on disks that all nodes share or in object stores (``s3://``, ``gs://``, whatever
        `pyarrow.fs` knows); or a dataset of Ray's, each block of which is then taken as a file
    reward, policy, evaluators, id, ignore, invert, at, again, options : as for `jurybox.learn`
    state : a `Jury` or a state file to go on from; it is not changed
    address : of a cluster that runs; by default the one that Ray is connected to, or a new one on this machine
    cpus : of a task, which then works with so many threads
    window : how many tasks are under way or waiting to be folded, at most; by default two for each core of the cluster
    before : called in each task before it begins, with the file it is about to read
    """
    _connect(address)
    parts = _parts(data)
    asked = _asked(evaluators, id, ignore, invert, reward, None, None, None)
    jury = _read(state)
    blank = _seated(parts, asked, jury, policy, options, before=None)
    first = at if at is not None else (0 if jury is None or jury.seen["latest"] is None else jury.seen["latest"] + 1)
    sum_of = jury
    tasks = ((part, first + number) for number, part in enumerate(parts))

    def start(task: tuple[Part, int]) -> Any:
        part, time = task
        return _learn_part.options(num_cpus=cpus).remote(part, time, blank, reward, ignore, id, invert, before)

    for learnt in _in_order(start, tasks, window):
        if sum_of is None:
            sum_of = learnt
            continue
        sum_of = _core.merge([sum_of, learnt], again=again)
    assert sum_of is not None  # there is at least one part
    return sum_of


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
    seed: int = 0,
    address: str | None = None,
    cpus: float = 1,
    window: int | None = None,
    before: Before | None = None,
    **options: Any,
) -> Rows:
    """As `jurybox.rank`, one Ray task per file: each gives its best `k` rows, and the best of them are the best of all.

    Without ``state`` and ``weights`` the policy first looks at all scores, as `learn` does. The parameters are those of `learn` and of
    `jurybox.rank`.
    """
    if int(k) < 1:
        raise Error("k = 0: at least one row must be asked for", code="none-wanted")
    _connect(address)
    parts = _parts(data)
    aside = [*_names(ignore), *_named(reward)]
    jury = _read(state)
    if jury is None and not weights:
        jury = learn(
            parts, policy=policy, evaluators=evaluators, id=id, ignore=aside, invert=invert, cpus=cpus, window=window, before=before,
            **options,
        )  # fmt: skip
    asked = _asked(evaluators, id, aside, invert, None, None, None, None)
    if jury is None:
        asked["evaluators"] = [f"-{name}" if low else name for name, low in _taken(parts, asked, None)]
        asked["invert"] = []

    def start(task: tuple[Part, int, int]) -> Any:
        part, first, wanted = task
        return _rank_part.options(num_cpus=cpus).remote(part, wanted, first, asked, jury, dict(weights or {}), seed, before)

    # One more than is asked for: where it ties with the last, it matters which number a row has, and that is known only when the
    # rows of the files before it have been counted.
    best: list[tuple[pa.Table, int, int]] = []
    total = 0
    unsure: list[int] = []
    for number, (table, rows) in enumerate(_in_order(start, ((part, 0, int(k) + 1) for part in parts), window)):
        scores = table["score"].to_pylist()
        if len(scores) > k and scores[int(k) - 1] == scores[int(k)]:
            unsure.append(number)
        best.append((table, total, rows))
        total += rows
    again = ((parts[number], best[number][1], int(k)) for number in unsure)
    for number, (table, rows) in zip(unsure, _in_order(start, again, window), strict=True):
        shifted = table.set_column(table.schema.get_field_index(_ROW), _ROW, pa.array([row - best[number][1] for row in table[_ROW].to_pylist()]))
        best[number] = (shifted, best[number][1], rows)
    return _best(best, int(k), int(seed))


#: The number of a row in its file, while results travel.
_ROW = "jurybox row"


def _best(parts: Sequence[tuple[pa.Table, int, int]], k: int, seed: int) -> Rows:
    """The best of the best of all parts, in the order that one process would have."""
    numbers: list[int] = []
    values: list[float] = []
    for table, first, _ in parts:
        numbers += [first + row for row in table[_ROW].to_pylist()]
        values += [float("-inf") if score is None else score for score in table["score"].to_pylist()]
    places = {number: at for at, number in enumerate(numbers)}
    order = [places[number] for number in _core.top(numbers, values, k, seed)]
    every = pa.concat_tables([table for table, _, _ in parts], promote_options="permissive").drop_columns([_ROW])
    chosen = every.take(pa.array(order, type=pa.int64()))
    ranks = pa.array(range(1, len(order) + 1), type=pa.uint64())
    return Rows.from_arrow(chosen.set_column(chosen.schema.get_field_index("rank"), "rank", ranks))


def _connect(address: str | None) -> None:
    if not _ray.is_initialized():
        _ray.init(address=address, include_dashboard=False if address is None else None, log_to_driver=False)


def _in_order(start: Callable[[Any], Any], tasks: Iterator[Any], window: int | None) -> Iterator[Any]:
    """The results of tasks in their order, with no more of them under way than the window."""
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
    """What a task gives; its error as the one it was."""
    try:
        return _ray.get(reference)
    except RayTaskError as failed:
        cause = failed.cause
        if isinstance(cause, Exception):
            raise cause from failed
        raise


def _parts(data: Any) -> list[Part]:
    """Files by their full names, in order; or the blocks of a dataset."""
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
        found = _expanded(os.fspath(one))
        if not found:
            raise NoFileError(f"{one}: no file matches this pattern", code="no-match", path=str(one))
        parts += found
    if not parts:
        raise Error("no file is named", code="no-files")
    return parts


def _expanded(name: str) -> list[str]:
    """The files that a name or a pattern means, sorted."""
    wild = any(sign in name for sign in "*?[")
    if "://" not in name:
        return sorted(glob.glob(name)) if wild else [os.path.abspath(name)]
    if not wild:
        return [name]
    # The folder up to the first sign is listed.
    scheme, _, rest = name.partition("://")
    fixed = rest[: min(rest.index(sign) for sign in "*?[" if sign in rest)].rpartition("/")[0]
    store, folder = pyarrow.fs.FileSystem.from_uri(f"{scheme}://{fixed}")
    inside = store.get_file_info(pyarrow.fs.FileSelector(folder, recursive=True))
    prefix = folder[: len(folder) - len(fixed)] if folder.endswith(fixed) else ""
    names = (info.path.removeprefix(prefix) for info in inside if info.type == pyarrow.fs.FileType.File)
    return sorted(f"{scheme}://{found}" for found in names if fnmatch.fnmatchcase(found, rest))


@contextmanager
def _opened(part: Part) -> Iterator[Given]:
    """A file at hand: one of an object store is copied beside the task while it is read; a block of a dataset is there."""
    if isinstance(part, (pa.Table, pa.RecordBatch)):
        yield Arrow(part)
    elif "://" not in part:
        yield Paths([glob.escape(part)])
    else:
        store, path = pyarrow.fs.FileSystem.from_uri(part)
        with tempfile.TemporaryDirectory(prefix="jurybox-") as folder:
            copy = os.path.join(folder, os.path.basename(path))
            with store.open_input_stream(path, compression=None) as source, open(copy, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            yield Paths([glob.escape(copy)])


def _threads() -> int:
    """As many as Ray gives the task."""
    given = _ray.get_runtime_context().get_assigned_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
    return max(1, int(given))


def _seated(parts: Sequence[Part], asked: Mapping[str, Any], jury: Jury | None, policy: str | None, options: Mapping[str, Any], before: Any) -> Jury:
    """A jury that has learnt nothing, over the evaluators that one process would find in all files together."""
    if jury is not None:
        low = set(jury.inverted)
        if policy is not None or options:
            raise Error("state= goes on with the policy that it has", code="two-ways")
        return Jury(jury.evaluators, jury.policy, invert=[name for name in jury.evaluators if name in low])
    found = _taken(parts, asked, None)
    return Jury([name for name, _ in found], policy, invert=[name for name, low in found if low], **options)


def _taken(parts: Sequence[Part], asked: Mapping[str, Any], jury: Jury | None) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = _result(_taken_of.remote(list(parts), dict(asked), jury))
    return found


@_ray.remote(num_cpus=1, max_retries=3)
def _taken_of(parts: list[Part], asked: dict[str, Any], jury: Jury | None) -> list[tuple[str, bool]]:
    """The decision over the columns of all files; only their beginnings are read."""
    blocks = [_ray.get(part) if isinstance(part, _ray.ObjectRef) else part for part in parts]
    if isinstance(blocks[0], (pa.Table, pa.RecordBatch)):
        given: Given = Arrow(pa.concat_tables([pa.table(block).slice(0, 100) for block in blocks], promote_options="permissive"))
        return _core.taken(given.source(asked, jury), asked, jury)
    from contextlib import ExitStack

    with ExitStack() as stack:
        files = [stack.enter_context(_opened(part)).native[0] for part in blocks]
        return _core.taken(("paths", files), asked, jury)


@_ray.remote(num_cpus=1, max_retries=3)
def _learn_part(part: Part, at: int, blank: Jury, reward: str | None, ignore: Names, id: Names, invert: Names, before: Before | None) -> Jury:
    if before is not None:
        before(part)
    with _opened(part) as given:
        files = [name for _, name in _core.fingerprints(given.native) if name] if isinstance(given, Paths) else []

        def learnt(reward: str | None) -> Jury:
            turned = [name for name in _names(invert) if name == reward]
            asked = _asked(None, None, None, turned, reward, None, None, _threads())
            jury = blank.__copy__()
            _core.learn(given.source(asked, jury), asked, jury, None, {}, at, [], files, None)
            return jury

        try:
            return learnt(reward)
        except Error as error:
            # Another file may have what this one lacks: rewards, or the whole column of them.
            nobody_s = error.code == "no-reward" or (error.code == "unknown-column" and error.column == reward)
            if reward is None or not nobody_s:
                raise
            return learnt(None)


@_ray.remote(num_cpus=1, max_retries=3)
def _rank_part(
    part: Part, k: int, first: int, asked: dict[str, Any], jury: Jury | None, weights: dict[str, float], seed: int, before: Before | None
) -> tuple[pa.Table, int]:
    if before is not None:
        before(part)
    with _opened(part) as given:
        asked = {**asked, "threads": _threads()}
        if jury is not None:
            asked.update(evaluators=[], id=[], ignore=[], invert=[])
        found = _core.rank(given.source(asked, jury), asked, k, seed, False, False, None, jury, None, {}, {}, weights, None, first)
        if given.is_frame:
            table = given.rows(found["row"] - first, {"rank": found["rank"], "score": found["score"]})
        else:
            table = found["rows"].to_arrow()
        return table.append_column(_ROW, pa.array(found["row"].tolist(), type=pa.int64())), found["total"]
