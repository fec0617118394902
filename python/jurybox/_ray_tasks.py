"""The Ray tasks of `jurybox.ray`, each of which works on one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

import ray as _ray

from . import _core
from ._core import Jury
from ._errors import Error
from ._frames import Arrow
from ._remote_files import beginning, opened
from ._sources import Paths, Source
from ._table_options import table_options

#: The name of a file, or a block of a Ray dataset.
Part = Any
#: Called in a task before it starts, with its file or block.
Before = Callable[[Any], object]
#: Temporary column with a row's number in its file.
ROW = "jurybox row"


def _threads() -> int:
    """The number of cores that Ray gives the task."""
    given = _ray.get_runtime_context().get_assigned_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
    return max(1, int(given))


@_ray.remote(num_cpus=1, max_retries=3)
def first_rows_of_block(block: pa.Table) -> tuple[str, Any]:
    """The first rows of a block, read where the block is stored."""
    return Arrow(block).export_first()


@_ray.remote(num_cpus=1, max_retries=3)
def resolve_in_task(parts: list[str], ask: dict[str, Any]) -> tuple[list[tuple[str, bool]], list[str]]:
    with ExitStack() as stack:
        files = [stack.enter_context(beginning(part)) for part in parts]
        return _core.resolve_evaluators(("paths", files), ask, None)


def _fingerprints(source: Source) -> list[str]:
    """The fingerprints of the file's content; none for a block."""
    return [name for _, name in _core.fingerprints(source.native) if name] if isinstance(source, Paths) else []


def _options_for_jury(ask: Mapping[str, Any], *, reward: bool = True, id: bool = False) -> dict[str, Any]:
    """The options for one file, where a jury already has the evaluators."""
    column = ask["reward"] if reward else None
    turned = [name for name in ask["invert"] if name == column]
    reviewer = ask["reviewer"] if reward else None
    return table_options(
        None, ask["id"] if id else None, None, turned, column, key=ask["key"], threads=_threads(), files=ask["files"], reviewer=reviewer,
        label=dict(ask["labels"]),
    )  # fmt: skip


@_ray.remote(num_cpus=1, max_retries=3)
def survey(part: Part, ask: dict[str, Any], blank: Jury, picked: Jury | None) -> tuple[list[str], int, str | None, str | None]:
    """The fingerprints of the file, the number of its rounds, and the first and last round.
    Errors if ``picked`` picked from its rows."""
    with opened(part) as source:
        if picked is not None:
            _not_of_picks(part, source, ask, picked)
        if ask["key"] is None:
            return _fingerprints(source), 1, None, None
        own = _options_for_jury(ask, reward=False)
        return (_fingerprints(source), *_core.rounds(source.export_needed(own, blank), own, blank))


def _not_of_picks(part: Part, source: Source, ask: Mapping[str, Any], picked: Jury) -> None:
    own = table_options(key=ask["id"][0], threads=_threads(), files=ask["files"])
    try:
        were = _core.was_picked_from(source.export_needed(own, picked), own, picked)
    except Error:
        return  # unreadable files are reported when they are learnt
    if were:
        raise Error(
            f"{part}: the state has picked from these rows, and would count them twice: learn the verdicts on the picks, or pass again=True",
            code="picked-from", path=str(part),
        )  # fmt: skip


@_ray.remote(num_cpus=1, max_retries=3)
def learn_part(part: Part, at: int, blank: Jury, ask: dict[str, Any], before: Before | None) -> tuple[Jury, list[str]]:
    """A jury that learnt the file alone, and the warnings."""
    if before is not None:
        before(part)
    with opened(part) as source:

        def learnt(*, reward: bool, id: bool) -> tuple[Jury, list[str]]:
            own = _options_for_jury(ask, reward=reward, id=id)
            jury = blank.__copy__()
            known = own["id"] if len(own["id"]) == 1 else []
            found, _ = _core.learn(source.export_needed(own, jury, also=known), own, jury, None, {}, at, [], False, None)
            return jury, _with_part_name(found["warnings"], part, source)

        reward, id = ask["reward"] is not None, bool(ask["id"])
        while True:
            try:
                return learnt(reward=reward, id=id)
            except Error as error:
                # This file may lack ids or rewards that other files have.
                lacks = error.column if error.code == "unknown-column" else None
                if id and lacks in ask["id"]:
                    id = False
                elif reward and (error.code == "no-reward" or lacks == ask["reward"]):
                    reward = False
                else:
                    raise


def _with_part_name(warned: Sequence[str], part: Part, source: Source) -> list[str]:
    """The warnings with the file's own name instead of that of the local copy."""
    if not isinstance(source, Paths):
        return list(warned)
    here = [os.fspath(path) for path in _core.expand(source.native)]
    return [line.replace(here[0], str(part)) for line in warned]


@_ray.remote(num_cpus=1, max_retries=3)
def rank_part(
    part: Part, k: int, first: int, ask: dict[str, Any], jury: Jury | None, weights: dict[str, float], seed: int, before: Before | None
) -> tuple[pa.Table, int, list[str]]:
    if before is not None:
        before(part)
    with opened(part) as source:
        own = {**ask, "threads": _threads()}
        if jury is not None:
            own.update(evaluators=[], id=[], ignore=[], invert=[])
        rows = source.export_needed(own, jury)
        found = _core.rank(rows, own, k, seed, False, False, None, False, jury, None, {}, {}, weights, True, None, first, None)
        if source.is_frame:
            table = source.take(found["row"] - first, {"rank": found["rank"], "score": found["score"]})
        else:
            table = found["rows"].to_arrow()
        numbered = table.append_column(ROW, pa.array(found["row"].tolist(), type=pa.int64()))
        return numbered, found["total"], _with_part_name(found["warnings"], part, source)
