"""Roles of a frame's columns: told by their cells, logged where columns are not used, and kept
in output files."""

from __future__ import annotations

import csv
import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import run

import jurybox as jb

SPAM = [0.9, 0.2, 0.8, 0.5]
ABUSE = [0.1, 0.3, 0.9, 0.5]


def posts() -> pd.DataFrame:
    return pd.DataFrame({
        "post": ["a", "b", "c", "d"], "text": ["hi, there", 'say "no"', "three\nlines", None], "shown": [True, False, True, True],
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-04"]), "spam": SPAM, "abuse": ABUSE,
    })  # fmt: skip


KINDS = {
    "pandas": lambda frame: frame,
    "pandas, by pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("all_rows", [False, True])
def test_a_file_of_results_holds_whole_rows(kind: str, all_rows: bool, tmp_path: Path) -> None:
    frame = KINDS[kind](posts())
    weights = {"spam": 1.0, "abuse": 1.0}
    jb.rank(frame, k=2, weights=weights, ignore=["shown"], out=tmp_path / "out.csv", all=all_rows)
    found = list(csv.DictReader((tmp_path / "out.csv").open(newline="")))
    assert list(found[0]) == [*([] if all_rows else ["rank"]), "score", "post", "text", "shown", "day", "spam", "abuse"]
    best = {row["post"]: row for row in found}["c"]
    assert (best["text"], best["shown"].lower(), best["day"], best["spam"]) == ("three\nlines", "true", "", "0.8")
    # As the command has it.
    posts().to_csv(tmp_path / "posts.csv", index=False)
    run("rank", tmp_path / "posts.csv", "-k", 2, "--weights", "spam=1,abuse=1", "--ignore", "shown", "--quiet", "--out", tmp_path / "own.csv")
    own = list(csv.DictReader((tmp_path / "own.csv").open(newline="")))
    if not all_rows:
        assert [(row["post"], row["text"], row["score"]) for row in own] == [(row["post"], row["text"], row["score"]) for row in found]
    jb.rank(frame, k=2, weights=weights, ignore=["shown"], out=tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["shown"].to_pylist() == [True, True]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_picks_holds_whole_rows(kind: str, tmp_path: Path) -> None:
    frame, jury = KINDS[kind](posts()), jb.Jury(["spam", "abuse"])
    picks = jb.pick(frame, 2, id="post", state=jury, out=tmp_path / "picks.jsonl")
    found = [json.loads(line) for line in (tmp_path / "picks.jsonl").read_text().splitlines()]
    expected = picks["text"].to_pylist() if isinstance(picks, pa.Table) else list(picks["text"])
    assert [row["text"] for row in found] == [None if text != text else text for text in expected]
    assert all(row["shown"] in (True, False) for row in found)


def test_numbers_stay_what_they_are_in_a_file(tmp_path: Path) -> None:
    large = 2**63 + 5
    frame = pd.DataFrame({
        "votes": pd.array([3, None, 3], dtype="Int64"), "seen": pd.array([large, 7, 7], dtype="UInt64"), "marks": pd.Series([2, None, 2], dtype=object),
        "flag": pd.array([True, None, False], dtype="boolean"), "spam": [0.5, 0.25, 0.75],
    })  # fmt: skip
    jb.rank(frame, k=1, weights={"votes": 1.0, "marks": 1.0}, evaluators=["votes", "marks", "flag", "spam"], out=tmp_path / "out.csv", all=True)
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["5.0,3,9223372036854775813,2,true,0.5", ",,7,,,0.25", "5.0,3,7,2,false,0.75"]


def test_types_that_arrow_does_not_have(tmp_path: Path) -> None:
    wide = pl.Series("votes", [3, 1, 3, 2], dtype=pl.Int128)
    frame = pl.DataFrame({"spam": SPAM, "thing": pl.Series([object()] * 4, dtype=pl.Object)}).with_columns(wide, other=wide, nothing=None)
    evaluators = ["spam", "votes"]
    best = jb.rank(frame, k=1, weights={"votes": 1.0, "spam": 1.0}, evaluators=evaluators, out=tmp_path / "out.jsonl")
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert (row["score"], row["other"], row["nothing"]) == (3.9, "3", None) and best["score"].to_list() == [3.9]
    assert jb.rank(frame, k=1, weights={"votes": 1.0, "spam": 1.0}, evaluators=evaluators)["score"].to_list() == [3.9]
    with pytest.raises(jb.Error) as caught:
        jb.rank(pl.DataFrame({"spam": [], "abuse": []}), k=1, evaluators=["spam"])
    assert caught.value.code == "no-rows"


@pytest.mark.parametrize(
    "cells",
    [
        [0.9, None, 0.8, 0.5],
        [Decimal("0.9"), Decimal("0.2"), None, Decimal("0.5")],
        [1, 0.5, 0, 1],
        [Decimal("0.9"), 0.2, 1, None],
        [True, 0.5, None, False],
        [1, 0, None, 1],
    ],
    ids=["floats", "decimals", "whole and broken", "of all kinds", "flags", "whole"],
)
def test_objects_that_are_numbers_are_scores(cells: list[object], tmp_path: Path) -> None:
    frame = pd.DataFrame({"post": list("abcd"), "abuse": ABUSE, "spam": pd.Series(cells, dtype=object)})
    found = jb.rank(frame, k=4, explain=True, policy="average")
    assert "by_spam" in found.columns
    plain = frame.assign(spam=[np.nan if cell is None else float(cell) for cell in cells])
    assert found["post"].tolist() == jb.rank(plain, k=4, policy="average")["post"].tolist()
    frame.to_csv(tmp_path / "posts.csv", index=False)
    assert found["post"].tolist() == jb.rank(tmp_path / "posts.csv", k=4, policy="average")["post"]


def test_objects_that_are_names_are_none() -> None:
    numbers = pd.Series(list(range(1001, 1021)), dtype=object)
    frame = pd.DataFrame({"number": numbers, "spam": np.linspace(0, 1, 20), "abuse": np.linspace(0, 2, 20)})
    assert not {"by_number"} & set(jb.rank(frame, k=1, explain=True, policy="average").columns)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_as_text_are_scores(kind: str, tmp_path: Path) -> None:
    plain = posts().assign(risk=["0.5", "0.25", "n/a", "1"], zip=["01234", "99999", "10115", "10117"])
    plain.to_csv(tmp_path / "posts.csv", index=False)
    for data in (KINDS[kind](plain), tmp_path / "posts.csv"):
        assert jb.learn(data, ignore="shown").evaluators == ["spam", "abuse", "risk"]
        assert jb.learn(data, ignore=["shown", "risk"]).evaluators == ["spam", "abuse"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["score", "value", "probability"])
def test_a_column_named_as_ours_is_told_of(kind: str, name: str, tmp_path: Path) -> None:
    plain = posts().assign(**{name: ABUSE})
    with pytest.warns(jb.DataWarning, match=f"`{name}` is not taken for an evaluator"):
        jb.rank(KINDS[kind](plain), k=1)
    plain.to_csv(tmp_path / "posts.csv", index=False)
    with pytest.warns(jb.DataWarning, match=f"`{name}` is not taken for an evaluator"):
        jb.rank(tmp_path / "posts.csv", k=1)
    # Named as evaluators, named as ignored, and columns of an earlier ranking.
    jb.rank(KINDS[kind](plain), k=1, evaluators=["spam", name])
    jb.rank(KINDS[kind](plain), k=1, ignore=name)
    jb.rank(jb.rank(KINDS[kind](posts()), k=3), k=1)


def test_other_columns_are_logged(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    posts().to_csv(tmp_path / "posts.csv", index=False)
    said = []
    for data in (posts(), pl.from_pandas(posts()), tmp_path / "posts.csv"):
        with caplog.at_level(logging.INFO, logger="jurybox"):
            caplog.clear()
            jb.rank(data, k=1)
        said.append(next(line for line in caplog.messages if line.startswith("Scores: ")))
    assert all("post" in line and "text" in line for line in said), said


def test_whole_numbers_are_the_same_ids_as_floats() -> None:
    rows = pd.DataFrame({"post": [1183, 1184, 1185], "spam": [0.9, 0.5, 0.1], "abuse": [0.1, 0.2, 0.9]})
    for verdicts in (
        pd.DataFrame({"post": [1183.0], "verdict": [1.0]}),
        pl.DataFrame({"post": [1183.0], "verdict": [1.0]}),
        duckdb.sql("select 1183::double as post, 1.0 as verdict"),
    ):
        jury = jb.Jury(["spam", "abuse"], "lin-ucb")
        picks = jb.pick(rows, 3, id="post", state=jury)
        jb.learn(picks=picks, verdicts=verdicts, id="post", reward="verdict", state=jury)
        assert jury.seen["used"] == 1


def test_another_order_of_bytes_fails_neither_early_nor_late() -> None:
    foreign = np.array([1.5, 2.5, 3.5, 4.5], dtype=">f8")
    frame = posts().assign(weight=foreign, spam=np.array(SPAM, dtype=">f4"))
    jury = jb.Jury(["spam", "abuse"])
    picks = jb.pick(frame, 2, id="post", state=jury)
    assert len(picks) == 2 and jury.seen["items"] == 4
    assert jb.rank(frame, k=1, weights={"spam": 1.0}, ignore=["weight", "shown", "abuse"])["weight"].tolist() == [1.5]


def test_complex_numbers_are_refused() -> None:
    frame = posts().assign(phase=np.array([1 + 2j, 2, 3, 4]))
    with pytest.raises(jb.Error) as caught:
        jb.rank(frame, k=1, evaluators=["spam", "phase"])
    assert (caught.value.column, caught.value.row) == ("phase", 1)
    jb.rank(frame, k=1)  # kept in the result
    with pytest.raises(jb.Error, match="complex"):
        jb.Jury(["spam"]).round(np.array([[1 + 2j]]), 1)
    with pytest.raises(jb.Error, match="not a number"):
        jb.Jury(["spam"]).round(np.array([[np.complex128(1)]], dtype=object), 1)
    with pytest.raises(jb.Error, match="not a number"):
        jb.Jury(["spam"]).round(np.array([[np.timedelta64(1, "s")]], dtype=object), 1)


LONG = pd.DataFrame({
    "answer": ["x", "x", "y", None, "y", "y"], "judge": ["gpt", "claude", "gpt", "gpt", "gpt", ""], "grade": ["4/5", "2/5", "1/5", "5/5", "3/5", "1/5"],
    "topic": ["law", None, None, "law", "art", "art"],
})  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_wide_is_what_long_makes(kind: str, tmp_path: Path) -> None:
    with pytest.warns(jb.DataWarning) as told:
        wide = jb.wide(KINDS[kind](LONG), item="answer", evaluator="judge", score="grade")
    messages = [str(one.message) for one in told]
    assert [any(word in message for message in messages) for word in ("without an item or an evaluator", "repeated grades")] == [True, True]
    LONG.to_csv(tmp_path / "grades.csv", index=False)
    with pytest.warns(jb.DataWarning):
        jb.rank(tmp_path / "grades.csv", k=5, long="answer,judge,grade", policy="average", all=True, out=tmp_path / "long.csv")
    expected = pd.read_csv(tmp_path / "long.csv")
    found = wide.to_pandas() if not isinstance(wide, pd.DataFrame) else wide
    for name in ("answer", "topic", "gpt", "claude"):
        assert found[name].astype(object).where(found[name].notna(), None).tolist() == expected[name].astype(object).where(expected[name].notna(), None).tolist(), name


def test_streams_and_grades_that_were_picked_from_are_refused() -> None:
    rows = pl.DataFrame({"id": [f"p{row}" for row in range(60)], "a": [row * 7 % 60 / 60 for row in range(60)], "b": [row * 11 % 60 / 60 for row in range(60)]})
    jury = jb.Jury(["a", "b"])
    jb.pick(rows, k=5, id="id", state=jury)
    back = rows.with_columns(v=pl.Series([row % 2 for row in range(60)])).to_arrow()
    for given in (back.to_reader(), jb.Rows.from_arrow(back)):
        with pytest.raises(jb.Error) as caught:
            jb.learn(given, reward="v", id="id", state=jury)
        assert caught.value.code == "picked-from" and jury.seen["items"] == 60
    assert jb.learn(back.to_reader(), reward="v", id="id", state=jury, again=True).seen["items"] == 120


def test_a_frame_whose_rows_cannot_be_taken_leaves_the_jury_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    views = pa.table(pl.from_pandas(posts()))
    assert any(str(type_) == "string_view" for type_ in views.schema.types)
    jury = jb.Jury(["spam", "abuse"])
    picks = jb.pick(views, k=2, id="post", state=jury, ignore=["shown"])
    assert picks["post"].to_pylist() == jb.pick(posts(), k=2, id="post", state=jb.Jury(["spam", "abuse"]), ignore=["shown"])["post"].tolist()

    def fails(*_: object) -> None:
        raise RuntimeError("no rows")

    jury, file = jb.Jury(["spam", "abuse"]), tmp_path / "s.json"
    monkeypatch.setattr("jurybox._frames.Pandas.take", fails)
    for state in (jury, file):
        with pytest.raises(RuntimeError, match="no rows"):
            jb.pick(posts(), k=2, id="post", state=state, ignore=["shown"])
    assert jury.seen["items"] == 0 and not file.exists()


def test_rows_without_ids_are_warned_of_where_a_state_has_picked() -> None:
    jury = jb.Jury(["spam", "abuse"])
    jb.pick(posts(), k=2, id="post", state=jury, ignore=["shown"])
    judged = posts().assign(found=[1, 0, 1, 0])
    with pytest.warns(jb.DataWarning, match="count twice"):
        jb.learn(judged, reward="found", state=jury, ignore=["shown", "post"])


def test_a_damaged_pickle_of_rows_is_refused() -> None:
    whole = jb.Rows.from_arrow(pl.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}).to_arrow()).__reduce__()[1][0]
    assert jb.Rows._from_bytes(whole).to_dict() == {"a": [1.5, 2.5], "b": ["x", "y"]}
    for at in range(len(whole)):
        with pytest.raises(jb.Error, match="rows are damaged"):
            jb.Rows._from_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])


def test_frames_that_were_picked_from_are_refused() -> None:
    rows = pl.DataFrame({"id": list(range(100, 160)), "a": [row * 7 % 60 / 60 for row in range(60)], "b": [row * 11 % 60 / 60 for row in range(60)]})
    jury = jb.Jury(["a", "b"])
    jb.pick(rows, k=5, id="id", state=jury)
    back = rows.with_columns(v=pl.Series([row % 2 for row in range(60)])).sample(fraction=1, shuffle=True, seed=3)
    for given in (back, back.to_pandas(), back.to_arrow(), back.lazy(), duckdb.from_arrow(back.to_arrow())):
        with pytest.raises(jb.Error) as caught:
            jb.learn(given, reward="v", id="id", state=jury)
        assert caught.value.code == "picked-from" and jury.seen["items"] == 60
    assert jb.learn(back, reward="v", id="id", state=jury, again=True).seen["items"] == 120


#: Two ways to store a column, and a type that holds both.
TYPES = {
    "whole and broken": ([1, 3], [1.5, 0.5], pa.float64()),
    "widths": (pa.array([1, 3], pa.int8()), pa.array([7, 5], pa.uint16()), pa.int64()),
    "no sign": (pa.array([1, 3], pa.int64()), pa.array([2**63, 5], pa.uint64()), pa.string()),
    "text": (pa.array(["x", "y"]), pa.array(["z", None], pa.large_string()), pa.string()),
    "categories": (pa.array(["x", "y"]).dictionary_encode(), pa.array(["z", None]), pa.string()),
    "units": (pa.array([1, 2], pa.timestamp("ms")), pa.array([3, 4], pa.timestamp("ns")), pa.timestamp("ns")),
    "zones": (pa.array([1, 2], pa.timestamp("ms")), pa.array([3, 4], pa.timestamp("ms", "UTC")), pa.string()),
    "dates and times": (pa.array([1, 2], pa.date32()), pa.array([3, 4], pa.timestamp("ms")), pa.string()),
    "nothing": (pa.nulls(2), pa.array([3, 4]), pa.int64()),
    "text and numbers": (pa.array(["x", "y"]), pa.array([3, 4]), pa.string()),
}


@pytest.mark.parametrize("types", TYPES)
def test_rows_of_files_that_store_a_column_in_two_ways_are_one_table(types: str, tmp_path: Path) -> None:
    one, other, wide = TYPES[types]
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    pq.write_table(pa.table({"id": ["p1", "p2"], "spam": [0.25, 0.75], "cell": one}), files[0])
    pq.write_table(pa.table({"id": ["p3", "p4"], "spam": [0.5, 1.0], "cell": other}), files[1])
    for order in (files, files[::-1]):
        # Whichever row is best.
        for k in (1, 2, 4):
            found = jb.rank(order, k=k, evaluators=["spam"])
            assert len(found) == k and (k == 1 or found.to_arrow()["cell"].type == wide)
        jury = jb.Jury(["spam"], "average")
        picks = jb.pick(order, k=4, id="id", state=jury, evaluators=["spam"], out=tmp_path / "picks.jsonl")
        assert picks["id"] == ["p4", "p2", "p3", "p1"] and jury.seen["items"] == 4
        assert len((tmp_path / "picks.jsonl").read_text().splitlines()) == 4


def moments(zone: str | None = None) -> pd.DataFrame:
    days = pd.date_range("2026-03-28 22:30", periods=12, freq="15min", tz=zone)
    return pd.DataFrame({"at": days, "a": np.linspace(0, 1, 12) ** 2, "b": np.linspace(1, 0, 12) ** 3})


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_moments_are_the_same_ids_in_every_kind_of_table(zone: str | None, tmp_path: Path) -> None:
    frame = moments(zone)
    kinds = {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.Table.from_pandas(frame, preserve_index=False)}
    kinds["DuckDB"] = kinds["pyarrow"].to_reader()
    frame.to_csv(tmp_path / "moments.csv", index=False)
    kinds["polars"].write_csv(tmp_path / "polars.csv")
    kinds["polars"].write_parquet(tmp_path / "moments.parquet")
    frame.assign(at=frame["at"].map(lambda at: at.isoformat())).to_json(tmp_path / "moments.jsonl", orient="records", lines=True)
    kinds.update({name: tmp_path / name for name in ("moments.csv", "polars.csv", "moments.parquet", "moments.jsonl")})
    verdicts = frame[["at"]].assign(verdict=np.arange(12) % 2)
    verdicts.to_csv(tmp_path / "verdicts.csv", index=False)
    told = [verdicts, pl.from_pandas(verdicts), tmp_path / "verdicts.csv"]
    for kind, rows in kinds.items():
        jury = jb.Jury(["a", "b"], "lin-ucb")
        picks = jb.pick(rows, 12, id="at", state=jury)
        for verdict in told:
            after = jury.__copy__()
            jb.learn(picks=picks, verdicts=verdict, id="at", reward="verdict", state=after)
            assert after.seen["used"] == 12, (kind, type(verdict))


def test_bytes_are_the_same_ids_in_every_frame() -> None:
    frame = pd.DataFrame({"id": [bytes([row, 255]) for row in range(6)], "a": np.linspace(0, 1, 6) ** 2, "b": np.linspace(1, 0, 6) ** 3})
    verdicts = frame[["id"]].assign(verdict=1.0)
    for rows, told in ((frame, pl.from_pandas(verdicts)), (pl.from_pandas(frame), verdicts)):
        jury = jb.Jury(["a", "b"], "lin-ucb")
        picks = jb.pick(rows, 6, id="id", state=jury)
        jb.learn(picks=picks, verdicts=told, id="id", reward="verdict", state=jury)
        assert jury.seen["used"] == 6


def test_ids_that_stand_twice_in_a_round_are_told_of(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["p1", "p2", "p1", "p3"], "a": SPAM, "b": ABUSE})
    with pytest.warns(jb.DataWarning, match="2 rows share their id with another row: .*: p1"):
        jb.pick(frame, 2, id="id", state=jb.Jury(["a", "b"]))


def test_a_frame_with_none_of_the_evaluators_is_refused_in_the_same_words() -> None:
    jury = jb.Jury(["toxicity"])
    for kind in KINDS.values():
        for call in (lambda rows: jb.rank(rows, k=1, state=jury), lambda rows: jb.learn(rows, state=jury)):
            with pytest.raises(jb.Error) as caught:
                call(kind(posts()[["post", "spam"]]))
            assert caught.value.code == "none-of-the-evaluators"


def test_a_name_that_says_another_format_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(jb.Error, match="an Excel workbook, which cannot be written"):
        jb.rank(posts(), k=1, out=tmp_path / "best.xlsx")
    assert not (tmp_path / "best.xlsx").exists()


def test_columns_flags_and_numbers_are_no_tables_counts_and_picks() -> None:
    for series in (posts()["spam"], pl.Series(SPAM)):
        with pytest.raises(jb.Error, match="a single column, not a table"):
            jb.rank(series, k=1)
    with pytest.raises(jb.Error, match="k = True"):
        jb.rank(posts(), k=True)
    with pytest.raises(jb.Error, match="pick 0: 1 is not a dict"):
        jb.Picks.from_dicts([1])
    one, other = jb.Jury(["spam"]), jb.Jury(["spam"])
    one.observe([[0.5]], at=0)
    assert sum([one, other]).seen["items"] == 1
    with pytest.raises(TypeError):
        1 + one


@pytest.mark.parametrize("kind", [*KINDS, "csv"])
def test_ids_with_a_hole_or_a_repeat_stay_ids_and_that_is_said(kind: str, tmp_path: Path) -> None:
    draws = np.random.default_rng(3)
    whole = pd.DataFrame({"post": 1000 + 7 * np.arange(60), "spam": draws.uniform(size=60), "abuse": draws.uniform(size=60)})
    hole = whole.assign(post=whole["post"].where(whole.index != 20))  # floats, as pandas makes them
    twice = whole.assign(post=whole["post"].where(whole.index != 20, 1000))

    def evaluators(frame: pd.DataFrame) -> list[str]:
        if kind == "csv":
            frame.to_csv(tmp_path / "posts.csv", index=False)
            return jb.learn(tmp_path / "posts.csv", policy="esag").evaluators
        return jb.learn(KINDS[kind](frame), policy="esag").evaluators

    assert evaluators(whole) == ["spam", "abuse"]
    for frame, flaw in ((hole, "1 empty"), (twice, "1 repeated")):
        with pytest.warns(jb.DataWarning, match=rf"column `post` is not used as an evaluator: it looks like ids \({flaw}\)"):
            assert evaluators(frame) == ["spam", "abuse"]


def test_ids_that_pandas_made_floats_are_joined_to_the_whole_numbers_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame({"post": [7, 8, 9, 10], "spam": SPAM, "abuse": ABUSE})
    given = pd.DataFrame({"post": [7, 8, None, 10], "verdict": [1.0, 0.0, 1.0, 1.0]}).dropna()
    given.to_csv(tmp_path / "verdicts.csv", index=False)
    assert "7.0," in (tmp_path / "verdicts.csv").read_text()
    lin = jb.Jury(["spam", "abuse"], "lin-ucb")
    picks = jb.pick(frame, k=4, id="post", state=lin)
    jb.learn(picks=picks, verdicts=tmp_path / "verdicts.csv", id="post", reward="verdict", state=lin)
    assert lin.seen["used"] == 3


def test_what_breaks_the_guess_behind_the_first_256_kb_is_an_error_with_its_line(tmp_path: Path) -> None:
    # So wide that inspection ends long before row 1,000.
    begin = [f"{row},{row / 400},{'x' * 2000}" for row in range(1, 201)]
    late = [f"{row},high,{'x' * 2000}" for row in range(201, 401)]
    path = tmp_path / "posts.csv"
    path.write_text("\n".join(["post,spam,text", *begin, *late]) + "\n")
    with pytest.raises(jb.Error, match=r"`high` \(line 202\)") as caught:
        jb.rank(path, k=5, policy="average", id="post")
    assert (caught.value.column, caught.value.code) == ("spam", "odd-cells")


@pytest.mark.parametrize("kind", [pa.string_view(), pa.string()], ids=str)
def test_views_of_strings_can_be_picked_from(kind: pa.DataType) -> None:
    text = pd.Series(["a", "b", "c", "d"], dtype=pd.ArrowDtype(kind))
    abuse = [0.1, 0.3, 0.9, 0.4]  # of ABUSE the means of a and d are equal, and a draw would decide
    frame = pd.DataFrame({"post": text, "spam": SPAM, "abuse": abuse})
    frame.index = pd.Index([3, 1, 2, 0])
    picks = jb.pick(frame, k=2, id="post", state=jb.Jury(["spam", "abuse"], "average"))
    assert picks["post"].tolist() == ["c", "a"] and picks.index.tolist() == [2, 3]
    assert picks["post"].dtype == frame["post"].dtype
    assert picks.columns.tolist()[-3:] == ["post", "spam", "abuse"]
    assert jb.rank(frame, k=1, policy="average")["post"].tolist() == ["c"]


HALF = "half a letter: \ud83d"


@pytest.mark.parametrize("dtype", [object, "mixed"])
def test_half_a_letter_where_nobody_looks_stops_nothing(dtype: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["p1", "p2", "p3"], "a": [0.1, 0.9, 0.2], "b": [0.1, 0.8, 0.3]})
    text = pd.Series([HALF, "whole", None] if dtype is object else [HALF, ["list"], None], dtype=object)
    frame = frame.assign(text=text, other=text)
    frame.columns = pd.Index([*frame.columns[:-1], HALF], dtype=object)  # names are refused too
    best = jb.rank(frame, k=1, policy="average", ignore=["text"])
    assert best["id"].tolist() == ["p2"] and best.columns[-1] == HALF
    assert jb.rank(frame.iloc[[0]], k=1, policy="average")["text"].tolist() == [HALF]
    assert jb.pick(frame, k=2, id="id", state=jb.Jury(["a", "b"], "lin-ucb"))["id"].tolist() == ["p2", "p3"]
    jb.learn(frame.assign(verdict=[1.0, 0.0, 1.0]), reward="verdict", policy="lin-ucb")
    own = pl.DataFrame({"a": [0.1, 0.9], "b": [0.2, 0.8]}).with_columns(pl.Series("text", [HALF, object()], dtype=pl.Object))
    assert jb.rank(own.select("a", "b", "text"), k=1, policy="average", ignore="text")["a"].to_list() == [0.9]
    # It is refused where it is used, by its column and row.
    for call in (
        lambda: jb.pick(frame.iloc[::-1], k=1, id="text", state=jb.Jury(["a", "b"], "lin-ucb")),
        lambda: jb.rank(frame.iloc[::-1], k=1, group="text", policy="average"),
        lambda: jb.rank(frame.iloc[::-1, :-1], k=1, policy="average", out=tmp_path / "best.csv"),
    ):
        with pytest.raises(jb.Error, match="column `text`: row 3 has a lone surrogate") as caught:
            call()
        assert (caught.value.code, caught.value.column, caught.value.row) == ("not-utf8", "text", 3)
