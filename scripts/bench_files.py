"""The same top 100 by jurybox, DuckDB and Polars: seconds, ratios, peak memory. Run by scripts/bench-files.

DuckDB and Polars are timed around the query alone, after their import; jurybox as a whole process. All use as many
threads as there are cores. Each figure is the best of several turns taken one after the other, so that all three meet the
same machine; the first turn brings the files into the page cache.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WEIGHTS = [1, 0.5, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
TURNS = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[1] == "--turns" else 7
FOLDER = Path(tempfile.gettempdir()) / "jurybox-bench-files"
FILES = {"parquet": FOLDER / "scores-4m.parquet", "csv": FOLDER / "scores-1m.csv"}

MAKE = """
import sys, numpy as np, polars as pl
parquet, csv = sys.argv[1:]
rng = np.random.default_rng(1)
n = 4_000_000
reward = rng.normal(size=n)
columns = {"id": np.arange(n)}
for j in range(10):
    columns[f"e{j}"] = reward * (0.5 + 0.1 * j) + rng.normal(size=n)
table = pl.DataFrame(columns)
table.write_parquet(parquet)
table.head(1_000_000).write_csv(csv)
"""

DUCKDB = """
import sys, json, time, duckdb
path, weights = sys.argv[1], json.loads(sys.argv[2])
score = " + ".join(f"{w} * e{j}" for j, w in enumerate(weights))
duckdb.sql("set enable_progress_bar = false")  # it would print into our output
begin = time.perf_counter()
rows = duckdb.sql(f"select {score} as score, * from '{path}' order by score desc limit 100").fetchall()
print(json.dumps({"seconds": time.perf_counter() - begin, "ids": [row[1] for row in rows]}))
"""

POLARS = """
import sys, json, time, polars as pl
path, weights = sys.argv[1], json.loads(sys.argv[2])
begin = time.perf_counter()
scan = pl.scan_csv if path.endswith("csv") else pl.scan_parquet
score = sum((pl.col(f"e{j}") * w for j, w in enumerate(weights)), pl.lit(0.0))
rows = scan(path).with_columns(score.alias("score")).top_k(100, by="score").collect().sort("score", descending=True)
print(json.dumps({"seconds": time.perf_counter() - begin, "ids": rows["id"].to_list()}))
"""

ABOUT = """
import sys, json, duckdb
print(json.dumps(duckdb.sql(f'''select count(distinct row_group_id), max(row_group_num_rows),
    string_agg(distinct compression), string_agg(distinct encodings)
    from parquet_metadata('{sys.argv[1]}')''').fetchall()[0]))
"""


def run(command):
    """Output, wall seconds and peak memory (MB) of a child of its own."""
    import time

    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    return output, time.perf_counter() - begin, usage.ru_maxrss / 1024


def jurybox(path):
    weights = ",".join(f"e{j}={w}" for j, w in enumerate(WEIGHTS))
    command = [os.environ.get("JURYBOX", "target/release/jurybox"), "rank", str(path), "--id", "id", "--weights", weights, "-k", "100", "-q"]
    output, seconds, memory = run(command)
    return [int(line.split(",")[2]) for line in output.decode().splitlines()[1:]], seconds, memory


def other(code):
    def measure(path):
        output, _, memory = run([sys.executable, "-c", code, str(path), json.dumps(WEIGHTS)])
        found = json.loads(output)
        return found["ids"], found["seconds"], memory

    return measure


def about_parquet():
    """What the Parquet file is: the ratios depend on it."""
    output, _, _ = run([sys.executable, "-c", ABOUT, str(FILES["parquet"])])
    groups, rows, compression, encodings = json.loads(output)
    size = FILES["parquet"].stat().st_size / 1e6
    return f"Parquet: {size:.0f} MB, {groups} row groups of {rows} rows, {compression}, {encodings}."


def main():
    FOLDER.mkdir(exist_ok=True)
    if not all(path.exists() for path in FILES.values()):
        subprocess.run([sys.executable, "-c", MAKE, *map(str, FILES.values())], check=True)
    runners = {"jurybox": jurybox, "duckdb": other(DUCKDB), "polars": other(POLARS)}
    print(about_parquet(), f"{os.cpu_count()} cores.")
    for path in FILES.values():
        seconds, memory, ids = {}, {}, {}
        for _ in range(TURNS):
            for who, measure in runners.items():
                found, took, peak = measure(path)
                seconds.setdefault(who, []).append(took)
                memory[who] = max(memory.get(who, 0), peak)
                ids[who] = found
        if len({tuple(found) for found in ids.values()}) != 1:
            sys.exit(f"{path}: the three do not agree")
        ours = min(seconds["jurybox"])
        print(f"{path.name}, top 100 by ten weights, best of {TURNS}:")
        for who in runners:
            best = min(seconds[who])
            print(f"  {who:8} {best:6.3f} s  {best / ours:5.2f} x jurybox  {memory[who]:6.0f} MB at most")


main()
