"""`replay` and `report`: what policies would have found, and which evaluators to trust."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _core
from ._core import Jury
from ._display import Replay, Report
from ._errors import Error
from ._progress import Bar, Watch
from ._states import read
from ._table_options import Long, Missing, Names, Numbers, Path, ends, file_options, log_notes, named, names, numbers, out_path, table_options, whole, whole_or_none
from ._tables import table_source


#: Arguments of `replay` that exclude others.
EXCLUSIVE = {
    "probability": ("pool", "folds", "reuse"),
    "pool": ("round", "items", "rounds", "folds", "reuse"),
    "folds": ("rounds", "reuse"),
    "reuse": ("round",),
}


def replay(
    data: Any,
    *,
    reward: str,
    label: Numbers = None,
    round: str | None = None,
    probability: str | None = None,
    pool: bool = False,
    budget: int | None = None,
    folds: int | None = None,
    reuse: bool = False,
    items: int | None = None,
    k: int = 10,
    rounds: int | None = None,
    runs: int | None = None,
    seed: int = 1,
    policies: str | Iterable[str] | None = None,
    context: Names = None,
    state: Jury | Path | Sequence[Jury | Path] | Mapping[str, Jury | Path] | None = None,
    weights: Numbers = None,
    reward_range: tuple[float, float] | None = None,
    picks: Path | None = None,
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
) -> Replay:
    """The reward that each policy would have found in a history: ``jurybox replay``.

    In a run each row is reviewed at most once, so that a learnt reward is never also counted as
    found. Rows are shuffled and dealt into rounds. With ``round`` they keep their own rounds; with
    ``pool`` they wait until they are picked; with ``folds`` they are ranked out of fold. With
    ``probability``, the column with each row's logged probability, rewards are estimated from the
    reviewed rows of the log.

    With ``id``, each item is reviewed once: when it comes again with new scores, its reward is
    known.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards
    label : rewards of words in that column, such as ``{"remove": 1, "keep": 0}``
    items, k, rounds, runs, seed : items in a round, picks in a round, rounds, runs, seed of all
        draws
    budget : labels of a run with ``pool``; by default 200
    reuse : let rows come back; this favours policies that remember them
    policies : to compare, in a list or in one text with commas; differences are to the first
    context : columns that name an item's group, such as its language, for policies whose weights
        differ by group; those of a state are known
    state : a trained jury, or several by name or in a list; they continue learning
    weights : fixed weights by name to compare with the policies
    reward_range : the lowest and highest possible reward, for rows of a log that were not reviewed
    picks : a file for every pick; with ``probability``, for every row with each policy's
        probability

    The other parameters are those of `rank`.
    """
    said = {
        "probability": probability is not None, "pool": pool, "folds": folds is not None, "reuse": reuse, "round": round is not None,
        "items": items is not None, "rounds": rounds is not None,
    }  # fmt: skip
    for one, others in EXCLUSIVE.items():
        for other in others:
            if said[one] and said[other]:
                raise Error(f"{one}= and {other}= cannot be combined", code="two-ways")
    if budget is not None and not pool:
        raise Error("budget= needs pool=True: it is the number of labels of a run in the pool", code="two-ways")
    if reward_range is not None and probability is None:
        raise Error("reward_range= needs probability=: it bounds rewards that a log does not have", code="two-ways")
    files = file_options(input_format, delimiter, header, decimal, na, long)
    rows = table_source(data, long=files["long"])
    states = _named_states(state)
    contexts = [*names(context), *(name for _, jury in states for name in jury.contexts)]
    ask = table_options(evaluators, id, ignore, invert, reward, probability, round, threads, files, context=list(dict.fromkeys(contexts)), label=label)
    where = out_path(picks, *(state if isinstance(state, (list, tuple)) else state.values() if isinstance(state, Mapping) else [state]))
    how = {
        "pool": pool, "budget": 200 if budget is None else whole(budget, "budget"), "folds": whole_or_none(folds, "folds"), "reuse": reuse,
        "items": whole_or_none(items, "items"), "k": whole(k, "k"), "rounds": whole_or_none(rounds, "rounds"),
        "runs": whole_or_none(runs, "runs"), "seed": whole(seed, "seed"),
        "policies": None if policies is None else names(policies), "reward_range": ends(reward_range, "reward_range"), "picks": where,
    }  # fmt: skip
    with Bar(progress) as bar:
        found = _core.replay(rows.export_needed(ask, states[0][1] if states else None, also=names(id)), ask, how, states, numbers(weights, "weights"), bar.watch)
    log_notes(found, rows)
    return Replay(found["document"], found["html"], found["text"], found["svg"])


def report(
    data: Any,
    *,
    reward: str | None = None,
    label: Numbers = None,
    probability: str | None = None,
    reviewer: str | None = None,
    context: Names = None,
    round: str | None = None,
    state: Jury | Path | None = None,
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
) -> Report:
    """Which evaluators to trust: gain, noise, weight, redundancy and top K: ``jurybox report``.

    With rewards, evaluators are measured against them; without, the report says what the scores
    alone can tell. It shows itself in a notebook. With ``id``, rows of one id are one item:
    intervals, curves and the top K count items.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards; empty where there is no verdict
    label : rewards of words in that column, such as ``{"remove": 1, "keep": 0}``
    probability : the column with each row's probability of being reviewed, as ``pick(all=True)``
        gives it: the report then bounds what was missed
    reviewer : the column that says who gave each verdict: severity and noise of each reviewer
    context : columns that name an item's group; they are not evaluators. Reported is what all
        groups share
    round : the column of rounds; it is not an evaluator
    state : a jury or a state file: adds its weights with intervals, and what has changed

    The other parameters are those of `rank`.
    """
    files = file_options(input_format, delimiter, header, decimal, na, long)
    rows = table_source(data, long=files["long"])
    jury = read(state)
    aside = [*names(ignore), *named(round), *names(context), *(jury.contexts if jury is not None else [])]
    if reviewer is not None and reward is None:
        raise Error("reviewer= names the column of reviewers: pass reward= too, the column of verdicts", code="reward")
    ask = table_options(evaluators, id, aside, invert, reward, probability, threads=threads, files=files, reviewer=reviewer, label=label)
    with Bar(progress) as bar:
        found = _core.report(rows.export_needed(ask, jury, also=names(id)), ask, jury, _now(), bar.watch)
    log_notes(found, rows)
    return Report(found["document"], found["html"], found["text"])


def _now() -> int:
    """Seconds since 1970: now, or ``SOURCE_DATE_EPOCH`` for reproducible output."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if said is None:
        return int(time.time())
    if not said.isdecimal():
        raise Error(f"SOURCE_DATE_EPOCH is {said!r}, not a number of seconds", code="setting", value=said)
    return int(said)


def _named_states(state: Any) -> list[tuple[str, Jury]]:
    """Juries by name. A state file is named as by the command."""
    if state is None:
        return []
    if isinstance(state, Mapping):
        pairs = list(state.items())
    else:
        several = list(state) if isinstance(state, (list, tuple)) else [state]
        pairs = [(_state_name(one, at if len(several) > 1 else None), one) for at, one in enumerate(several)]
    return [(name, jury) for name, one in pairs if (jury := read(one)) is not None]


def _state_name(state: Jury | Path, at: int | None) -> str:
    if not isinstance(state, Jury):
        return f"state({os.fspath(state)})"
    return "state" if at is None else f"state {at + 1}"
