"""The compiled part of `jurybox`. Use the package, not this module."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import Alarm, Seen, Standing

__all__ = [
    "Fitted",
    "Jury",
    "Learnt",
    "Lock",
    "Picks",
    "Rows",
    "__version__",
    "columns_needed",
    "expand",
    "fingerprints",
    "group_codes",
    "group_codes_of_column",
    "jury_from_parts",
    "learn",
    "learn_picks",
    "merge",
    "pick",
    "picks_from_parts",
    "policy_table",
    "prevalence",
    "printable",
    "rank",
    "refuse_overwriting",
    "replay",
    "report",
    "resolve_evaluators",
    "rounds",
    "spec_text",
    "top_rows",
    "was_picked_from",
]

__version__: str

_Path = str | PathLike[str]
_Watch = Callable[[int, int, int | None, str], object] | None

@final
class Learnt:
    """The counts of a batch of learnt examples."""

    @property
    def used(self) -> int:
        """Examples that changed the state."""
    @property
    def ignored_rewards(self) -> int:
        """Examples that this policy does not learn from."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Jury:
    """A policy that learns over named evaluators: it picks items, learns their rewards, and weights
    the evaluators accordingly.

    A jury can be pickled, copied, saved, and merged (``a + b``) with one that learnt elsewhere. It
    does not depend on the last round: rewards come back with their `Picks`, late, in any order, in
    part or never. Threads may share a jury; the interpreter is released while it works. Ctrl-C
    while it learns from a large array leaves it unchanged.

    Parameters
    ----------
    evaluators : their names, in column order
    policy : its name, optionally with options (``"eps-greedy(eps=0.1)"``); see `jurybox.policies`
    seed : of its random draws: the same picks as ``ChaCha8Rng::seed_from_u64`` gives in Rust
    invert : evaluators whose low scores mean high rewards
    context : columns that name an item's group, such as its language, and are not scores. Those
        that are not among the evaluators are appended. ``adaptive`` learns how weights differ
        between groups. In frames, mappings and text a group goes by its name; in arrays each number
        is a group, and NaN is none
    options : of the policy; options with one number per evaluator may be a dict by name

    >>> import jurybox as jb
    >>> jury = jb.Jury(["toxicity", "spam"], policy="lin-ucb", seed=7)
    >>> picks = jury.round([[0.9, 0.8], [0.1, None], [0.7, 0.2]], k=2)
    >>> sorted(picks.items.tolist())
    [0, 2]
    >>> jury.learn(picks, [1.0, 0.0])
    Learnt(used=2, ignored_rewards=0)
    """

    def __new__(
        cls,
        evaluators: Iterable[str],
        policy: str | None = None,
        *,
        seed: int = 0,
        invert: str | Iterable[str] | None = ...,
        context: str | Iterable[str] | None = ...,
        **options: Any,
    ) -> Jury: ...
    @property
    def policy(self) -> str:
        """The policy with its options, as text."""
    @property
    def evaluators(self) -> list[str]:
        """The names of the evaluators, in column order."""
    @property
    def inverted(self) -> list[str]:
        """The evaluators whose low scores mean high rewards."""
    @property
    def contexts(self) -> list[str]:
        """The columns that name an item's group and are not scores."""
    @property
    def seen(self) -> Seen:
        """Counts of what the jury has seen."""
    def round(self, scores: Any, k: int, *, at: int | None = None, new: ArrayLike | None = None) -> Picks:
        """One round: picks `k` items and observes the scores of all items.

        Parameters
        ----------
        scores : one row per item and one column per evaluator: an array, nested lists, a frame with
            columns of those names, or one mapping per item. NaN, None and null are missing
        k : how many to pick
        at : the time of the round, a whole number: its number (the default) or a timestamp
        new : for items that stay until they are picked, which of them are new: a mask, or their
            numbers. The others were observed before
        """
    def choose(self, scores: Any, k: int, *, seed: int | None = None, at: int | None = None) -> Picks:
        """Picks `k` items by what has been learnt. Only the random generator changes; with
        `seed`, not even that."""
    def observe(self, scores: Any, *, at: int | None = None) -> None:
        """Observes the scores of a round's items, each once, whether or not they were picked."""
    def learn(self, picks: Any, rewards: Any, *, reviewers: Iterable[Any] | None = None, at: int | None = None) -> Learnt:
        """Learns the rewards of picks. On an error nothing is learnt.

        `picks` are `Picks`, any part of them, also as the dicts that ``to_dicts`` wrote or a frame
        of those; or the scores of items that were not picked, if the policy can learn from them. If
        picks were scored by other evaluators, the scores of known evaluators are learnt, with a
        `jurybox.DataWarning`. Rows of `jurybox.pick` are refused: learn them by
        ``jurybox.learn(picks=...)``, which reads their receipts.

        **Picks that are learnt twice count twice.** A jury does not remember single picks, nor does
        ``a + b`` know what both have learnt. Record beside your picks whether they were learnt,
        together with saving the jury; or use `jurybox.pick` and ``jurybox.learn(picks=...)``, which
        recognize each verdict.

        Policies that also learn from the scores of all items, as ``adaptive`` does, must have
        observed these (`observe` or `round`); otherwise there is a `jurybox.DataWarning`.
        `jurybox.learn` does both. Rewards must be finite numbers: leave out items without a verdict
        (``picks[mask]``). With `reviewers`, one name per item or None if unknown, verdicts are
        weighted by each reviewer's severity and noise: see the method `reviewers`.
        """
    def fit(self) -> Fitted:
        """An immutable fit of everything learnt so far, a pure function of the state."""
    def values(self, scores: Any) -> NDArray[np.float64]:
        """The value that each item is ranked by, before exploration."""
    def probabilities(self, scores: Any, k: int) -> NDArray[np.float64]:
        """The probability with which `choose` picks each item; they sum to `k`."""
    def predict(
        self, scores: Any, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean, low and high of each item's expected reward; the interval holds the reward with
        probability `level`.

        It holds for rows like the learnt ones: for all rows if those were a random sample, for
        picked rows if picks were learnt. Outside the labelled range it widens, without a guarantee.
        It is infinite for fewer than two rewards, or if all rewards are equal.
        """
    def contributions(self, scores: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The base of each item's value and the contribution of each evaluator, one column per
        evaluator. They sum to the value."""
    @overload
    def weights(self, *, level: None = None) -> dict[str, float]:
        """The weights by evaluator."""
    @overload
    def weights(self, *, level: float) -> dict[str, tuple[float, float, float]]:
        """The weight of each evaluator with low and high of an interval. With probability
        `level`, it contains the weight that unlimited verdicts on the learnt items would give.
        It is infinite while labels are too few. The weight itself is drawn towards a guess while
        labels are few; the interval is widened to contain it."""
    def group_weights(self, context: str, group: Any) -> tuple[float, dict[str, float]] | None:
        """For the items of one group of a context: their reward above that of other items with
        the same scores, and the weights by evaluator. None for an unknown group, or where groups
        do not differ; then `weights` holds for all."""
    def reviewers(self, names: Iterable[str | float], *, level: float = 0.9) -> dict[str, Standing]:
        """Severity and noise of the named reviewers who gave verdicts, with intervals of
        probability `level`, if the policy learns them (``adaptive``). A jury stores only hashes
        of names, so they must be passed."""
    def alarms(self) -> list[Alarm]:
        """Evaluators or rewards that changed, if the policy watches for changes, as ``adaptive``
        does."""
    def set_evaluators(self, evaluators: Iterable[str], *, invert: str | Iterable[str] | None = ...) -> None:
        """Replaces the evaluators. Those of the same name keep what was learnt about them."""
    def to_json(self) -> str:
        """The jury as a JSON document, without its generator and the record of files and picks
        it learnt."""
    @staticmethod
    def from_json(text: str, *, seed: int = 0) -> Jury:
        """Reads the output of `to_json`."""
    def save(self, path: _Path) -> None:
        """Writes a state file, which the commands' ``--state`` reads. On an error the old file
        stays. The generator is not saved."""
    @staticmethod
    def load(path: _Path, *, seed: int = 0) -> Jury:
        """Reads a state file of `save` or of the commands."""
    def __add__(self, other: Jury, /) -> Jury:
        """Merges two juries, like `jurybox.merge`. What both have learnt counts twice."""
    def __radd__(self, value: Jury | int, /) -> Jury: ...
    def __copy__(self) -> Jury: ...
    def __deepcopy__(self, _memo: Any) -> Jury: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _knows_file(self, fingerprint: str) -> bool: ...
    def _has_picked(self) -> bool: ...
    def _shares(self, other: Jury) -> bool: ...
    def _refuse_picked_from(self, path: _Path, fingerprint: str) -> None: ...
    def _reward(self) -> tuple[str, bool] | None: ...
    def _repr_html_(self) -> str: ...

@final
class Fitted:
    """An immutable fit, made by `Jury.fit`; any number of threads may share it."""

    @property
    def policy(self) -> str:
        """The policy with its options, as text."""
    @property
    def evaluators(self) -> list[str]:
        """The names of the evaluators, in column order."""
    def values(self, scores: Any) -> NDArray[np.float64]:
        """The value that each item is ranked by, before exploration."""
    def choose(self, scores: Any, k: int, *, seed: int = 0, at: int = 0) -> Picks:
        """Picks `k` items, best first and explored ones last. Nothing is learnt or remembered."""
    def probabilities(self, scores: Any, k: int) -> NDArray[np.float64]:
        """The probability with which `choose` picks each item; they sum to `k`."""
    def predict(
        self, scores: Any, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean, low and high of each item's expected reward; the interval holds the reward with
        probability `level`.

        It holds for rows like the learnt ones: for all rows if those were a random sample, for
        picked rows if picks were learnt. Outside the labelled range it widens, without a guarantee.
        It is infinite for fewer than two rewards, or if all rewards are equal.
        """
    def contributions(self, scores: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The base of each item's value and the contribution of each evaluator, one column per
        evaluator. They sum to the value."""
    @overload
    def weights(self, *, level: None = None) -> dict[str, float]:
        """The weights by evaluator."""
    @overload
    def weights(self, *, level: float) -> dict[str, tuple[float, float, float]]:
        """The weight of each evaluator with low and high of an interval. With probability
        `level`, it contains the weight that unlimited verdicts on the learnt items would give.
        It is infinite while labels are too few. The weight itself is drawn towards a guess while
        labels are few; the interval is widened to contain it."""
    def sigma(self) -> dict[str, float] | None:
        """The noise levels by evaluator; None if the policy uses none."""
    def group_weights(self, context: str, group: Any) -> tuple[float, dict[str, float]] | None:
        """For the items of one group of a context: their reward above that of other items with
        the same scores, and the weights by evaluator. None for an unknown group, or where groups
        do not differ."""
    def reviewers(self, names: Iterable[str | float], *, level: float = 0.9) -> dict[str, Standing]:
        """Severity and noise of the named reviewers who gave verdicts, with intervals of
        probability `level`."""
    def alarms(self) -> list[Alarm]:
        """Evaluators or rewards that changed, if the policy watches for changes, as ``adaptive``
        does."""
    def to_sql(self, dialect: str = "duckdb") -> str:
        """An item's value as an SQL expression over columns named like the evaluators. `dialect` is
        ``duckdb`` or ``postgresql``.

        It equals `values` to 1e-9 for items without missing scores, and is NULL for others: order
        by it ``desc nulls last``, because PostgreSQL puts NULL first. Policies that are not a
        weighted sum of their scores (``adaptive``, ``lin-ucb``, ``exp4p``, ``rand``) are an error,
        and so is the probit link.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _form(self) -> tuple[str, list[bool]]: ...
    @staticmethod
    def _from_bytes(bytes: bytes) -> Fitted: ...

@final
class Picks:
    """Picked items with everything needed to learn from them later: numbers, scores, probabilities
    and receipts.

    Parts of them are `Picks` too: ``picks[2]``, ``picks[:5]``, ``picks[mask]``; ``a + b`` joins
    two.
    """

    @property
    def items(self) -> NDArray[np.int64]:
        """The number of each picked item in its round, from 0: best first, explored ones last."""
    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability with which each item was to be picked, before any random draw."""
    @property
    def explored(self) -> NDArray[np.bool_]:
        """Whether each item was picked at random, for exploration."""
    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores of each pick, one row per pick; NaN if missing."""
    @property
    def at(self) -> NDArray[np.int64]:
        """The time of each pick's round."""
    @property
    def evaluators(self) -> list[str]:
        """The evaluators that gave the scores, in column order."""
    @property
    def contexts(self) -> list[str]:
        """The evaluators that are contexts: their numbers are groups, not scores."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per pick, of plain numbers and text, for a database or JSON."""
    @staticmethod
    def from_dicts(rows: Iterable[Mapping[str, Any]]) -> Picks:
        """The picks in dicts that `to_dicts` wrote: in any order, from any rounds, not
        necessarily all of a round."""
    def __len__(self) -> int: ...
    def __getitem__(self, which: Any, /) -> Picks: ...
    def __iter__(self) -> Iterator[Picks]:
        """Iterates over the picks, each as `Picks` of one."""
    def __add__(self, other: Picks, /) -> Picks: ...
    def __radd__(self, value: Picks, /) -> Picks: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Rows:
    """A small table of results that other libraries read through Arrow:
    ``polars.DataFrame(rows)``, ``pyarrow.table(rows)``, DuckDB."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @staticmethod
    def from_arrow(data: Any) -> Rows:
        """A copy of any object that streams Arrow."""
    def to_dict(self) -> dict[str, list[Any]]:
        """One list of Python objects per column."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict of Python objects per row."""
    def head(self, rows: int = 5) -> Rows:
        """The first rows."""
    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
    def to_polars(self) -> Any:
        """The table as a polars DataFrame."""
    def to_arrow(self) -> Any:
        """The table as a pyarrow Table."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _from_bytes(bytes: bytes) -> Rows: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, column: str, /) -> list[Any]: ...
    def _repr_html_(self) -> str: ...

@final
class Lock:
    """An exclusive lock on a state file, held from reading to writing."""

    def __new__(cls, path: _Path, wait: float) -> Lock: ...
    def release(self) -> None:
        """Unlocks the file."""

def rank(
    source: tuple[str, Any],
    table_options: Mapping[str, Any],
    k: int,
    seed: int,
    explain: bool,
    every: bool,
    out: _Path | None,
    safe_csv: bool,
    state: Jury | None,
    policy: str | None,
    options: dict[str, Any],
    sigma: dict[str, float],
    weights: dict[str, float],
    every_row: bool,
    watch: _Watch,
    first_row: int,
    min_reward: float | None,
) -> dict[str, Any]: ...
def pick(
    source: tuple[str, Any],
    table_options: Mapping[str, Any],
    state: Jury | None,
    policy: str | None,
    options: dict[str, Any],
    k: int,
    seed: int,
    at: int | None,
    observe: bool,
    every: bool,
    out: _Path | None,
    safe_csv: bool,
    watch: _Watch,
    min_reward: float | None,
) -> tuple[dict[str, Any], Jury]: ...
def learn(
    source: tuple[str, Any],
    table_options: Mapping[str, Any],
    state: Jury | None,
    policy: str | None,
    options: dict[str, Any],
    at: int | None,
    drop: Sequence[str],
    again: bool,
    watch: _Watch,
) -> tuple[dict[str, Any], Jury]: ...
def learn_picks(
    picks: tuple[str, Any],
    verdicts: tuple[str, Any],
    table_options: Mapping[str, Any],
    reward: str,
    state: Jury,
    together: bool,
    again: bool,
    watch: _Watch,
) -> dict[str, Any]: ...
def replay(
    source: tuple[str, Any],
    table_options: Mapping[str, Any],
    how: Mapping[str, Any],
    states: Sequence[tuple[str, Jury]],
    weights: dict[str, float],
    watch: _Watch,
) -> dict[str, Any]: ...
def report(source: tuple[str, Any], table_options: Mapping[str, Any], state: Jury | None, made_at: int, watch: _Watch) -> dict[str, Any]: ...
def prevalence(
    source: tuple[str, Any], table_options: Mapping[str, Any], how: Mapping[str, Any], state: Jury | None, watch: _Watch
) -> dict[str, Any]: ...
def was_picked_from(source: tuple[str, Any], table_options: Mapping[str, Any], state: Jury) -> bool: ...
def rounds(source: tuple[str, Any], table_options: Mapping[str, Any], state: Jury | None) -> tuple[int, str | None, str | None]: ...
def resolve_evaluators(
    source: tuple[str, Any], table_options: Mapping[str, Any], state: Jury | None
) -> tuple[list[tuple[str, bool]], list[str]]: ...
def top_rows(rows: Sequence[int], values: Sequence[float], k: int, seed: int) -> list[int]: ...
def columns_needed(
    frames: Sequence[tuple[str, Any]], table_options: Mapping[str, Any], state: Jury | None
) -> tuple[list[str], list[tuple[str, bool]], str, list[str]]: ...
def expand(patterns: Sequence[str]) -> list[PathLike[str]]: ...
def printable(text: str, lines: bool) -> str: ...
def refuse_overwriting(read: Sequence[_Path], out: _Path) -> None: ...
def fingerprints(patterns: Sequence[str]) -> list[tuple[PathLike[str], str | None]]: ...
def merge(juries: Sequence[Jury], *, again: bool = False) -> Jury: ...
def policy_table() -> list[dict[str, Any]]: ...
def spec_text(policy: str, options: dict[str, Any]) -> str: ...
def group_codes(names: Sequence[str | None]) -> NDArray[np.float64]: ...
def group_codes_of_column(source: tuple[str, Any], name: str) -> NDArray[np.float64]: ...
def jury_from_parts(bytes: bytes, memory: str, seed: bytes, stream: int, place: int) -> Jury: ...
def picks_from_parts(
    names: Sequence[str], items: Sequence[int], receipts: Sequence[str], at: Sequence[int], scores: Sequence[float],
    contexts: Sequence[str] | None = None,
) -> Picks: ...
