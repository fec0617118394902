"""The functions over tables: `rank`, `pick`, `learn`, `merge`, `replay` and `report`, with the names and options of the commands."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, TypeVar, overload

import numpy as np

from . import _core
from ._core import Jury, Rows
from ._errors import DataWarning, Error
from ._frames import OURS, Given, Paths, given
from ._progress import Bar, Watch
from ._show import Replay, Report

__all__ = ["learn", "merge", "pick", "rank", "replay", "report"]

Frame = TypeVar("Frame")
Path = str | PathLike[str]
Names = str | Iterable[str] | None
Numbers = Mapping[str, float] | None

logger = logging.getLogger("jurybox")


@overload
def rank(
    data: Path | Sequence[Path],
    k: int = 100,
    *,
    policy: str | None = None,
    state: Jury | Path | None = None,
    sigma: Any = None,
    weights: Numbers = None,
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
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Rows: ...
@overload
def rank(
    data: Frame,
    k: int = 100,
    *,
    policy: str | None = None,
    state: Jury | Path | None = None,
    sigma: Any = None,
    weights: Numbers = None,
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
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Frame: ...
def rank(
    data: Any,
    k: int = 100,
    *,
    policy: str | None = None,
    state: Jury | Path | None = None,
    sigma: Any = None,
    weights: Numbers = None,
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
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Any:
    """The `k` rows most worth a look, best first: ``jurybox rank``.

    A frame of pandas, polars or pyarrow gives rows of that very frame, with its index and types, and ``rank`` and ``score`` before
    its columns. Files (names, patterns, lists of them), DuckDB relations and whatever streams Arrow give `Rows`.

    Every numeric column that is not named otherwise is an evaluator. Without labels the policy looks at the scores themselves first;
    with ``state`` it ranks by what was learnt. This is a plain list: it explores nothing and remembers nothing. To learn from what
    people find in it, use `pick`.

    Parameters
    ----------
    data : frame, relation, stream, or names of files
    k : how many rows to keep; within each group where there is a ``group``
    policy : how to rank, such as ``"esag"``; see `jurybox.policies`. Its options are further keywords
    state : a `Jury`, or a state file as `learn` writes it
    sigma : noise levels of the evaluators, by name, for policies that take them; without a policy, ``esag`` then ranks
    weights : fixed weights by name, instead of a policy
    evaluators : their columns; a name with ``-`` before it is one where low means high
    id, ignore, reward, round : columns that are no evaluators; they travel along
    invert : evaluators where low means high
    group : top `k` within each value of this column
    explain : what each evaluator adds to a row's score: ``base`` and the columns ``by_NAME`` sum to it
    all : every row with its score, in its order, instead of the best
    out : a file to write the result to as well; its name tells the format
    seed : of the rule that orders equal scores
    threads : how many threads read; the result is the same
    progress : True or False to show it or not, or a function to be told; by itself on terminals and in notebooks

    >>> import jurybox as jb, polars as pl
    >>> posts = pl.DataFrame({"post": ["a", "b", "c"], "spam": [0.9, 0.2, 0.8], "abuse": [0.1, 0.3, 0.9]})
    >>> jb.rank(posts, k=1, policy="average")["post"].to_list()
    ['c']
    """
    if state is not None and (policy is not None or weights or sigma is not None or options):
        raise Error("state= ranks by what was learnt: policy, options, weights and sigma do not go with it", code="two-ways")
    if weights and (policy is not None or sigma is not None):
        raise Error("weights= takes the place of a policy: they do not go together", code="two-ways")
    if sigma is not None and not isinstance(sigma, Mapping):
        policy, options, sigma = policy or "esag", {**options, "sigma": sigma}, None
    if options and policy is None:
        policy = _default_policy()
    rows = given(data)
    if all and (explain or group is not None):
        raise Error("all= goes neither with explain= nor with group=", code="two-ways")
    if all and not rows.is_frame and out is None:
        raise Error("all= of files and streams is written to a file as it streams by: pass out=", code="two-ways")
    asked = _asked(evaluators, id, [*_names(ignore), *_named(reward), *_named(round)], invert, None, None, group, threads)
    jury = _read(state)
    with Bar(progress) as bar:
        found = _core.rank(
            rows.source(asked, jury), asked, int(k), int(seed), explain, all, _out(out), jury, policy, options,
            dict(sigma or {}), dict(weights or {}), bar.watch, 0,
        )  # fmt: skip
    _tell(found)
    if all:
        return rows.rows(None, {"score": found["score"]}) if "score" in found else None
    if found["total"] < k and group is None:
        warnings.warn(f"k = {k} is more than the {found['total']} rows there are: all of them are ranked", DataWarning, stacklevel=2)
    if not rows.is_frame:
        return found["rows"]
    front: dict[str, Any] = {"rank": found["rank"], "score": found["score"]}
    if explain:
        front["base"] = found["base"]
        front.update((f"by_{name}", each) for name, each in found["each"].items())
    return rows.rows(found["row"], front)


def pick(
    data: Any,
    k: int = 100,
    *,
    id: str,
    state: Jury | Path,
    policy: str | None = None,
    at: int | None = None,
    observe: bool = True,
    all: bool = False,
    evaluators: Names = None,
    ignore: Names = None,
    invert: Names = None,
    out: Path | None = None,
    seed: int = 0,
    wait: float = 60,
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Any:
    """The `k` rows that a person should look at now, as the policy picks them: ``jurybox pick``.

    All rows are one round. The picks come back as `rank` gives rows, with ``rank``, ``value``, ``probability`` (of having been
    picked), ``explored``, ``picked_at``, ``round``, ``row`` and ``receipt`` before their columns. Keep them: ``learn(picks=...)`` joins
    the verdicts to them, whenever they come.

    The items are shown to the state at the same time, each round once: a call that is repeated makes the same draws and counts
    nothing twice. A state file that is not there yet is begun, and it is locked meanwhile.

    Parameters
    ----------
    data : as for `rank`
    k : how many rows to pick
    id : the column that names items
    state : a `Jury`, which then has seen the items; or a state file
    policy : where a state file is begun; its options are further keywords
    at : the time of the round; by default the number of rounds that the state has seen
    observe : whether to show the items to the state
    all : every row in its order, with the probability of having been picked: a log for ``replay(probability=...)``
    out : a file to write the picks to as well
    seed : of the draws, which are other ones in every round all the same
    wait : seconds to wait for a state file that another process is changing

    The other parameters are those of `rank`.
    """
    rows = given(data)
    asked = _asked(evaluators, None, ignore, invert, None, None, id, threads)
    if options and policy is None:
        policy = _default_policy()
    with _turn(state, wait, changes=observe) as (jury, write), Bar(progress) as bar:
        found, after = _core.pick(
            rows.source(asked, jury), asked, jury, policy, options, int(k), int(seed), at, observe, all, _out(out), bar.watch
        )
        if observe:
            write(after)
    _tell(found)
    if found["total"] < k:
        warnings.warn(f"k = {k} is more than the {found['total']} rows there are: all of them are picked", DataWarning, stacklevel=2)
    if not rows.is_frame:
        return found["rows"]
    return _picked(rows, found, all)


def _picked(rows: Given, found: Mapping[str, Any], every: bool) -> Any:
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
        "value": found["values"][shown],
        "probability": found["probabilities"][shown],
        "explored": explored,
        "picked_at": np.full(len(shown), found["at"], dtype=np.int64),
        "round": [found["round"]] * len(shown),
        "row": shown + 1,
        "receipt": receipts,
    }
    return rows.rows(None if every else shown, front)


def _holes(rows: int, at: Any, values: Any) -> list[Any]:
    """Values at some rows, nothing at the others."""
    cells: list[Any] = [None] * rows
    for row, value in zip(at.tolist(), values.tolist(), strict=True):
        cells[row] = value
    return cells


def learn(
    data: Any = None,
    *,
    reward: str | None = None,
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
    threads: int | None = None,
    progress: bool | Watch | None = None,
    **options: Any,
) -> Jury:
    """Learns from the scores of rows and from their rewards where they have any, or from the verdicts on picks: ``jurybox learn``.

    Returns the jury: a new one, or the one that was given, which has then learnt. With the name of a state file, what is there is
    added to, and written back; it is locked meanwhile. A state remembers which files it has learnt, and passes over those that
    come again; frames it cannot know again.

    With ``picks``, verdicts are joined by ``id`` to what `pick` gave. They may come late and in parts: each is learnt once, with the
    scores, the probability and the time of its pick. An empty cell is a verdict that has not been given yet.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards; empty where there is no verdict
    state : a `Jury` or a state file to add to
    picks, verdicts : what `pick` gave, and the verdicts on it; by default a column of the picks themselves
    id : the column by which verdicts are joined to picks
    round : the column that names the round of each row; by default each file or frame is one round
    policy : which policy learns, where a jury is begun; its options are further keywords
    at : the time of the first round; by default one after the latest that the state has seen
    again : learn also what the state has learnt already, and count it twice
    drop : evaluators of the state to forget

    The other parameters are those of `rank`.

    >>> import jurybox as jb, polars as pl
    >>> past = pl.DataFrame({"spam": [0.9, 0.2, 0.8], "abuse": [0.1, 0.3, 0.9], "verdict": [0, 0, 1]})
    >>> jury = jb.learn(past, reward="verdict", policy="lin-ucb")
    >>> jury.seen["used"]
    3
    """
    if (data is None) == (picks is None):
        raise Error("learn from rows, or from the verdicts on picks: pass data or picks=", code="two-ways")
    if options and policy is None:
        policy = _default_policy()
    with _turn(state, wait, changes=True) as (jury, write), Bar(progress) as bar:
        if picks is not None:
            if jury is None:
                raise Error("picks are learnt by the state that they were picked by: pass state=", code="state")
            found = _learn_picks(picks, verdicts, id, reward, invert, jury, again, threads, bar)
            after = jury
        else:
            rows = given(data)
            files: list[str] = []
            if isinstance(rows, Paths):
                rows, files = _new_files(rows, jury, again)
                if not rows.native and jury is not None:
                    return jury  # it knows all of them
            asked = _asked(evaluators, id, ignore, invert, reward, None, round, threads)
            found, after = _core.learn(
                rows.source(asked, jury), asked, jury, policy, options, at, _names(drop), files, bar.watch
            )
        write(after)
    _tell(found)
    logger.info("learnt: %s", found["taught"])
    return after


def _learn_picks(
    picks: Any, verdicts: Any, id: str | None, reward: str | None, invert: Names, jury: Jury, again: bool, threads: int | None, bar: Bar
) -> Any:
    if id is None:
        raise Error("verdicts are joined to picks by one column: pass id=", code="id")
    known = jury._reward()
    name = reward or (known[0] if known else None)
    if name is None:
        raise Error("which column is the verdict? Pass reward=", code="reward")
    shown = given(picks)
    told = given(picks if verdicts is None else verdicts)
    return _core.learn_picks(
        _of_picks(shown, jury, id), _of_verdicts(told, id, name), id, name, name in _names(invert), jury, again, threads, bar.watch
    )


def _of_picks(rows: Given, jury: Jury, id: str) -> tuple[str, Any]:
    """The columns of a table of picks: those that `pick` put there, the id and the scores."""
    if not rows.is_frame:
        return rows.source({}, None)
    here = [name for name, _ in rows.columns()]
    ours = [name for name in here if _bare(name) in OURS]
    wanted = [*jury.evaluators, id, *ours]
    return rows.export([name for name in dict.fromkeys(wanted) if name in here], {"key": id})


def _bare(name: str) -> str:
    while name.startswith("jurybox_"):
        name = name.removeprefix("jurybox_")
    return name


def _of_verdicts(rows: Given, id: str, reward: str) -> tuple[str, Any]:
    asked = _asked([reward], None, None, None, None, None, id, None)
    return rows.source(asked, None)


def _new_files(rows: Paths, jury: Jury | None, again: bool) -> tuple[Paths, list[str]]:
    """The files that have not been learnt yet, and what they are known by."""
    paths, names = [], []
    for path, name in _core.fingerprints(rows.native):
        if name is not None:
            if (name in names or (jury is not None and jury._knows_file(name))) and not again:
                logger.info("%s: learnt already, and not counted again; again=True would", path)
                continue
            names.append(name)
        paths.append(os.fspath(path))
    return Paths(paths), names


def merge(*juries: Jury | Path, again: bool = False) -> Jury:
    """One jury of several that learnt apart, of juries and of state files: ``jurybox merge``.

    The result is what one jury would have learnt from everything. Juries that were taught with the same file, or with the same round
    of picks, are refused unless ``again``: it would count twice. ``a + b`` is ``merge(a, b)``.

    >>> import jurybox as jb
    >>> here, there = (jb.Jury(["spam", "abuse"], "lin-ucb") for _ in range(2))
    >>> here.learn([[0.9, 0.1]], [1.0]), there.learn([[0.1, 0.2]], [0.0])
    (Learnt(used=1, passed_over=0), Learnt(used=1, passed_over=0))
    >>> jb.merge(here, there).seen["used"]
    2
    """
    if len(juries) == 1 and isinstance(juries[0], (list, tuple)):
        juries = tuple(juries[0])
    return _core.merge([jury if isinstance(jury, Jury) else Jury.load(jury) for jury in juries], again=again)


def replay(
    data: Any,
    *,
    reward: str,
    round: str | None = None,
    probability: str | None = None,
    pool: bool = False,
    budget: int = 200,
    folds: int | None = None,
    reuse: bool = False,
    items: int | None = None,
    k: int = 10,
    rounds: int | None = None,
    runs: int | None = None,
    seed: int = 1,
    policies: str | Iterable[str] | None = None,
    state: Jury | Path | Mapping[str, Jury | Path] | None = None,
    weights: Numbers = None,
    reward_range: tuple[float, float] | None = None,
    picks: Path | None = None,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    threads: int | None = None,
    progress: bool | Watch | None = None,
) -> Replay:
    """What each policy would have earned on a history of scores and rewards: ``jurybox replay``.

    A row is looked at at most once in a run: a reward that was learnt is never also counted as found. Rows are shuffled and dealt out
    in rounds, or come in their own rounds with ``round``, or lie in one ``pool`` until they are picked, or are ranked out of fold with
    ``folds``. With ``probability``, the column with the logged probability of each pick, what policies would have earned is estimated
    from what the log looked at.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards
    items, k, rounds, runs, seed : the size of a round, the picks of it, how many rounds, how many runs, the seed of every draw
    budget : labels of a run in a pool
    reuse : let rows come back, which flatters whoever remembers
    policies : to try, each once; differences are to the first
    state : a jury that has learnt already, or several by name; they go on learning
    weights : fixed weights by name to try beside the policies
    reward_range : the least and the greatest that a reward can be, for what a log did not look at
    picks : a file to write every pick to
    """
    rows = given(data)
    asked = _asked(evaluators, id, ignore, invert, reward, probability, round, threads)
    named = state if isinstance(state, Mapping) else {} if state is None else {"state": state}
    states = [(name, jury) for name, one in named.items() if (jury := _read(one)) is not None]
    how = {
        "pool": pool, "budget": budget, "folds": folds, "reuse": reuse, "items": items, "k": k, "rounds": rounds, "runs": runs,
        "seed": seed, "policies": None if policies is None else _names(policies), "reward_range": reward_range, "picks": _out(picks),
    }  # fmt: skip
    with Bar(progress) as bar:
        found = _core.replay(rows.source(asked, states[0][1] if states else None), asked, how, states, dict(weights or {}), bar.watch)
    _tell(found)
    return Replay(found["document"], found["html"], found["text"])


def report(
    data: Any,
    *,
    reward: str | None = None,
    round: str | None = None,
    state: Jury | Path | None = None,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    threads: int | None = None,
    progress: bool | Watch | None = None,
) -> Report:
    """Which evaluators to trust: gain, noise, weight, redundancy, and what a top K would catch: ``jurybox report``.

    With rewards, the report measures against them; without, it says what the scores alone can tell. In a notebook it shows itself.

    Parameters
    ----------
    data : as for `rank`
    reward : the column of rewards; empty where there is no verdict
    round : the column of rounds, where there is one: no evaluator
    state : a jury or a state file: its weights with their intervals, and what has changed

    The other parameters are those of `rank`.
    """
    rows = given(data)
    asked = _asked(evaluators, id, [*_names(ignore), *_named(round)], invert, reward, None, None, threads)
    jury = _read(state)
    with Bar(progress) as bar:
        found = _core.report(rows.source(asked, jury), asked, jury, bar.watch)
    _tell(found)
    return Report(found["document"], found["html"], found["text"])


def _asked(
    evaluators: Names, id: Names, ignore: Names, invert: Names, reward: str | None, probability: str | None, key: str | None, threads: int | None
) -> dict[str, Any]:  # fmt: skip
    """Which column is what, for the compiled part."""
    return {
        "evaluators": _names(evaluators),
        "id": _names(id),
        "ignore": _names(ignore),
        "invert": _names(invert),
        "reward": reward,
        "probability": probability,
        "key": key,
        "threads": threads,
    }


def _default_policy() -> str:
    """The one that a jury has where none is named."""
    return _core.Jury(["anyone"]).policy


def _names(given: Names) -> list[str]:
    """One name, or several."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _named(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _out(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _read(state: Jury | Path | None) -> Jury | None:
    return state if state is None or isinstance(state, Jury) else Jury.load(state)


@contextmanager
def _turn(state: Jury | Path | None, wait: float, *, changes: bool) -> Iterator[tuple[Jury | None, Any]]:
    """The jury to work on, and what writes it back: a state file is read, locked until it is written."""
    if state is None or isinstance(state, Jury):
        yield state, lambda jury: None
        return
    path = os.fspath(state)
    lock = _core.Lock(path, float(wait)) if changes else None
    try:
        yield (Jury.load(path) if os.path.exists(path) else None), lambda jury: jury.save(path)
    finally:
        if lock is not None:
            lock.release()


def _tell(found: Mapping[str, Any]) -> None:
    """What was taken as what goes to the log; what a person should know is a warning."""
    for line in found["said"]:
        logger.info(line)
    for line in found["warned"]:
        warnings.warn(line, DataWarning, stacklevel=3)
