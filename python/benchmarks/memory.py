"""Benchmark of peak memory beyond the input: each call, over each kind of table, in its own
process.

    python benchmarks/memory.py [ROWS]          a table of all cases, in MB
    python benchmarks/memory.py ROWS KIND CALL  a single case

Measured is the peak resident memory during the call (VmHWM, reset before it) minus the memory held
before: rows, interpreter and libraries are not counted, the result is. Rows have ten scores, an id
and a verdict.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jurybox as jb

EVALUATORS = [f"e{j}" for j in range(10)]

#: The promised limit in MB.
MOST = 100
#: Threads per call on every machine, because each thread takes memory.
THREADS = 2


def numbers(rows: int) -> dict[str, Any]:
    draws = np.random.default_rng(1)
    columns = {name: draws.uniform(size=rows) for name in EVALUATORS}
    return {"post": np.arange(rows), **columns, "verdict": (columns["e0"] > 0.5).astype(float)}


def pandas(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame(numbers(rows))


def pandas_text(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame({**numbers(rows), "post": pd.Series([f"post-{row:07}" for row in range(rows)])})


def pandas_objects(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame({**numbers(rows), "post": pd.Series([f"post-{row:07}" for row in range(rows)], dtype=object)})


def pandas_nullable(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame(numbers(rows)).convert_dtypes(convert_integer=False)


def pandas_arrow(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame({**numbers(rows), "post": [f"post-{row:07}" for row in range(rows)]}).convert_dtypes(dtype_backend="pyarrow")


def polars(rows: int) -> Any:
    import polars as pl

    return pl.DataFrame(numbers(rows)).with_columns(post=pl.format("post-{}", pl.int_range(rows)))


def pyarrow(rows: int) -> Any:
    import pyarrow as pa

    return pa.table({**numbers(rows), "post": pa.array([f"post-{row:07}" for row in range(rows)])})


def pandas_groups(rows: int) -> Any:
    return pandas_text(rows).assign(language=_languages(rows))


def pandas_categories(rows: int) -> Any:
    return pandas(rows).assign(language=_languages(rows)).astype({"language": "category"})


def polars_groups(rows: int) -> Any:
    import polars as pl

    return polars(rows).with_columns(pl.Series("language", _languages(rows)))


def pyarrow_groups(rows: int) -> Any:
    import pyarrow as pa

    return pyarrow(rows).append_column("language", pa.array(_languages(rows)))


def _languages(rows: int) -> Any:
    return np.array(["de", "en", "fr", "it", "es"])[np.arange(rows) % 5]


def array(rows: int) -> Any:
    return np.random.default_rng(1).uniform(size=(rows, len(EVALUATORS)))


def array_read_only(rows: int) -> Any:
    made = array(rows)
    made.setflags(write=False)
    return made


def array_by_columns(rows: int) -> Any:
    return np.asfortranarray(array(rows))


def rank(table: Any) -> Any:
    return jb.rank(table, k=100, policy="adaptive", ignore=["verdict", "post"], threads=THREADS)


def pick(table: Any) -> Any:
    return jb.pick(table, k=100, id="post", state=jb.Jury(EVALUATORS), ignore="verdict", threads=THREADS)


def learn(table: Any) -> Any:
    return jb.learn(table, reward="verdict", ignore="post", threads=THREADS)


def learn_by_id(table: Any) -> Any:
    return jb.learn(table, reward="verdict", id="post", threads=THREADS)


def report(table: Any) -> Any:
    return jb.report(table, reward="verdict", ignore="post", threads=THREADS)


def replay(table: Any) -> Any:
    return jb.replay(table, reward="verdict", ignore="post", policies=["average", "lin-ucb"], items=100, k=10, rounds=100, runs=2, threads=THREADS)


def rank_by_group(table: Any) -> Any:
    return jb.rank(table, k=100, state=jb.Jury(EVALUATORS, context="language"), threads=THREADS)


def pick_by_group(table: Any) -> Any:
    return jb.pick(table, k=100, id="post", state=jb.Jury(EVALUATORS, context="language"), threads=THREADS)


def learn_by_group(table: Any) -> Any:
    return jb.learn(table, reward="verdict", id="post", context="language", threads=THREADS)


def replay_by_group(table: Any) -> Any:
    how: dict[str, Any] = {"policies": ["average", "lin-ucb"], "items": 100, "k": 10, "rounds": 100, "runs": 2}
    return jb.replay(table, reward="verdict", ignore="post", context="language", threads=THREADS, **how)


def values_by_group(table: Any) -> Any:
    return jb.Jury(EVALUATORS, context="language").values(table)


def jury_learn(table: Any) -> Any:
    return jb.Jury(EVALUATORS).learn(table, np.ones(len(table)))


def jury_round(table: Any) -> Any:
    return jb.Jury(EVALUATORS).round(table, 100)


def jury_values(table: Any) -> Any:
    return jb.Jury(EVALUATORS).values(table)


def jury_predict(table: Any) -> Any:
    jury = jb.Jury(EVALUATORS)
    jury.learn(table[:100], np.asarray(table[:100])[:, 0])
    return jury.predict(table)


FRAMES = [pandas, pandas_text, pandas_objects, pandas_nullable, pandas_arrow, polars, pyarrow]
GROUPS = [pandas_groups, pandas_categories, polars_groups, pyarrow_groups]
ARRAYS = [array, array_read_only, array_by_columns]
CASES: list[tuple[Callable[[int], Any], list[Callable[[Any], Any]]]] = [
    *((kind, [rank, pick, learn, learn_by_id, report, replay]) for kind in FRAMES),
    *((kind, [rank_by_group, pick_by_group, learn_by_group, replay_by_group, values_by_group]) for kind in GROUPS),
    *((kind, [jury_learn, jury_round, jury_values, jury_predict]) for kind in ARRAYS),
]


def held(what: str) -> float:
    """The current (`VmRSS`) or largest (`VmHWM`) memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def one(rows: int, kind: str, call: str) -> float:
    """The peak of one call, in this process."""
    makers, calls = {made.__name__: made for made, _ in CASES}, {called.__name__: called for _, them in CASES for called in them}
    calls[call](makers[kind](1000))  # imports and one-time setup are not counted
    table = makers[kind](rows)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = held("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    made = calls[call](table)
    most = held("VmHWM")
    del made
    return most - before


def measured(rows: int, kind: str, call: str) -> float:
    """The peak of one call, in its own process."""
    command = [sys.executable, __file__, str(rows), kind, call]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(rows: int) -> None:
    print(f"{rows:,} rows x {len(EVALUATORS)}: MB beyond them at the peak (at most {MOST})\n")
    for kind, calls in CASES:
        found = ", ".join(f"{call.__name__} {measured(rows, kind.__name__, call.__name__):.0f}" for call in calls)
        print(f"{kind.__name__:17} {found}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(one(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
