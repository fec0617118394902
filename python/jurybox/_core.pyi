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
    """What became of a batch of examples."""

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
    """A policy that learns over named evaluators: it picks, takes in what picks were min_reward, and weighs its evaluators by it.

    What it has learnt is a value: it can be pickled, copied, saved, and merged (``a + b``) with what another learnt elsewhere. There
    is no memory of "the last round": rewards come back with their `Picks`, late, in any order, in part or never. Threads may share
    one; the interpreter is let go while it works. Ctrl-C while it learns from a large array leaves it as it was.

    Parameters
    ----------
    evaluators : their names, in the order of the columns of scores
    policy : its name, with its options or without (``"eps-greedy(eps=0.1)"``); see `jurybox.policies`
    seed : of its draws: the same picks as ``ChaCha8Rng::seed_from_u64`` gives in Rust
    invert : evaluators whose low scores speak for a high reward
    context : columns that are no scores but say which group an item belongs to, such as its language; those that are not among the evaluators
        are put behind them. ``adaptive`` learns by how much weights differ by group. In frames, mappings and text a group goes by its name, as in
        files; a number in an array is a group by itself, and NaN is none
    options : of the policy; what is one number per evaluator may be a dict by name

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
        """The names of the evaluators, in the order of the columns."""
    @property
    def inverted(self) -> list[str]:
        """Evaluators whose low scores speak for a high reward."""
    @property
    def contexts(self) -> list[str]:
        """Columns that say which group an item belongs to, and are no scores."""
    @property
    def seen(self) -> Seen:
        """How much has been seen: a dict of counts."""
    def round(self, scores: Any, k: int, *, at: int | None = None, new: ArrayLike | None = None) -> Picks:
        """One round: picks `k` items and sees the scores of all of them.

        Parameters
        ----------
        scores : one row per item and one column per evaluator: an array, nested lists, a frame with columns of those names, or one
            mapping per item. NaN, None and null are missing
        k : how many to pick
        at : the time of the round, a whole number: its number (the default, counting on) or a timestamp
        new : where items stay until they are picked, which of them are new: a mask, or their numbers. The others have been seen
        """
    def choose(self, scores: Any, k: int, *, seed: int | None = None, at: int | None = None) -> Picks:
        """Picks `k` items by what has been learnt, and changes nothing but the generator; with `seed`, not even that."""
    def observe(self, scores: Any, *, at: int | None = None) -> None:
        """Sees a round's scores, each item once, whatever was chosen from it."""
    def learn(self, picks: Any, rewards: Any, *, reviewers: Iterable[Any] | None = None, at: int | None = None) -> Learnt:
        """Learns what picks were min_reward: all of them, or none where something is wrong.

        `picks` are `Picks`, any part of them, also as the dicts that ``to_dicts`` wrote or as a frame of those; or the scores of items that
        nobody picked, which policies learn from where that is sound. Picks that were scored by others than this jury has are learnt by the
        scores that it knows, with a `jurybox.DataWarning`; what `jurybox.pick` gave is refused: ``jurybox.learn(picks=...)`` reads its receipts.

        **What comes again counts again.** A jury does not remember single picks: the same ones learnt twice count twice, and so does what
        both sides of ``a + b`` have learnt. Keep beside each pick of yours whether it was learnt, and mark it together with saving the
        jury; or pick and learn by `jurybox.pick` and ``jurybox.learn(picks=...)``, which know each verdict again.

        Policies that learn from the scores of all items too, as ``adaptive`` does, must have seen these (`observe`, or `round`):
        a `jurybox.DataWarning` says so. `jurybox.learn` does both. A reward that is not a finite number is an error: leave out what has no
        verdict yet (``picks[mask]``). With `reviewers`, one name for each item and None where nobody knows, severity and noise of each
        are learnt, and a verdict counts for what it tells: see `reviewers`.
        """
    def fit(self) -> Fitted:
        """What ranks, by all that has been learnt up to now: a pure function of the state."""
    def values(self, scores: Any) -> NDArray[np.float64]:
        """The value that each item is ranked by, exploration aside."""
    def probabilities(self, scores: Any, k: int) -> NDArray[np.float64]:
        """The probability of each item to be picked by `choose`; they sum to `k`."""
    def predict(
        self, scores: Any, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The reward of each item: mean, low and high of an interval that holds it with probability `level`.

        It goes by the rewards that were learnt, and holds for rows like those: for all where they were drawn at random, for those that are
        picked where picks were learnt. Beyond what was labelled it widens, which is no promise. From fewer than two rewards, or from rewards
        that are all the same, it is infinite.
        """
    def contributions(self, scores: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each evaluator adds to the value of each item: a base, and one column per evaluator. They sum to the value."""
    @overload
    def weights(self, *, level: None = None) -> dict[str, float]:
        """The weights of the evaluators by name."""
    @overload
    def weights(self, *, level: float) -> dict[str, tuple[float, float, float]]:
        """The same, each as mean, low and high of an interval that holds with probability `level` what endless verdicts on the items learnt
        from would give; low and high are infinite where the labels cannot tell yet. The weight itself is drawn towards a guess while labels are
        few and the interval is not; where the weight would lie outside, the interval is stretched to end at it, and is wider than it need be."""
    def group_weights(self, context: str, group: Any) -> tuple[float, dict[str, float]] | None:
        """For the items of a group of a context: what they are worth more than others with the same scores, and the weights of the evaluators by
        name. None where the group is not known, or groups do not differ: then `weights` are those of all."""
    def reviewers(self, names: Iterable[str | float], *, level: float = 0.9) -> dict[str, Standing]:
        """Those of these names who judged, where the policy tells them apart (``adaptive``): how severe and how noisy each is beside the
        others, with intervals that hold with probability `level`. A jury knows reviewers by a hash of their names: say whom you mean."""
    def alarms(self) -> list[Alarm]:
        """Evaluators, or rewards, that are not what they were, where the policy watches for that, as ``adaptive`` does."""
    def set_evaluators(self, evaluators: Iterable[str], *, invert: str | Iterable[str] | None = ...) -> None:
        """Seats other evaluators in place of these: what was learnt stays with the names, newcomers begin with nothing."""
    def to_json(self) -> str:
        """The whole jury as one JSON document, without what it was taught with and without the state of its generator."""
    @staticmethod
    def from_json(text: str, *, seed: int = 0) -> Jury:
        """Reads what `to_json` wrote."""
    def save(self, path: _Path) -> None:
        """Writes a state file, whole or not at all: what the commands' ``--state`` reads. Its generator is not part of it."""
    @staticmethod
    def load(path: _Path, *, seed: int = 0) -> Jury:
        """Reads a state file, as `save` and the commands write it."""
    def __add__(self, other: Jury, /) -> Jury:
        """One jury of both: what `jurybox.merge` makes of them. What both have learnt counts twice: a jury and its copy, say."""
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
    """What ranks: made by `Jury.fit`, immutable, shared by any number of threads."""

    @property
    def policy(self) -> str:
        """The policy with its options, as text."""
    @property
    def evaluators(self) -> list[str]:
        """The names of the evaluators, in the order of the columns."""
    def values(self, scores: Any) -> NDArray[np.float64]:
        """The value that each item is ranked by, exploration aside."""
    def choose(self, scores: Any, k: int, *, seed: int = 0, at: int = 0) -> Picks:
        """Picks `k` items, best first, explored ones last; nothing is learnt or remembered."""
    def probabilities(self, scores: Any, k: int) -> NDArray[np.float64]:
        """The probability of each item to be picked by `choose`; they sum to `k`."""
    def predict(
        self, scores: Any, *, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The reward of each item: mean, low and high of an interval that holds it with probability `level`.

        It goes by the rewards that were learnt, and holds for rows like those: for all where they were drawn at random, for those that are
        picked where picks were learnt. Beyond what was labelled it widens, which is no promise. From fewer than two rewards, or from rewards
        that are all the same, it is infinite.
        """
    def contributions(self, scores: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each evaluator adds to the value of each item: a base, and one column per evaluator. They sum to the value."""
    @overload
    def weights(self, *, level: None = None) -> dict[str, float]:
        """The weights of the evaluators by name."""
    @overload
    def weights(self, *, level: float) -> dict[str, tuple[float, float, float]]:
        """The same, each as mean, low and high of an interval that holds with probability `level` what endless verdicts on the items learnt
        from would give; low and high are infinite where the labels cannot tell yet. The weight itself is drawn towards a guess while labels are
        few and the interval is not; where the weight would lie outside, the interval is stretched to end at it, and is wider than it need be."""
    def sigma(self) -> dict[str, float] | None:
        """The noise levels in use by name, where the policy uses any; otherwise nothing."""
    def group_weights(self, context: str, group: Any) -> tuple[float, dict[str, float]] | None:
        """As `Jury.group_weights`."""
    def reviewers(self, names: Iterable[str | float], *, level: float = 0.9) -> dict[str, Standing]:
        """As `Jury.reviewers`."""
    def alarms(self) -> list[Alarm]:
        """Evaluators, or rewards, that are not what they were, where the policy watches for that, as ``adaptive`` does."""
    def to_sql(self, dialect: str = "duckdb") -> str:
        """The value of an item as an expression of SQL over columns named as the evaluators: ``duckdb`` or ``postgresql``.

        It equals `values` to 1e-9 for items without missing scores, and is NULL where one is missing: order by it ``desc nulls last``, or
        PostgreSQL puts the items that it cannot value first. Policies that are no weighted
        sum of their scores (``adaptive``, ``lin-ucb``, ``exp4p``, ``rand``), and the probit link, are refused by name.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _form(self) -> tuple[str, list[bool]]: ...
    @staticmethod
    def _from_bytes(bytes: bytes) -> Fitted: ...

@final
class Picks:
    """Items that were picked, with all that it takes to learn from them later: their numbers, scores, probabilities and receipts.

    Parts of them are picks too: ``picks[2]``, ``picks[:5]``, ``picks[mask]``; and ``a + b`` are both.
    """

    @property
    def items(self) -> NDArray[np.int64]:
        """The number of each picked item in its round, from 0: best first, explored ones last."""
    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability with which each was to be picked, before any draw was made."""
    @property
    def explored(self) -> NDArray[np.bool_]:
        """Whether each was drawn at random in an explore slot."""
    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores of each, one row per pick; NaN where missing."""
    @property
    def at(self) -> NDArray[np.int64]:
        """The time of the round of each."""
    @property
    def evaluators(self) -> list[str]:
        """The evaluators whose scores these are, in the order of the columns."""
    @property
    def contexts(self) -> list[str]:
        """Those of them that say which group an item belongs to: their numbers are groups, and no scores."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per pick, of plain numbers and text: for a database, or a JSON document."""
    @staticmethod
    def from_dicts(rows: Iterable[Mapping[str, Any]]) -> Picks:
        """Picks from what `to_dicts` gave: in any order, any part of them, of any rounds."""
    def __len__(self) -> int: ...
    def __getitem__(self, which: Any, /) -> Picks: ...
    def __iter__(self) -> Iterator[Picks]:
        """One pick after the other, each as picks of one."""
    def __add__(self, other: Picks, /) -> Picks: ...
    def __radd__(self, value: Picks, /) -> Picks: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Rows:
    """A small table of results, for whoever takes Arrow: ``polars.DataFrame(rows)``, ``pyarrow.table(rows)``, DuckDB."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @staticmethod
    def from_arrow(data: Any) -> Rows:
        """A copy of anything that streams Arrow."""
    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, of plain Python objects."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per row, of plain Python objects."""
    def head(self, rows: int = 5) -> Rows:
        """The first rows."""
    def to_pandas(self) -> Any:
        """The same as a DataFrame of pandas."""
    def to_polars(self) -> Any:
        """The same as a DataFrame of polars."""
    def to_arrow(self) -> Any:
        """The same as a table of pyarrow."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _from_bytes(bytes: bytes) -> Rows: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, column: str, /) -> list[Any]: ...
    def _repr_html_(self) -> str: ...

@final
class Lock:
    """The right to change a state file, held from reading to writing."""

    def __new__(cls, path: _Path, wait: float) -> Lock: ...
    def release(self) -> None:
        """Lets go of it."""

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
