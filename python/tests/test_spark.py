"""Spark, only with `JURYBOX_SPARK=1`, because it needs Java and a large package."""

from __future__ import annotations

import os
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import made_up

import jurybox as jb

pytestmark = [
    pytest.mark.skipif(not os.environ.get("JURYBOX_SPARK"), reason="opt-in: set JURYBOX_SPARK=1"),
    pytest.mark.filterwarnings("default"),
]


def test_partitions_learnt_apart_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    scores, rewards = made_up(3000, 3)
    frame = pd.DataFrame(scores, columns=["spam", "abuse", "reports"])
    frame["post"] = [f"p{row}" for row in range(3000)]
    frame["verdict"] = np.where(np.arange(3000) % 2 == 0, rewards, np.nan)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        data = spark.createDataFrame(frame).repartition(4)
        jury = jb.spark.learn(data, reward="verdict", policy="lin-ucb")
        whole = jb.learn(frame, reward="verdict", policy="lin-ucb")
        assert jury.seen["items"] == 3000 and jury.seen["used"] == whole.seen["used"]
        np.testing.assert_allclose(list(jury.weights().values()), list(whole.weights().values()), rtol=1e-9)
        best = [row["post"] for row in jb.spark.values(data, jury).orderBy("value", ascending=False).limit(10).collect()]
        assert best == jb.rank(frame, k=10, state=jury)["post"].tolist()
    finally:
        spark.stop()
