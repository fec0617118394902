"""The same rows give the same evaluators, best rows and warnings from every kind of source."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import jurybox as jb

ROWS = 1500
RNG = np.random.default_rng(11)
#: Has more spread than the other columns: without it other rows are best.
GOOD = (3 * RNG.random(ROWS)).round(3)
PLAIN = {"post": [f"p{row}" for row in range(ROWS)], "n1": RNG.random(ROWS).round(4), "n2": RNG.random(ROWS).round(4)}


def good(cells: Any) -> dict[str, Any]:
    return {**PLAIN, "good": cells}


def with_cells(cells: Any, others: dict[int, Any]) -> list[Any]:
    made = list(cells)
    for row, cell in others.items():
        made[row] = cell
    return made


TEXT = [str(cell) for cell in GOOD]
#: For each table its cells, the expected warning, and its evaluators; None if it is refused.
TABLES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str] | None]] = {
    "a word among numbers": (good(with_cells(TEXT, {7: "timeout"})), {}, ["n1", "n2", "good"]),
    "a word for missing, late": (good(with_cells(GOOD.tolist(), {1200: "N/A", 1300: "gone"})), {}, ["n1", "n2", "good"]),
    "decimal commas": (good([f"{cell:.2f}".replace(".", ",") for cell in GOOD]), {}, ["n1", "n2", "good"]),
    "shares": (good([f"{cell * 100 / 3:.1f}%" for cell in GOOD]), {}, ["n1", "n2", "good"]),
    "grades": (good([str(int(cell * 5 / 3) + 1) for cell in GOOD]), {}, ["n1", "n2", "good"]),
    "own words for missing": (good(with_cells(TEXT, {row: "k.A." for row in range(0, ROWS, 3)})), {"na": "k.A."}, ["n1", "n2", "good"]),
    "a comma, as was said": (
        {"post": PLAIN["post"], **{name: [f"{cell:.3f}".replace(".", ",") for cell in cells + 1] for name, cells in good(GOOD).items() if name != "post"}},
        {"decimal": ","}, ["n1", "n2", "good"],
    ),
    "thousands or decimals": (good([f"{int(cell * 3000) + 1000:,}" for cell in GOOD]), {}, ["n1", "n2"]),
    "too many words": (good(with_cells(TEXT, {row: "weg" for row in range(0, ROWS, 4)})), {}, None),
    "more words than numbers": (good(with_cells(TEXT, {row: "weg" for row in range(ROWS) if row % 3})), {}, ["n1", "n2"]),
    "whole floats that name things": (good((GOOD.argsort() + 1000.0).tolist()), {}, ["n1", "n2"]),
    "decimals that name things": (good([Decimal(int(cell)) for cell in GOOD.argsort() + 1000]), {}, ["n1", "n2"]),
    "names that are very large": (good([2**63 + 7 * int(cell) for cell in GOOD.argsort()]), {}, ["n1", "n2"]),
    "names as text": (good([str(cell) for cell in GOOD.argsort() + 1000]), {}, ["n1", "n2"]),
    "nothing at first": (good(with_cells([None] * ROWS, {1400: "0.5"})), {}, ["n1", "n2"]),
    "numbers, and none at first": (good([None] * 1100 + GOOD[1100:].tolist()), {}, ["n1", "n2"]),
    "nothing at all": (good([None] * ROWS), {}, ["n1", "n2"]),
    "yes all the way down": (good([True] * ROWS), {}, ["n1", "n2"]),
    "yes and no": (good((GOOD > 1).tolist()), {}, ["n1", "n2", "good"]),
}


def of_one_type(columns: dict[str, Any]) -> pa.Table:
    """The rows for libraries without mixed columns: as text, like CSV."""
    made = {}
    for name, cells in columns.items():
        kinds = {type(cell) for cell in cells if cell is not None}
        mixed = len(kinds) > 1
        large = kinds == {int} and max(cells) >= 1 << 63
        made[name] = pa.array([None if cell is None else str(cell) for cell in cells] if mixed else cells, type=pa.uint64() if large else None)
    return pa.table(made)


def to_csv(columns: dict[str, Any], folder: Path) -> Path:
    pd.DataFrame(columns).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def to_jsonl(columns: dict[str, Any], folder: Path) -> Path:
    frame = pd.DataFrame({name: [float(cell) if isinstance(cell, Decimal) else cell for cell in cells] for name, cells in columns.items()})
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)
    return folder / "rows.jsonl"


def to_parquet(columns: dict[str, Any], folder: Path) -> Path:
    pa.parquet.write_table(of_one_type(columns), folder / "rows.parquet", row_group_size=400)
    return folder / "rows.parquet"


def to_relation(columns: dict[str, Any], folder: Path) -> Any:
    table = of_one_type(columns)
    relation = duckdb.from_arrow(table)
    whole = pa.types.is_decimal(table["good"].type) or pa.types.is_uint64(table["good"].type)
    return relation.project("* replace (good::hugeint as good)") if whole else relation


SOURCES: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "CSV": to_csv,
    "JSON lines": to_jsonl,
    "Parquet": to_parquet,
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "pandas, by pyarrow": lambda columns, _: of_one_type(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, categories": lambda columns, _: pd.DataFrame(columns).assign(good=lambda frame: frame["good"].astype("category")),
    "polars": lambda columns, _: pl.from_arrow(of_one_type(columns)),
    "polars, in chunks": lambda columns, _: pl.concat([pl.from_arrow(of_one_type(columns)).slice(at, 100) for at in range(0, ROWS, 100)], rechunk=False),
    "pyarrow": lambda columns, _: of_one_type(columns),
    "DuckDB": to_relation,
    "reader": lambda columns, _: of_one_type(columns).to_reader(max_chunksize=300),
}  # fmt: skip


def judged(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The result, or the code and column of the error; and the warnings without paths."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = work()
        except jb.Error as error:
            found = (error.code, error.column)
    said = [str(one.message).replace('"', "") for one in told if issubclass(one.category, jb.DataWarning)]
    said = [re.sub(r"^.*?(?=,? column|: column)", "", line) for line in said]
    return found, [re.sub(r" \((line|row) \d+\)", "", line) for line in said]


def best(rows: Any) -> list[str]:
    return rows["post"].to_pylist() if isinstance(rows, pa.Table) else list(rows["post"])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("table", TABLES)
def test_the_same_rows_are_judged_alike(table: str, source: str, tmp_path: Path) -> None:
    columns, said, evaluators = TABLES[table]
    if source == "pandas, categories" and table in ("nothing at first", "nothing at all", "yes all the way down", "yes and no"):
        pytest.skip("categories of these are no columns of a CSV")
    rows = lambda: SOURCES[source](columns, tmp_path)  # noqa: E731
    plain = to_csv(columns, tmp_path)
    wanted = judged(lambda: jb.learn(plain, id="post", **said).evaluators)
    assert wanted[0] == (evaluators or ("odd-cells", "good"))
    assert judged(lambda: jb.learn(rows(), id="post", **said).evaluators) == wanted
    wanted = judged(lambda: best(jb.rank(plain, k=20, id="post", **said)))
    assert judged(lambda: best(jb.rank(rows(), k=20, id="post", **said))) == wanted
