"""Arrays of every shape and type, in every method that takes scores: correct, or refused with a
reason."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb

NAMES = ["a", "b", "c"]
PLAIN = np.array([[0.5, 0.25, 0.75], [0.125, np.nan, 0.5], [0.875, 0.5, 0.0], [0.25, 0.75, 1.0]])
COMPLETE = np.where(np.isnan(PLAIN), 0.375, PLAIN)


def offset_by_a_byte(table: np.ndarray) -> np.ndarray:
    raw = np.zeros(table.size * 8 + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(table.shape)
    unaligned[:] = table
    return unaligned


def read_only(table: np.ndarray) -> np.ndarray:
    made = table.copy()
    made.setflags(write=False)
    return made


def as_objects(table: np.ndarray) -> np.ndarray:
    made = table.astype(object)
    made[1, 1] = None
    return made


#: The same scores in different types and layouts.
RIGHT = {
    "C order": PLAIN,
    "Fortran order": np.asfortranarray(PLAIN),
    "strided rows": np.repeat(PLAIN, 2, axis=0)[::2],
    "strided columns": np.repeat(PLAIN, 2, axis=1)[:, ::2],
    "backwards": PLAIN[::-1][::-1],
    "negative strides": np.ascontiguousarray(PLAIN[:, ::-1])[:, ::-1],
    "transposed": np.ascontiguousarray(PLAIN.T).T,
    "read-only": read_only(PLAIN),
    "big-endian": PLAIN.astype(">f8"),
    "unaligned": offset_by_a_byte(PLAIN),
    "f32": PLAIN.astype(np.float32),
    "f16": PLAIN.astype(np.float16),
    "long double": PLAIN.astype(np.longdouble),
    "objects": as_objects(PLAIN),
    "decimals": [[Decimal("0.5"), Decimal("0.25"), 0.75], [0.125, None, 0.5], [0.875, 0.5, 0], [0.25, 0.75, 1]],
    "masked": np.ma.MaskedArray(np.where(np.isnan(PLAIN), 99.0, PLAIN), mask=np.isnan(PLAIN)),
    "matrix": np.asmatrix(PLAIN),
    "memoryview": memoryview(PLAIN),
    "lists": [[None if np.isnan(x) else float(x) for x in row] for row in PLAIN],
    "tuples": tuple(map(tuple, PLAIN)),
    "mappings": [dict(zip(NAMES, row, strict=True)) for row in PLAIN],
    "columns by name": {name: PLAIN[:, at] for at, name in enumerate(NAMES)},
    "pandas": pd.DataFrame(PLAIN, columns=NAMES),
    "pandas, other order": pd.DataFrame(PLAIN, columns=NAMES)[["c", "a", "b"]],
    "pandas, more columns": pd.DataFrame(PLAIN, columns=NAMES).assign(post="x"),
    "pandas, nullable": pd.DataFrame(PLAIN, columns=NAMES).astype("Float64"),
    "pandas, objects": pd.DataFrame(as_objects(PLAIN), columns=NAMES),
    "polars": pl.DataFrame(PLAIN, schema=NAMES),
    "polars, null": pl.DataFrame(PLAIN, schema=NAMES).fill_nan(None),
    "pyarrow": pa.table({name: PLAIN[:, at] for at, name in enumerate(NAMES)}),
}

WHOLE = {
    "int64": np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 0, 1]]),
    "int8": np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 0, 1]], dtype=np.int8),
    "uint64": np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 0, 1]], dtype=np.uint64),
    "bool": np.array([[True, False, True], [False, False, True], [True, True, True], [False, False, False]]),
}

#: Values that cannot be scores.
WRONG = {
    "no dimension": np.float64(3.0),
    "one dimension": PLAIN[0],
    "three dimensions": PLAIN[None],
    "too narrow": PLAIN[:, :2],
    "too wide": np.hstack([PLAIN, PLAIN]),
    "no columns": np.empty((4, 0)),
    "infinite": np.where(PLAIN == 0.5, np.inf, PLAIN),
    "minus infinite": np.where(PLAIN == 0.5, -np.inf, PLAIN),
    "f16 infinite": np.array([[1, 2, np.inf]], dtype=np.float16),
    "too large": np.where(PLAIN == 0.5, 1e101, PLAIN),
    "text": np.array([["0.5", "0.25", "0.75"]]),
    "text among objects": np.array([[0.5, "0.25", 0.75]], dtype=object),
    "bytes": np.array([[b"1", b"2", b"3"]]),
    "complex": PLAIN.astype(complex),
    "dates": np.array([["2024-01-01"] * 3], dtype="datetime64[D]"),
    "records": np.zeros(4, dtype=[("a", float), ("b", float), ("c", float)]),
    "ragged": [[0.5, 0.25], [0.5]],
    "a number": 3.0,
    "nothing": None,
    "a word": "scores",
    "a set": {0.5, 0.25},
    "an object": object(),
    "empty list": [],
    "other names": pd.DataFrame(PLAIN, columns=["x", "y", "z"]),
    "duplicate names": pd.DataFrame(np.hstack([PLAIN, PLAIN[:, :1]]), columns=["a", "b", "c", "a"]),
    "text in a frame": pd.DataFrame({"a": ["x"], "b": [1.0], "c": [1.0]}),
    "mappings of others": [{"x": 1.0, "y": 2.0}],
    "uneven columns": {"a": [1.0], "b": [1.0, 2.0], "c": [1.0]},
}


def jury() -> jb.Jury:
    made = jb.Jury(NAMES, "lin-ucb", seed=5)
    made.learn(COMPLETE, [1.0, 0.0, 0.5, 0.25])
    return made


def outcomes(scores: object, rows: int) -> list[object]:
    """The result of every method that takes scores."""
    made = jury()
    fitted = made.fit()
    told: list[object] = [
        made.values(scores).tolist(),
        made.probabilities(scores, 2).tolist(),
        made.contributions(scores)[1].tolist(),
        made.choose(scores, 2).items.tolist(),
        made.choose(scores, 2, seed=3).scores.tolist(),
        fitted.values(scores).tolist(),
        fitted.choose(scores, 1).items.tolist(),
    ]
    made.observe(scores)
    told.append(made.round(scores, 2, new=np.arange(rows) > 0).items.tolist())
    told.append(made.round(scores, 2).items.tolist())
    made.learn(scores, np.linspace(0, 1, rows))
    told.append(made.to_json())
    return told


def same(one: object, other: object) -> bool:
    return repr(one) == repr(other)


@pytest.mark.parametrize("clothes", RIGHT)
def test_the_same_scores_in_other_clothes(clothes: str) -> None:
    expected = outcomes(PLAIN.copy(), 4)
    assert same(outcomes(RIGHT[clothes], 4), expected), clothes


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_and_flags(kind: str) -> None:
    assert same(outcomes(WHOLE[kind], 4), outcomes(WHOLE[kind].astype(float), 4))


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_scores_is_refused(wrong: str) -> None:
    made = jury()
    fitted, before = made.fit(), made.to_json()
    given = WRONG[wrong]
    for method in (
        made.values,
        lambda s: made.probabilities(s, 1),
        made.contributions,
        lambda s: made.choose(s, 1),
        made.observe,
        lambda s: made.round(s, 1),
        lambda s: made.learn(s, [1.0] * 4),
        fitted.values,
        lambda s: fitted.choose(s, 1),
        jb.Jury(NAMES).predict,
    ):
        with pytest.raises(jb.Error):
            method(given)
    assert made.to_json() == before


@pytest.mark.parametrize("k", [0, -1, 5, 2**40, 2**80, 1.5, "2", None])
def test_k(k: object) -> None:
    made = jury()
    with pytest.raises((jb.Error, OverflowError, TypeError)):
        made.round(PLAIN, k)


@pytest.mark.parametrize("at", [-1, 2**63, 2**100, 1.5, "now"])
def test_times(at: object) -> None:
    made = jury()
    with pytest.raises((jb.Error, OverflowError, TypeError)):
        made.round(PLAIN, 1, at=at)


def test_empty_rounds() -> None:
    made = jury()
    made.observe(np.empty((0, 3)))
    assert made.values(np.empty((0, 3))).shape == (0,)
    assert made.contributions(np.empty((0, 3)))[1].shape == (0, 3)
    with pytest.raises(jb.Error, match="0 items"):
        made.round(np.empty((0, 3)), 1)
    assert made.learn(np.empty((0, 3)), []).used == 0


@pytest.mark.parametrize(
    "rewards",
    [np.array([1, 0, 1, 0]), np.array([True, False, True, False]), [1, 0, 1, 0], (1.0, 0.0, 1.0, 0.0), pd.Series([1, 0, 1, 0], index=[9, 8, 7, 6]),
     pl.Series([1, 0, 1, 0]), pa.chunked_array([[1, 0], [1, 0]]), np.array([1, 0, 1, 0], dtype=">f4"), np.array([1, 9, 0, 9, 1, 9, 0, 9.0])[::2]],
    ids=str,
)  # fmt: skip
def test_rewards_in_other_clothes(rewards: object) -> None:
    expected, made = jury(), jury()
    expected.learn(COMPLETE, np.array([1.0, 0.0, 1.0, 0.0]))
    made.learn(COMPLETE, rewards)
    assert made.to_json() == expected.to_json()


@pytest.mark.parametrize("rewards", [None, 1.0, "1010", [[1.0] * 4], ["1"] * 4, [1.0, None, 1.0, 0.0], np.zeros((4, 1)), {}, np.ma.masked_all(4)], ids=repr)
def test_rewards_that_are_none(rewards: object) -> None:
    made = jury()
    before = made.to_json()
    with pytest.raises((jb.Error, TypeError)):
        made.learn(COMPLETE, rewards)
    assert made.to_json() == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row.pop("probability"),
        lambda row: row.update(probability=0.0),
        lambda row: row.update(probability="1"),
        lambda row: row.update(probability=2.0),
        lambda row: row.update(item=-1),
        lambda row: row.update(at=None),
        lambda row: row.update(scores=[1.0, 2.0]),
        lambda row: row["scores"].update(a="x"),
        lambda row: row["scores"].update(a=float("inf")),
        lambda row: row["scores"].pop("a"),
        lambda row: row.update(advice=[1.0]),
    ],
)
def test_damaged_receipts(damage) -> None:
    made = jury()
    rows = made.round(PLAIN, 2).to_dicts()
    before = made.to_json()
    damage(rows[1])
    if rows[1].get("advice"):
        return  # only exp4p uses it
    with pytest.raises((jb.Error, TypeError, OverflowError)):
        made.learn(jb.Picks.from_dicts(rows), [1.0, 0.0])
    assert made.to_json() == before


def test_seeds_and_names() -> None:
    for seed in (-1, 2**64, 1.5, "7"):
        with pytest.raises(jb.Error, match="seed = "):
            jb.Jury(NAMES, seed=seed)
    for names in ([], ["a", "a"], [""], [1, 2], None, ["\ud800"]):
        with pytest.raises((jb.Error, TypeError, UnicodeEncodeError)):
            jb.Jury(names)
    with pytest.raises((jb.Error, TypeError)):
        jb.Jury("abc", "average").round(PLAIN[:, :1], 1)
