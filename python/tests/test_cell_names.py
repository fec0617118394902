"""A group or reviewer has the same name in a frame, a list, a batch, or a file that pandas
wrote."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb

RNG = np.random.default_rng(4)
SCORES = RNG.normal(size=(300, 2))


def taught() -> jb.Jury:
    jury = jb.Jury(["a", "b"], policy="greedy")
    jury.observe(SCORES)
    jury.learn(SCORES, SCORES[:, 0])
    return jury


def test_columns_of_a_batch_go_by_their_names() -> None:
    frame = pd.DataFrame({"b": [5.0, 0.0], "a": [0.0, 1.0]})
    jury = taught()
    expected = jury.values(frame)
    shapes: list[Any] = [pa.RecordBatch.from_pandas(frame), pl.from_pandas(frame).to_struct("row"), frame[["a", "b"]].to_numpy()]
    for shape in shapes:
        assert jury.values(shape).tolist() == expected.tolist(), type(shape)


@pytest.mark.parametrize("made", [pd.Series, list, np.array, pa.array, lambda who: pd.Series(who, dtype=object)])
def test_a_number_with_a_gap_names_the_person_that_it_names_in_a_table(made: Any) -> None:
    who = made([7.0, float("nan"), 8.0, 7.0] * 75)
    jury = taught_by(who)
    assert {name: about["labels"] for name, about in jury.reviewers(["7", "8", "nan"]).items()} == {"7": 150, "8": 75}


@pytest.mark.parametrize("who", [pd.Series(["ann", pd.NA, "bob"] * 100, dtype="string"), pa.array(["ann", None, "bob"] * 100)])
def test_who_is_missing_is_nobody(who: Any) -> None:
    jury = taught_by(who)
    assert {name: about["labels"] for name, about in jury.reviewers(["ann", "bob", "<NA>", "None"]).items()} == {"ann": 100, "bob": 100}


def taught_by(who: Any) -> jb.Jury:
    jury = jb.Jury(["a", "b"])
    jury.observe(SCORES)
    jury.learn(SCORES, SCORES[:, 0] + RNG.normal(size=300), reviewers=who)
    return jury


def test_yes_and_no_are_groups_of_the_same_names_in_a_frame_and_in_its_file(tmp_path: Path) -> None:
    reply = RNG.random(300) < 0.5
    frame = pd.DataFrame({"id": range(300), "a": SCORES[:, 0], "b": SCORES[:, 1], "reply": reply})
    frame["y"] = np.where(reply, frame.a, frame.b) + 0.1 * RNG.normal(size=300)
    file = tmp_path / "rows.csv"
    frame.to_csv(file, index=False)
    ranked = []
    for rows in (frame, str(file)):
        learnt = jb.learn(rows, id="id", reward="y", context="reply")
        ranked += [[int(i) for i in jb.rank(other, k=30, id="id", ignore="y", state=learnt).to_dict("list")["id"]] for other in (frame,)]
        ranked += [[int(row["id"]) for row in jb.rank(str(file), k=30, id="id", ignore="y", state=learnt).to_dicts()]]
    assert all(one == ranked[0] for one in ranked)


@pytest.mark.parametrize("who", [[7, 8, None], np.array([7, 8]), [7.0, float("nan"), 8.0], pd.Series([7, 8, None], dtype="Int64"), ["7", "8"]])
def test_people_may_be_asked_after_by_numbers(who: Any) -> None:
    assert set(taught_by([7, 8, 7] * 100).reviewers(who)) == {"7", "8"}


@pytest.mark.parametrize("cells", [[["de"], ["fr"]], [{"l": "de"}, {"l": "fr"}], [timedelta(hours=1), timedelta(hours=2)], [b"de", b"fr"]])
@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_a_jury_is_asked_about_the_groups_that_it_learnt_whatever_they_are_made_of(frame: Any, cells: list[Any]) -> None:
    rows = {"a": SCORES[:, 0].tolist(), "b": SCORES[:, 1].tolist()}
    reward = np.where(np.arange(300) % 2 == 0, SCORES[:, 0], SCORES[:, 1]).tolist()
    odd = frame({**rows, "group": cells * 150, "y": reward})
    plain = pl.DataFrame({**rows, "group": ["de", "fr"] * 150, "y": reward})
    values = [jb.learn(data, reward="y", context="group").values(data) for data in (odd, plain)]
    assert np.allclose(*values)
