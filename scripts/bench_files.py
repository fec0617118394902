"""Every way to rank a file by jurybox, beside the same fixed sum by DuckDB and by Polars. Run by scripts/bench-files.

Four files: 4 million rows of Parquet and 1 million of CSV, each complete and with one score in twenty missing. DuckDB and
Polars are measured around the query alone, after their import; jurybox as a whole process. All use as many threads as
there are cores. Each figure is the least of several turns taken one after the other, so that all meet the same machine;
the first turn brings the files into the page cache. On a machine that others use too, CPU seconds say more than seconds.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WEIGHTS = [1, 0.5, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
TURNS = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[1] == "--turns" else 7
FOLDER = Path(tempfile.gettempdir()) / "jurybox-bench-files"
FILES = {
    name: FOLDER / name for name in ["scores-4m.parquet", "gaps-4m.parquet", "scores-1m.csv", "gaps-1m.csv"]
}
STATE = FOLDER / "state.json"
JURYBOX = os.environ.get("JURYBOX", "target/release/jurybox")

MAKE = """
import sys, numpy as np, polars as pl
scores_parquet, gaps_parquet, scores_csv, gaps_csv = sys.argv[1:]
rng = np.random.default_rng(1)
n = 4_000_000
reward = rng.normal(size=n)
columns = {"id": np.arange(n)}
for j in range(10):
    columns[f"e{j}"] = reward * (0.5 + 0.1 * j) + rng.normal(size=n)
table = pl.DataFrame(columns)
table.write_parquet(scores_parquet)
table.head(1_000_000).write_csv(scores_csv)
kept = lambda j: pl.when(pl.Series(rng.random(n) >= 0.05)).then(pl.col(f"e{j}")).alias(f"e{j}")
table = table.with_columns([kept(j) for j in range(10)])
table.write_parquet(gaps_parquet)
table.head(1_000_000).write_csv(gaps_csv)
"""

# The sum over the scores that are there, scaled up to all weights: what `--weights` ranks by.
DUCKDB = """
import sys, json, time, resource, duckdb
path, weights = sys.argv[1], json.loads(sys.argv[2])
score = " + ".join(f"{w} * e{j}" for j, w in enumerate(weights))
if "gaps" in path:
    there = " + ".join(f"if(e{j} is null, 0, {w})" for j, w in enumerate(weights))
    score = " + ".join(f"coalesce({w} * e{j}, 0)" for j, w in enumerate(weights))
    score = f"({score}) * ({sum(weights)} / nullif({there}, 0))"
duckdb.sql("set enable_progress_bar = false")  # it would print into our output
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
begin, before = time.perf_counter(), cpu()
query = f"select {score} as score, * from '{path}' order by score desc nulls last limit 100"
rows = duckdb.sql(query).fetchall()
print(json.dumps([time.perf_counter() - begin, cpu() - before, [row[1] for row in rows]]))
"""

POLARS = """
import sys, json, time, resource, polars as pl
path, weights = sys.argv[1], json.loads(sys.argv[2])
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
begin, before = time.perf_counter(), cpu()
scan = pl.scan_csv if path.endswith("csv") else pl.scan_parquet
score = sum((pl.col(f"e{j}") * w for j, w in enumerate(weights)), pl.lit(0.0))
if "gaps" in path:
    there = sum((pl.col(f"e{j}").is_not_null() * w for j, w in enumerate(weights)), pl.lit(0.0))
    score = sum((pl.col(f"e{j}").fill_null(0.0) * w for j, w in enumerate(weights)), pl.lit(0.0))
    score = score * (sum(weights) / there)
rows = scan(path).with_columns(score.alias("score")).top_k(100, by="score").collect().sort("score", descending=True)
print(json.dumps([time.perf_counter() - begin, cpu() - before, rows["id"].to_list()]))
"""

ABOUT = """
import sys, json, duckdb
print(json.dumps(duckdb.sql(f'''select count(distinct row_group_id), max(row_group_num_rows),
    string_agg(distinct compression), string_agg(distinct encodings)
    from parquet_metadata('{sys.argv[1]}')''').fetchall()[0]))
"""


def run(command):
    """Output, wall seconds, CPU seconds and peak memory (MB) of a child of its own."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    return output, time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ranked(*arguments):
    """Ranks by jurybox, one way or another: ids, seconds, CPU seconds, peak memory."""

    def measure(path):
        output, *figures = run([JURYBOX, "rank", str(path), "--id", "id", "-k", "100", "-q", *arguments])
        return [int(line.split(",")[2]) for line in output.decode().splitlines()[1:]], *figures

    return measure


def learnt(path):
    """Learns from every row, into a state that is not there yet."""
    STATE.unlink(missing_ok=True)
    _, *figures = run([JURYBOX, "learn", str(path), "--id", "id", "--reward", "e9", "--state", str(STATE), "-q"])
    return None, *figures


def other(code):
    def measure(path):
        output, _, _, memory = run([sys.executable, "-c", code, str(path), json.dumps(WEIGHTS)])
        seconds, cpu, ids = json.loads(output)
        return ids, seconds, cpu, memory

    return measure


RUNNERS = {
    "DuckDB": other(DUCKDB),
    "Polars": other(POLARS),
    "--weights": ranked("--weights", ",".join(f"e{j}={w}" for j, w in enumerate(WEIGHTS))),
    "--policy average": ranked("--policy", "average"),
    "--policy esag": ranked("--policy", "esag"),
    "the default": ranked(),
    "the default, --every-row": ranked("--every-row"),
    "learn, a reward in every row": learnt,
    "--state, what was learnt": ranked("--state", str(STATE)),
}
SAME = ["DuckDB", "Polars", "--weights"]


def about_parquet():
    """What the Parquet file is: the ratios depend on it."""
    path = FILES["scores-4m.parquet"]
    output, *_ = run([sys.executable, "-c", ABOUT, str(path)])
    groups, rows, compression, encodings = json.loads(output)
    size = path.stat().st_size / 1e6
    return f"Parquet: {size:.0f} MB, {groups} row groups of {rows} rows, {compression}, {encodings}."


def main():
    FOLDER.mkdir(exist_ok=True)
    if not all(path.exists() for path in FILES.values()):
        subprocess.run([sys.executable, "-c", MAKE, *map(str, FILES.values())], check=True)
    print(about_parquet(), f"{os.cpu_count()} cores; the least of {TURNS} turns; ratios to DuckDB.")
    for path in FILES.values():
        least, ids = {}, {}
        for _ in range(TURNS):
            for who, measure in RUNNERS.items():
                found, seconds, cpu, memory = measure(path)
                old = least.get(who, (seconds, cpu, 0))
                least[who] = min(seconds, old[0]), min(cpu, old[1]), max(memory, old[2])
                ids[who] = found
        if len({tuple(ids[who]) for who in SAME}) != 1:
            sys.exit(f"{path}: the three do not agree")
        print(f"\n| {path.name} | seconds | x DuckDB | CPU seconds | x DuckDB | peak MB |\n|---|---|---|---|---|---|")
        duckdb = least["DuckDB"]
        for who, (seconds, cpu, memory) in least.items():
            times = f"{seconds:.2f} | {seconds / duckdb[0]:.2f} | {cpu:.2f} | {cpu / duckdb[1]:.2f}"
            print(f"| {who} | {times} | {memory:.0f} |", flush=True)


main()
