"""Items that come again, known by their ids; and columns of every kind."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import jurybox as jb


def backlog(items: int = 60, times: int = 10) -> pd.DataFrame:
    """Noise, in items that are scored anew every time."""
    rng = np.random.default_rng(3)
    scores, verdict = rng.normal(size=(items, 3)), (rng.random(items) < 0.4).astype(float)
    which = np.tile(np.arange(items), times)
    columns = {f"e{j}": scores[which, j] + 1e-3 * rng.normal(size=items * times) for j in range(3)}
    return pd.DataFrame({"item": [f"p{i}" for i in which], **columns, "verdict": verdict[which]})


def test_items_that_come_again_are_known_by_their_ids_in_frames_as_in_files(tmp_path: Path) -> None:
    frame = backlog()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for rows in (frame, pa.Table.from_pandas(frame), str(tmp_path / "rows.csv")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jb.DataWarning)
            replay = jb.replay(rows, reward="verdict", id="item", folds=5, k=6, runs=1, policies="adaptive")
            report = jb.report(rows, reward="verdict", id="item")
        assert replay["repeated_items"] == report["repeated_items"] == 60
        assert any("60 items have several rows" in line for line in replay["warnings"])
        assert any("60 items have several rows" in line for line in report["warnings"])


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
def test_columns_of_every_kind_are_written(end: str, tmp_path: Path) -> None:
    rows = 8
    table = pa.table({
        "post": [f"p{i}" for i in range(rows)],
        "a": np.arange(rows) / rows,
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([1.5])),
        "union": pa.UnionArray.from_sparse(pa.array([0] * rows, pa.int8()), [pa.array([7] * rows)]),
        "views": pa.array([[1]] * rows, pa.list_view(pa.int64())),
    })  # fmt: skip
    out = tmp_path / f"top.{end}"
    jb.rank(table, k=3, evaluators=["a"], out=str(out))
    if end == "csv":
        assert out.read_text().splitlines()[1].endswith(",1.5,7,[1]")
