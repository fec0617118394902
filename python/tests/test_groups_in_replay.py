"""Replays and reports of histories with groups, by juries with and without contexts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import run

import jurybox as jb

RNG = np.random.default_rng(6)
MANY = 900
A, B = RNG.normal(size=MANY), RNG.normal(size=MANY)
LANGUAGE = np.array(["de", "fr"])[np.arange(MANY) % 2]
HISTORY = pd.DataFrame(
    {"a": A, "b": B, "language": LANGUAGE, "verdict": np.where(LANGUAGE == "de", A, B) + 0.2 * RNG.normal(size=MANY)}
)
HOW: dict[str, Any] = {"items": 50, "k": 5, "runs": 4}


def shares(replay: jb.Replay) -> dict[str, float]:
    return {line["name"]: line["best_share"]["mean"] for line in [*replay.policies, *replay.to_dict()["references"]]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_jury_with_contexts_plays_beside_the_policies_of_every_day(frame) -> None:
    jury = jb.learn(HISTORY[:300], reward="verdict", context="language")
    replay = jb.replay(frame(HISTORY[300:]), reward="verdict", state=jury, **HOW)
    found = shares(replay)
    assert found["state"] > 0.9 and found["adaptive"] > found["lin-ucb"] + 0.1
    assert any("lin-ucb" in line and "language is not shown to them" in line for line in replay.warnings)


def test_contexts_are_named_at_once_and_groups_are_no_scores() -> None:
    plain = shares(jb.replay(HISTORY, reward="verdict", ignore="language", **HOW))
    grouped = shares(jb.replay(HISTORY, reward="verdict", context="language", **HOW))
    assert grouped.pop("adaptive") > plain.pop("adaptive") + 0.1
    assert grouped == plain, "nobody else is shown the groups"
    numbered = HISTORY.assign(language=np.where(LANGUAGE == "de", 7, 8))
    assert shares(jb.replay(numbered, reward="verdict", context="language", weights={"a": 1.0}, **HOW))["weights(a=1)"] < 0.9


def test_logged_probabilities_are_estimated_with_contexts() -> None:
    log = HISTORY.assign(day=np.arange(MANY) // 30, p=0.5, verdict=HISTORY["verdict"].where(RNG.uniform(size=MANY) < 0.5))
    found = jb.replay(log, reward="verdict", probability="p", round="day", context="language", k=15, policies="adaptive,lin-ucb")
    assert any("lin-ucb" in line and "language" in line for line in found.warnings)
    per_pick = {line["name"]: line["reward_per_pick"]["mean"] for line in found.policies}
    assert per_pick["adaptive"] > per_pick["lin-ucb"]


def test_juries_with_and_without_contexts_play_together(tmp_path: Path) -> None:
    grouped = jb.learn(HISTORY[:300], reward="verdict", context="language")
    plain = jb.learn(HISTORY[:300], reward="verdict", ignore="language")
    for states in ({"plain": plain, "grouped": grouped}, {"grouped": grouped, "plain": plain}):
        found = shares(jb.replay(HISTORY[300:], reward="verdict", state=states, policies="average", **HOW))
        assert found["grouped"] > found["plain"] + 0.1


def test_the_command_says_the_same(tmp_path: Path) -> None:
    file, state = tmp_path / "history.csv", tmp_path / "state.json"
    HISTORY.to_csv(file, index=False)
    jury = jb.learn(HISTORY[:300], reward="verdict", context="language")
    jury.save(state)
    how = ["--items", 50, "-k", 5, "--runs", 4, "--reward", "verdict", "--json"]
    import json

    for flags, asked in ([["--context", "language"], {"context": "language"}], [["--state", state], {"state": str(state)}]):
        told = json.loads(run("replay", file, *how, *flags))
        for data in (HISTORY, str(file)):
            mine = jb.replay(data, reward="verdict", **HOW, **asked).to_dict()
            assert mine["policies"] == told["policies"] and mine["warnings"] == told["warnings"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_report_is_of_what_all_groups_share(frame) -> None:
    jury = jb.learn(HISTORY[:300], reward="verdict", context="language")
    numbered = HISTORY.assign(language=np.where(LANGUAGE == "de", 7, 8))
    for asked in ({"context": "language"}, {"state": jury}, {"state": jury, "context": "language"}):
        report = jb.report(frame(numbered), reward="verdict", **asked)
        assert [one["name"] for one in report.evaluators] == ["a", "b"] or [one["name"] for one in report.evaluators] == ["b", "a"]


def test_a_report_of_a_stream_names_those_who_judged() -> None:
    import duckdb

    rows = HISTORY.drop(columns="language").assign(who=np.array(["ann", "bob", "cid"])[np.arange(MANY) % 3])  # noqa: F841
    relation = duckdb.sql("SELECT * FROM rows")
    assert {one["name"] for one in jb.report(relation, reward="verdict", reviewer="who").to_dict()["reviewers"]} == {"ann", "bob", "cid"}
