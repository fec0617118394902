"""Common mistakes: wrong names, files without a format, lost types, and text with control
characters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb


@pytest.mark.parametrize("given", ["abc", 7, None, [1, 2], {"a": 1}.items()])
def test_evaluators_that_are_no_list_of_names(given) -> None:
    with pytest.raises(jb.Error, match="evaluators = .*: expected a list of names, such as") as refused:
        jb.Jury(given)
    assert refused.value.code == "names"
    with pytest.raises(jb.Error, match="expected a list of names"):
        jb.Jury(["a"]).set_evaluators(given)


def test_reviewers_that_are_no_list_of_names() -> None:
    with pytest.raises(jb.Error, match=r"names = 'ann': expected a list of names, such as \['ann'\]"):
        jb.Jury(["a"]).reviewers("ann")


@pytest.mark.parametrize("call", ["rank", "pick", "all"])
def test_a_file_whose_name_says_no_format_is_told_of(call: str, tmp_path) -> None:
    frame = pd.DataFrame({"post": ["x", "y", "z"], "a": [0.1, 0.9, 0.5], "b": [0.3, 0.4, 0.2]})
    out = tmp_path / "o.xyz"

    def work(out) -> None:
        if call == "pick":
            jb.pick(frame, 2, id="post", state=jb.Jury(["a", "b"]), out=out)
        else:
            jb.rank(frame, 2, policy="average", out=out, all=call == "all")

    with pytest.warns(jb.DataWarning, match=r"o.xyz: the name does not tell the format, so it is CSV; end it with .csv, .jsonl or .parquet"):
        work(out)
    work(tmp_path / "o.csv")
    assert out.read_bytes() == (tmp_path / "o.csv").read_bytes()


LONG = {"answer": [11, 11, 12, 12, 13], "judge": list("ababa"), "grade": [0.9, 0.4, 0.7, 0.8, 0.1], "topic": [1, 1, 2, 2, 3]}
DAYS = ["2026-01-01", "2026-01-01", "2026-01-02", "2026-01-02", "2026-01-03"]


@pytest.mark.parametrize("call", ["rank", "pick"])
@pytest.mark.parametrize("kind", ["int64", "Int64", "int64[pyarrow]", "float64", "category", "datetime", "polars", "polars dates", "pyarrow"])
def test_items_of_a_long_frame_keep_their_types(kind: str, call: str) -> None:
    frame = pd.DataFrame(LONG)
    if kind == "datetime":
        frame = frame.assign(answer=pd.to_datetime(DAYS))
    elif kind.startswith("polars"):
        frame = pl.DataFrame({**LONG, "answer": pl.Series(DAYS).str.to_date()} if kind == "polars dates" else LONG)
    elif kind == "pyarrow":
        frame = pa.table(LONG)
    else:
        frame = frame.astype({"answer": kind})
    if call == "rank":
        found = jb.rank(frame, 2, long="answer,judge,grade", policy="average", ignore="topic")
    else:
        found = jb.pick(frame, 2, long="answer,judge,grade", id="answer", ignore="topic", state=jb.Jury(["a", "b"], "average"))
    assert type(found) is type(frame)
    types = (lambda table: dict(zip(table.schema.names, table.schema.types, strict=True))) if kind == "pyarrow" else (
        lambda table: table.schema if isinstance(table, pl.DataFrame) else table.dtypes)
    assert types(found)["answer"] == types(frame)["answer"] and types(found)["topic"] == types(frame)["topic"]
    cells = frame["answer"].to_pylist() if kind == "pyarrow" else frame["answer"].to_list()
    best = found["answer"].to_pylist() if kind == "pyarrow" else found["answer"].to_list()
    assert best == [cells[2], cells[0]]
    topics = found["topic"].to_pylist() if kind == "pyarrow" else found["topic"].to_list()
    assert topics == [2, 1]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_wide_is_told_what_is_missing_and_how_decimals_are_written(frame) -> None:
    grades = {"answer": [1, 1, 2, 2], "judge": list("abab"), "grade": ["0,9", "-99", "k.A.", "0,250"]}
    made = jb.wide(frame(grades), item="answer", evaluator="judge", score="grade", na=[-99, "k.A."], decimal=",")
    made = made if isinstance(made, pd.DataFrame) else made.to_pandas()
    assert np.array_equal(made[["a", "b"]].to_numpy(dtype=float), [[0.9, np.nan], [np.nan, 0.25]], equal_nan=True)
    with pytest.raises(jb.Error, match="decimal="):
        jb.wide(frame(grades), item="answer", evaluator="judge", score="grade", decimal=";")


def test_no_text_for_a_terminal_gets_into_a_notebook() -> None:
    odd = "a\x1b[31mred\x07"
    numbers = {odd: [i % 7 / 7 for i in range(60)], "b": [i % 11 / 11 for i in range(60)], "verdict": [i % 3 % 2 for i in range(60)]}
    frame = pd.DataFrame({**numbers, "p": [1.0] * 60, "who": [odd] * 60})
    jury = jb.learn(frame, reward="verdict", ignore=["p", "who"])
    shown = [
        jury,
        jb.Rows.from_arrow(pa.table({odd: [odd]})),
        jb.report(frame, reward="verdict", ignore=["p", "who"]),
        jb.replay(frame, reward="verdict", ignore=["p", "who"], items=10, k=2),
        jb.prevalence(frame, reward="verdict", probability="p", by="who"),
    ]
    for one in shown:
        for text in (repr(one), one._repr_html_()):
            assert not set(text) & {"\x1b", "\x07"}, type(one)


@pytest.mark.parametrize("call", ["learn", "report", "replay", "prevalence", "picks", "Jury.learn"])
def test_text_in_the_place_of_rewards_is_told_of_as_such(call: str) -> None:
    rows = {"post": [f"p{i}" for i in range(60)], "a": [i % 7 / 7 for i in range(60)], "b": [i % 11 / 11 for i in range(60)]}
    frame = pd.DataFrame({**rows, "verdict": ["harmful" if i % 3 else "fine" for i in range(60)], "p": [0.5] * 60})
    with pytest.raises(jb.Error, match="rewards are numbers, such as 1 for harmful and 0 for fine") as refused:
        if call == "Jury.learn":
            jb.Jury(["a", "b"]).learn(frame, frame["verdict"])
        elif call == "picks":
            jury = jb.Jury(["a", "b"])
            picks = jb.pick(frame, 5, id="post", ignore=["verdict", "p"], state=jury)
            jb.learn(picks=picks, id="post", reward="verdict", state=jury)
        elif call == "prevalence":
            jb.prevalence(frame, reward="verdict", probability="p", id="post")
        else:
            getattr(jb, call)(frame, reward="verdict", id="post", ignore="p")
    assert "evaluator" not in str(refused.value) and refused.value.value in ("harmful", "fine")
