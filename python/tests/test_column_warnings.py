"""Warnings about columns that may have the wrong role, about words instead of rewards, and about
rules that write 1 or nothing."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import polars as pl
import pytest

import jurybox as jb

WORDS = {"remove": 1, "keep": 0}


def history(**more: Any) -> pd.DataFrame:
    rows = {"post": [f"p{i}" for i in range(60)], "spam": [i * 7 % 60 / 60 for i in range(60)], "abuse": [i * 11 % 60 / 60 for i in range(60)]}
    return pd.DataFrame({**rows, **more})


def verdicts(words: bool) -> list[Any]:
    said = [i * 7 % 60 > 40 for i in range(60)]
    return ["Remove" if one else "keep" for one in said] if words else [float(one) for one in said]


@pytest.mark.parametrize("call", ["learn", "report", "replay", "prevalence", "picks"])
def test_words_are_worth_what_label_says(call: str) -> None:
    def made(words: bool) -> Any:
        frame = history(verdict=verdicts(words), p=[1.0] * 60)
        label = {"label": WORDS} if words else {}
        if call == "learn":
            return jb.learn(frame, reward="verdict", ignore="p", **label).to_json()
        if call == "picks":
            jury = jb.Jury(["spam", "abuse"])
            picks = jb.pick(frame.drop(columns=["verdict", "p"]), 20, id="post", state=jury)
            return jb.learn(picks=picks, verdicts=frame[["post", "verdict"]][frame["post"].isin(picks["post"])], id="post", reward="verdict", state=jury, **label).to_json()
        if call == "report":
            return jb.report(frame, reward="verdict", ignore="p", **label).to_dict()["evaluators"]
        if call == "replay":
            return jb.replay(frame, reward="verdict", ignore="p", items=10, k=2, **label).to_dict()["policies"]
        return jb.prevalence(frame, reward="verdict", probability="p", **label).to_dict()["all"]

    assert made(words=True) == made(words=False)


def test_a_label_that_could_be_read_in_two_ways_is_refused() -> None:
    frame = history(verdict=verdicts(words=True))
    with pytest.raises(jb.Error, match="label={'remove': 1, 'keep': 0}"):
        jb.learn(frame, reward="verdict")
    with pytest.raises(jb.Error, match="has a value already"):
        jb.learn(frame, reward="verdict", label={"1": 0})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_named_like_a_verdict_is_no_evaluator_unless_it_is_named(kind: Any) -> None:
    frame = kind(history(verdict=verdicts(words=False)).to_dict("list"))
    with pytest.warns(jb.DataWarning, match="column `verdict` is named like a verdict") as said:
        found = jb.rank(frame, 60)
    assert len(said) == 1
    without = jb.rank(kind(history().to_dict("list")), 60)
    assert list(found["score"]) == list(without["score"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jb.rank(frame, 60, evaluators=["spam", "verdict"])
        jb.rank(frame, 60, ignore="verdict")


def test_counts_long_tables_and_rewards_that_nobody_learns_from_are_told() -> None:
    with pytest.warns(jb.DataWarning, match="while others have scores from 0 to 1: `followers`"):
        jb.rank(history(followers=[50 + i * 433 % 26004 for i in range(30)] * 2), 3)
    grades = pd.DataFrame({"answer": ["a", "a", "b", "b", "c", "c"], "judge": ["gpt", "claude"] * 3, "grade": [4, 3, 1, 2, 5, 5]})
    with pytest.warns(jb.DataWarning, match=r'pass long=\("answer", "judge", "grade"\)'):
        jb.rank(grades, 3)
    with pytest.warns(jb.DataWarning, match="nothing is learnt from it"):
        jb.rank(history(harmful=verdicts(words=False)), 3, reward="harmful")


def test_rules_that_write_one_or_nothing_are_ranked_by_what_fires() -> None:
    nothing = None
    rules = {"links": [1, nothing, 1, nothing, nothing, 1, nothing, nothing], "caps": [nothing, 1, 1, nothing, nothing, nothing, 1, nothing]}
    frame = pd.DataFrame({"post": list("abcdefgh"), **rules, "blocked": [nothing, nothing, 1, nothing, 1, nothing, nothing, nothing]})
    ranked = jb.rank(frame, 8)
    assert ranked["post"].iloc[0] == "c" and set(ranked["post"].iloc[6:]) == {"d", "h"}
    with pytest.warns(jb.DataWarning, match="all 8 rows have the same value"):
        untold = jb.rank(frame, 8, policy="average")
    assert list(untold["rank"]) == [1] * 6 + [7] * 2
