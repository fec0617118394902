"""Damaged Arrow arrays: wrong encodings and wild offsets are refused or cleaned, and never crash.

Every case runs in this process, so a crash ends the tests.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jurybox as jb

ROWS = 40
#: The first row that is not ASCII; the cells are in latin-1.
BAD = 20
CELLS = [f"gr{'ü' if row >= BAD else 'u'}n{row}".encode("latin-1") for row in range(ROWS)]
LONG = [cell + b" and so on, for longer than a view has room" for cell in CELLS]
MADE = np.random.default_rng(3)
SCORES = {"spam": MADE.uniform(size=ROWS), "abuse": MADE.uniform(size=ROWS)}
VERDICT = {"verdict": (SCORES["spam"] > 0.5).astype(float), "p": np.full(ROWS, 0.5)}


def as_text(cells: list[bytes], kind: pa.DataType) -> pa.Array:
    """Bytes declared as text, without a check."""
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    array = pa.array(cells, binary)
    return pa.Array.from_buffers(kind, len(array), array.buffers())


def in_a_dictionary(cells: list[bytes]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(cells)), pa.int32()), as_text(cells, pa.string()))


def in_a_struct(cells: list[bytes]) -> pa.Array:
    return pa.StructArray.from_arrays([as_text(cells, pa.string())], ["name"])


def in_a_list(cells: list[bytes]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(cells) + 1), pa.int32()), as_text(cells, pa.string()))


#: Text columns.
PLAIN = {
    "utf8": lambda: as_text(CELLS, pa.string()),
    "large utf8": lambda: as_text(CELLS, pa.large_string()),
    "view": lambda: as_text(CELLS, pa.string_view()),
    "long view": lambda: as_text(LONG, pa.string_view()),
    "slice": lambda: as_text([b"\xff"] * 3 + CELLS + [b"\xff"], pa.string()).slice(3, ROWS),
    "with nulls": lambda: pa.concat_arrays([pa.nulls(2, pa.string()), as_text(CELLS, pa.string())]).slice(2),
}  # fmt: skip
INSIDE: dict[str, Callable[[], pa.Array]] = {
    "dictionary": lambda: in_a_dictionary(CELLS),
    "struct": lambda: in_a_struct(CELLS),
    "list": lambda: in_a_list(CELLS),
}


def table(name: pa.Array) -> pa.Table:
    return pa.table({"name": name, **SCORES, **VERDICT})


def refused(call: Callable[[], Any], row: int | None) -> None:
    with pytest.raises(jb.Error, match="column `name`: not valid UTF-8") as caught:
        call()
    assert (caught.value.code, caught.value.column, caught.value.row) == ("not-utf8", "name", row)


@pytest.mark.parametrize("kind", PLAIN)
def test_text_that_is_used_is_refused_by_its_row(kind: str) -> None:
    rows = table(PLAIN[kind]())
    jury = jb.Jury(["spam", "abuse"])
    row = BAD + 1
    refused(lambda: jb.pick(rows, k=3, id="name", state=jury, ignore=["verdict", "p"]), row)
    assert jury.seen["items"] == 0
    refused(lambda: jb.prevalence(rows, reward="verdict", probability="p", by="name", evaluators=["spam", "abuse"]), row)
    refused(lambda: jb.rank(rows, k=3, group="name", policy="average", ignore=["verdict", "p"]), row)
    refused(lambda: jb.rank(rows, k=3, evaluators=["name"], policy="average"), row)
    refused(lambda: jb.learn(rows, reward="verdict", id="name", ignore="p"), row)
    refused(lambda: jb.replay(rows, reward="verdict", id="name", ignore="p", items=5, k=1, runs=1), row)
    refused(lambda: jb.Rows.from_arrow(rows), row)
    refused(lambda: jb.rank(rows.to_reader(), k=3, evaluators=["spam"], policy="average"), row)
    grades = pa.table({"name": PLAIN[kind](), "judge": ["a", "b"] * (ROWS // 2), "grade": SCORES["spam"]})
    refused(lambda: jb.rank(grades, k=3, long=("name", "judge", "grade"), policy="average"), row)
    # Rows count across batches.
    halves = pa.Table.from_batches([*rows.slice(0, 7).to_batches(), *rows.slice(7).to_batches()])
    refused(lambda: jb.pick(halves, k=3, id="name", state=jury, ignore=["verdict", "p"]), row)


@pytest.mark.parametrize("kind", INSIDE)
def test_text_inside_of_something_else_is_refused(kind: str) -> None:
    rows = table(INSIDE[kind]())
    refused(lambda: jb.Rows.from_arrow(rows), None)
    refused(lambda: jb.rank(rows.to_reader(), k=3, evaluators=["spam"], policy="average"), None)
    if kind == "dictionary":
        refused(lambda: jb.pick(rows, k=3, id="name", state=jb.Jury(["spam", "abuse"]), ignore=["verdict", "p"]), None)
        refused(lambda: jb.prevalence(rows, reward="verdict", probability="p", by="name", evaluators=["spam", "abuse"]), None)


@pytest.mark.parametrize("kind", [*PLAIN, *INSIDE])
def test_a_column_that_is_not_used_need_not_be_text(kind: str) -> None:
    name = {**PLAIN, **INSIDE}[kind]()
    rows = table(name).append_column("post", pa.array(range(ROWS)))
    whole = rows.drop_columns(["name"])
    asked = {"k": 3, "policy": "average", "ignore": ["verdict", "p", "post"]}
    best = jb.rank(rows, **asked)
    assert best["post"].equals(jb.rank(whole, **asked)["post"])
    if kind in PLAIN:
        cells = LONG if kind == "long view" else CELLS
        assert best["name"].cast(pa.large_binary()).to_pylist() == [cells[row] for row in best["post"].to_pylist()]
    picks = jb.pick(rows, k=3, id="post", state=jb.Jury(["spam", "abuse"]), ignore=["verdict", "p"])
    assert len(picks) == 3
    assert jb.learn(rows, reward="verdict", ignore=["p", "post"]).to_json() == jb.learn(whole, reward="verdict", ignore=["p", "post"]).to_json()


def test_a_file_in_latin_1_is_refused_by_every_road(tmp_path: Any) -> None:
    binary = table(pa.array(CELLS, pa.binary()))
    path = tmp_path / "latin.parquet"
    # As programs write it that ignore encodings: latin-1 bytes in a text column.
    pq.write_table(binary.set_column(0, "name", as_text(CELLS, pa.string())), path)
    read = pq.read_table(path)
    for rows in (path, read, read.to_batches()[0], read.to_reader(), pl.scan_parquet(path)):
        with pytest.raises((jb.Error, pl.exceptions.ComputeError)):
            jb.pick(rows, k=3, id="name", state=jb.Jury(["spam", "abuse"]), ignore=["verdict", "p"])


def test_pandas_over_arrow() -> None:
    for kind in (pa.string(), pa.large_string()):
        text = pd.arrays.ArrowExtensionArray(as_text(CELLS, kind))
        frame = pd.DataFrame({"name": text, **SCORES, **VERDICT, "post": range(ROWS)})
        for chunks in (frame, pd.concat([frame.iloc[:7], frame.iloc[7:]])):
            jury = jb.Jury(["spam", "abuse"])
            with pytest.raises(jb.Error, match="column `name`") as caught:
                jb.pick(chunks, k=3, id="name", state=jury, ignore=["verdict", "p", "post"])
            assert (caught.value.code, caught.value.column) == ("not-utf8", "name")
            assert jb.rank(chunks, k=3, policy="average", ignore=["verdict", "p", "post"])["post"].tolist() == [
                *jb.rank(frame.drop(columns="name"), k=3, policy="average", ignore=["verdict", "p", "post"])["post"]
            ]


def with_null(kind: pa.DataType) -> pa.Array:
    """Three cells of text, the second missing, with bytes under it that are not UTF-8."""
    array = as_text([b"a", b"\xff\xfe", b"c"], kind)
    return pa.Array.from_buffers(kind, 3, [pa.py_buffer(bytes([0b101])), *array.buffers()[1:]])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_bytes_under_a_missing_cell_are_cleaned(kind: pa.DataType) -> None:
    rows = pa.table({"name": with_null(kind), "spam": [0.1, 0.2, 0.3]})
    held = jb.Rows.from_arrow(rows)
    assert held["name"] == ["a", None, "c"]
    # Not even readers that ignore missing cells find the bytes.
    chunk = held.to_arrow()["name"].chunk(0)
    assert not any(b"\xff\xfe" in buffer.to_pybytes() for buffer in chunk.buffers()[1:] if buffer is not None)
    assert jb.rank(rows, k=3, group="name", policy="average", evaluators="spam").num_rows == 3


def test_bytes_under_a_missing_cell_are_cleaned_inside_lists() -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3, 3], pa.int32()), with_null(pa.string()))
    rows = pa.table({"names": lists, "spam": [0.1, 0.2, 0.3]})
    assert jb.Rows.from_arrow(rows)["names"] == [["a"], [None, "c"], []]
    assert jb.Rows.from_arrow(rows.slice(1))["names"] == [[None, "c"], []]


def offsets(places: list[int], bytes_: bytes = b"abc") -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(places) - 1, [None, pa.py_buffer(np.array(places, np.int32)), pa.py_buffer(bytes_)])


#: Arrays that pyarrow accepts, because it checks only the first and last offset.
UNSOUND: dict[str, Callable[[], pa.Array]] = {
    "back and forth": lambda: offsets([0, 3, 1, 3]),
    "far and back": lambda: offsets([0, 1 << 30, 2, 3]),
    "half of a letter": lambda: offsets([0, 1, 2, 3], "aü".encode()),
    "key beyond the dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1, 900], pa.int32()), pa.array(["a", "b"]), safe=False),
    "key below zero": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1, -7], pa.int32()), pa.array(["a", "b"]), safe=False),
    "view of no buffer": lambda: pa.Array.from_buffers(pa.string_view(), 3, [None, pa.py_buffer(np.array([20, 0, 9, 0] * 3, np.int32))]),
    "list that goes back": lambda: pa.Array.from_buffers(
        pa.list_(pa.int64()), 3, [None, pa.py_buffer(np.array([0, 1 << 20, 2, 3], np.int32))], children=[pa.array([1, 2, 3])]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNSOUND)
def test_what_points_nowhere_is_refused(kind: str) -> None:
    rows = pa.table({"name": UNSOUND[kind](), "spam": [0.1, 0.2, 0.3]})
    calls = [
        lambda: jb.pick(rows, k=1, id="name", state=jb.Jury(["spam"])),
        lambda: jb.rank(rows, k=1, group="name", policy="average", evaluators="spam"),
        lambda: jb.Rows.from_arrow(rows),
        lambda: jb.rank(rows.to_reader(), k=1, policy="average", evaluators="spam"),
    ]  # fmt: skip
    for call in calls[2:] if "list" in kind else calls:
        with pytest.raises(jb.Error) as caught:
            call()
        assert caught.value.code in ("arrow", "not-utf8") and "name" in str(caught.value)


@pytest.mark.parametrize("kind", UNSOUND)
def test_what_is_not_used_is_refused_before_anybody_follows_it(kind: str) -> None:
    rows = pa.table({"name": UNSOUND[kind](), "spam": [0.1, 0.2, 0.3], "post": [1, 2, 3]})
    calls = (lambda: jb.rank(rows, k=3, policy="average", ignore="post"), lambda: jb.pick(rows, k=3, id="post", state=jb.Jury(["spam"])))
    for call in calls:
        if kind == "half of a letter":
            assert call().num_rows == 3
            continue
        with pytest.raises(jb.Error, match="column `name` is damaged") as caught:
            call()
        assert (caught.value.code, caught.value.column) == ("arrow", "name")


def test_sound_arrays_of_every_kind_come_through() -> None:
    inner = pa.StructArray.from_arrays([pa.array(range(9)), pa.array([f"é{n}" for n in range(9)])], ["n", "text"])
    outer = pa.StructArray.from_arrays([inner, pa.array([[n] for n in range(9)])], ["inner", "list"])
    arrays = {
        "struct": outer,
        "list": pa.ListArray.from_arrays(pa.array(range(10), pa.int32()), inner),
        "large": pa.array([["ü", None]] * 9, pa.large_list(pa.string())),
        "fixed": pa.FixedSizeListArray.from_arrays(pa.array([f"ß{n}" for n in range(18)]), 2),
        "fixed structs": pa.FixedSizeListArray.from_arrays(pa.concat_arrays([outer, outer]), 2),
        "map": pa.array([[("k", n)] for n in range(9)], pa.map_(pa.string(), pa.int64())),
        "words": pa.array(["ä", "b", "ä"] * 3).dictionary_encode(),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([4, 9], pa.int32()), pa.array(["ö", "b"])),
        "view": pa.array(["ü" * (n * 3) for n in range(9)], pa.string_view()),
        "flags": pa.array([True, None, False] * 3),
        "nothing": pa.nulls(9),
        "decimal": pa.array([1, 2, 3] * 3, pa.decimal128(9, 2)),
        "moment": pa.array(range(9), pa.timestamp("us", "UTC")),
    }
    rows = pa.table({**arrays, "spam": np.arange(9) / 9})
    for part in (rows, rows.slice(4, 4), rows.slice(9), pa.concat_tables([rows.slice(1, 3), rows.slice(5, 2)])):
        held = jb.Rows.from_arrow(part)
        assert held.to_dict() == jb.Rows.from_arrow(pa.table({name: pa.array(part[name].to_pylist(), part[name].type) for name in part.column_names})).to_dict()
        assert pickle.loads(pickle.dumps(held)).to_dict() == held.to_dict()
        if len(part):
            best = jb.rank(part.to_reader(), k=1, policy="average", evaluators="spam").to_dict()
            assert best["struct"][0]["inner"]["n"] == part["struct"][-1].as_py()["inner"]["n"]
