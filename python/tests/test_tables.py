"""Frames, paths, streams and relations give the same result as the command."""

from __future__ import annotations

import csv
import io
import json
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import made_up, run

import jurybox as jb

ROWS = 5000
COLUMNS = ["spam", "abuse", "reports"]


@pytest.fixture(scope="module")
def posts() -> pd.DataFrame:
    scores, rewards = made_up(ROWS, 3)
    frame = pd.DataFrame(scores, columns=COLUMNS)
    frame.insert(0, "post", [f"p{row}" for row in range(ROWS)])
    frame["verdict"] = np.where(np.arange(ROWS) % 3 == 0, rewards, np.nan)
    frame.index = pd.Index(np.arange(ROWS) * 10, name="key")
    return frame


@pytest.fixture(scope="module")
def files(posts: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("posts")
    posts.to_csv(folder / "posts.csv", index=False)
    pq.write_table(pa.Table.from_pandas(posts, preserve_index=False), folder / "posts.parquet")
    return folder


def kinds(posts: pd.DataFrame, files) -> dict[str, object]:
    plain = posts.reset_index(drop=True)
    frame = pl.from_pandas(plain)
    table = pa.Table.from_pandas(plain, preserve_index=False)
    cut = sorted(np.random.default_rng(1).choice(ROWS, size=99, replace=False).tolist())
    pieces = [frame[start:end] for start, end in zip([0, *cut], [*cut, ROWS], strict=True)]
    return {
        "pandas": posts,
        "pandas, nullable": plain.convert_dtypes(),
        "pandas, by pyarrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas, of a C-ordered array": pd.DataFrame(posts[COLUMNS].to_numpy(copy=True), columns=COLUMNS).assign(post=plain["post"], verdict=plain["verdict"]),
        "polars": frame,
        "polars, lazy": frame.lazy(),
        "polars, 7 chunks": pl.concat([frame[at : at + 715] for at in range(0, ROWS, 715)], rechunk=False),
        "polars, 100 chunks": pl.concat(pieces, rechunk=False),
        "pyarrow": table,
        "pyarrow, chunks": pa.Table.from_batches(table.to_batches(max_chunksize=333)),
        "duckdb": duckdb.sql("select * from frame"),
        "csv": files / "posts.csv",
        "parquet": str(files / "posts.parquet"),
        "pattern": str(files / "*.parquet"),
        "stream": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1000)),
    }  # fmt: skip


def posts_of(result: object) -> list[str]:
    return list(result["post"].to_pylist() if isinstance(result, pa.Table) else result["post"])


def scores_of(result: object) -> list[float]:
    return list(result["score"].to_pylist() if isinstance(result, pa.Table) else result["score"])


@pytest.mark.parametrize("policy", ["adaptive", "esag", "average", "lin-ucb"])
def test_the_same_top_k_from_everything(posts, files, policy: str) -> None:
    out = run("rank", files / "posts.csv", "-k", 40, "--policy", policy, "--reward", "verdict", "--quiet")
    lines = list(csv.DictReader(io.StringIO(out)))
    for kind, data in kinds(posts, files).items():
        found = jb.rank(data, k=40, policy=policy, ignore="verdict")
        assert posts_of(found) == [line["post"] for line in lines], kind
        assert scores_of(found) == [float(line["score"]) for line in lines], kind


def test_weights_and_states_and_explanations(posts, files, tmp_path) -> None:
    weights = {"spam": 0.2, "reports": 0.5}
    line = "spam=0.2,reports=0.5"
    out = run("rank", files / "posts.parquet", "-k", 30, "--weights", line, "--reward", "verdict", "--quiet")
    expected = [row["post"] for row in csv.DictReader(io.StringIO(out))]
    state = tmp_path / "state.json"
    run("learn", files / "posts.csv", "--reward", "verdict", "--state", state, "--quiet")
    out = run("rank", files / "posts.csv", "-k", 30, "--state", state, "--explain", "--quiet")
    explained = list(csv.DictReader(io.StringIO(out)))
    for kind, data in kinds(posts, files).items():
        assert posts_of(jb.rank(data, k=30, weights=weights, ignore="verdict")) == expected, kind
    for kind, data in kinds(posts, files).items():
        found = jb.rank(data, k=30, state=state, explain=True)
        found = found.to_pandas() if isinstance(found, (jb.Rows, pa.Table)) else found
        assert list(found["post"]) == [row["post"] for row in explained], kind
        for name in ("base", "by_spam", "by_abuse", "by_reports"):
            assert list(found[name]) == [float(row[name]) for row in explained], (kind, name)


def test_pandas_keeps_index_types_and_columns(posts) -> None:
    mixed = posts.assign(mixed=[1, "x", None, 2.5] * (ROWS // 4), when=pd.Timestamp("2024-01-01"), small=np.int8(3))
    # Most cells are numbers, but too few: as with a file, its role must be named.
    with pytest.raises(jb.Error, match="`mixed`: .* are not numbers.*ignore="):
        jb.rank(mixed, k=5, ignore=["small", "verdict"])
    found = jb.rank(mixed, k=5, ignore=["small", "mixed", "verdict"])
    assert list(found.columns) == ["rank", "score", *mixed.columns]
    assert found.index.name == "key"
    assert list(found.index) == [10 * int(post[1:]) for post in found["post"]]
    assert list(found["rank"]) == [1, 2, 3, 4, 5]
    for name in mixed.columns:
        assert found[name].dtype == mixed[name].dtype
    assert "rank" not in mixed.columns


def test_polars_and_pyarrow_keep_their_types(posts, files) -> None:
    for kind in ("polars", "pyarrow"):
        data = kinds(posts, files)[kind]
        found = jb.rank(data, k=3, ignore="verdict")
        assert type(found) is type(data)
        after, before = dict(zip(found.schema.names if kind == "pyarrow" else found.columns, found.schema.types if kind == "pyarrow" else found.dtypes, strict=True)), dict(
            zip(data.schema.names if kind == "pyarrow" else data.columns, data.schema.types if kind == "pyarrow" else data.dtypes, strict=True))  # fmt: skip
        assert all(after[name] == before[name] for name in before)


def test_names_that_are_taken_are_left_alone(posts) -> None:
    again = jb.rank(jb.rank(posts, k=20, ignore="verdict"), k=5, ignore="verdict")
    assert list(again.columns)[:4] == ["jurybox_rank", "jurybox_score", "rank", "score"]


def test_groups_and_all(posts, files) -> None:
    grouped = posts.assign(desk=["north", "south"] * (ROWS // 2))
    found = jb.rank(grouped, k=3, group="desk", ignore="verdict")
    assert found["desk"].value_counts().to_dict() == {"north": 3, "south": 3}
    assert list(found["rank"]) == [1, 2, 3] * 2
    every = jb.rank(posts, all=True, policy="average", ignore="verdict")
    assert len(every) == ROWS and list(every.index) == list(posts.index)
    best = jb.rank(posts, k=1, policy="average", ignore="verdict")
    assert every["score"].max() == best["score"].iloc[0]
    with pytest.raises(jb.Error, match="out="):
        jb.rank(files / "posts.csv", all=True)


def test_out_writes_what_the_command_writes(posts, files, tmp_path) -> None:
    run("rank", files / "posts.csv", "-k", 7, "--ignore", "verdict", "--out", tmp_path / "command.csv", "--quiet")
    jb.rank(files / "posts.csv", k=7, ignore="verdict", out=tmp_path / "python.csv")
    assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    with pytest.raises(jb.Error) as caught:
        jb.rank(files / "posts.csv", k=7, out=files / "posts.csv")
    assert caught.value.code == "overwrites-input"


@pytest.mark.filterwarnings("ignore:.*does not learn from rewards without a receipt")
def test_learn_is_bit_for_bit_the_same(posts, files, tmp_path) -> None:
    state = tmp_path / "state.json"
    for policy in ("adaptive", "esag", "lin-ucb", "eps-greedy(eps=0.1)"):
        state.unlink(missing_ok=True)
        run("learn", files / "posts.csv", "--reward", "verdict", "--policy", policy, "--state", state, "--quiet")
        expected = jb.Jury.load(state).to_json()
        for kind, data in kinds(posts, files).items():
            jury = jb.learn(data, reward="verdict", policy=policy)
            assert jury.to_json() == expected, (policy, kind)


def test_learn_adds_to_a_state_file_and_counts_files_once(posts, files, tmp_path) -> None:
    state = tmp_path / "state.json"
    first = jb.learn(files / "posts.csv", reward="verdict", state=state)
    assert jb.Jury.load(state).to_json() == first.to_json()
    again = jb.learn(files / "posts.csv", reward="verdict", state=state)
    assert again.seen == first.seen
    twice = jb.learn(files / "posts.csv", reward="verdict", state=state, again=True)
    assert twice.seen["items"] == 2 * ROWS
    with pytest.raises(jb.Error) as caught:
        jb.learn(posts.rename(columns={"verdict": "clicks"}), reward="clicks", state=state)
    assert caught.value.code == "other-reward"
    jury = jb.learn(posts, reward="verdict")
    assert jb.learn(posts, reward="verdict", state=jury) is jury
    assert jury.seen["rounds"] == 2
    one, other = (jb.learn(files / "posts.csv", reward="verdict") for _ in range(2))
    with pytest.raises(jb.Error, match="in the other states as well"):
        one + other


@pytest.mark.filterwarnings("ignore:.*have a verdict and are not among the picks")
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csv"])
def test_the_daily_loop_is_the_commands(posts, files, tmp_path, kind: str) -> None:
    hour = posts.drop(columns="verdict").head(200)
    hour.to_csv(tmp_path / "hour.csv", index=False)
    found = pd.DataFrame({"post": hour["post"][:150], "verdict": (hour["spam"][:150] > 0.5).astype(float)})
    found.to_csv(tmp_path / "found.csv", index=False)
    state = tmp_path / "state.json"
    policy = "eps-greedy(eps=0.5)"
    run("pick", tmp_path / "hour.csv", "-k", 20, "--id", "post", "--state", state, "--policy", policy, "--seed", 5, "--out", tmp_path / "picks.csv", "--quiet")  # fmt: skip
    lines = list(csv.DictReader(open(tmp_path / "picks.csv")))
    run("learn", "--picks", tmp_path / "picks.csv", "--verdicts", tmp_path / "found.csv", "--id", "post", "--reward", "verdict", "--state", state, "--quiet")  # fmt: skip
    expected = jb.Jury.load(state).to_json()

    data, verdicts = {
        "pandas": (hour, found),
        "polars": (pl.from_pandas(hour), pl.from_pandas(found)),
        "pyarrow": (pa.Table.from_pandas(hour, preserve_index=False), pa.Table.from_pandas(found, preserve_index=False)),
        "csv": (tmp_path / "hour.csv", tmp_path / "found.csv"),
    }[kind]
    jury = jb.Jury(COLUMNS, policy)
    picks = jb.pick(data, k=20, id="post", state=jury, seed=5)
    assert posts_of(picks) == [line["post"] for line in lines]
    table = picks.to_pandas() if isinstance(picks, (jb.Rows, pa.Table)) else picks
    assert [json.loads(receipt) for receipt in table["receipt"]] == [json.loads(line["receipt"]) for line in lines]
    for name in ("value", "probability"):
        assert list(table[name]) == [float(line[name]) if line[name] else math.nan for line in lines]
    assert [str(round_) for round_ in table["round"]] == [line["round"] for line in lines]
    assert jb.learn(picks=picks, verdicts=verdicts, id="post", reward="verdict", state=jury) is jury
    assert jury.to_json() == expected
    used = jury.seen["used"]
    jb.learn(picks=picks, verdicts=verdicts, id="post", reward="verdict", state=jury)
    assert jury.seen["used"] == used
    again = jb.pick(data, k=20, id="post", state=jury, seed=5)
    assert jury.seen["items"] == 200 and len(posts_of(again)) == 20


def test_pick_as_a_log(posts) -> None:
    hour = posts.head(50)
    jury = jb.Jury(COLUMNS, "eps-greedy", eps=0.5)
    before = jury.to_json()
    log = jb.pick(hour, k=5, id="post", state=jury, ignore="verdict", all=True, observe=False)
    assert jury.to_json() == before
    assert len(log) == 50 and log["rank"].notna().sum() == 5
    assert log["probability"].sum() == pytest.approx(5)
    assert list(log.index) == list(hour.index)


def test_reports_and_replays_are_the_commands(posts, files) -> None:
    labelled = posts.assign(verdict=posts["spam"].fillna(0).round(1))
    labelled.to_csv(files / "labelled.tsv.csv", index=False)
    expected = json.loads(run("report", files / "posts.csv", "--reward", "verdict", "--json", "--quiet"))
    found = jb.report(posts, reward="verdict")
    for field in ("rows", "labelled", "evaluators", "top", "warnings", "policy"):
        assert found[field] == expected[field], field
    assert found._repr_html_().startswith("<iframe") and "sandbox" in found._repr_html_()
    assert found.to_html().startswith("<!doctype html>")
    assert "spam" in str(found)
    line = ("replay", files / "labelled.tsv.csv", "--reward", "verdict", "--runs", 2, "--policies", "average,lin-ucb", "--items", 500, "--json", "--quiet")
    expected = json.loads(run(*line))
    found = jb.replay(labelled, reward="verdict", runs=2, policies=["average", "lin-ucb"], items=500)
    assert found.to_dict() == expected
    assert "lin-ucb" in str(found)


def test_wide() -> None:
    long = pd.DataFrame({
        "answer": ["x", "x", "y", "z", "y"],
        "judge": ["gpt", "claude", "gpt", "claude", "claude"],
        "grade": [0.9, 0.4, 0.7, 0.1, None],
    })  # fmt: skip
    expected = {"answer": ["x", "y", "z"], "gpt": [0.9, 0.7, None], "claude": [0.4, None, 0.1]}
    keys = {"item": "answer", "evaluator": "judge", "score": "grade"}
    found = jb.wide(pl.from_pandas(long), **keys)
    assert found.to_dict(as_series=False) == expected
    assert jb.wide(pa.Table.from_pandas(long), **keys).to_pydict() == expected
    frame = jb.wide(long, **keys)
    assert frame.astype(object).where(frame.notna(), None).to_dict("list") == expected
    twice = pd.concat([long, long.assign(grade=0.5)])
    with pytest.raises(jb.Error, match="repeated="):
        jb.wide(twice, **keys, repeated="refuse")
    with pytest.warns(jb.DataWarning, match="repeated grades"):
        averaged = jb.wide(twice, **keys)
    assert averaged["gpt"].tolist() == [0.7, 0.6, 0.5][:2] + [pytest.approx(math.nan, nan_ok=True)]
    assert jb.wide(twice, **keys, repeated="last")["claude"].tolist() == [0.5, 0.5, 0.5]
    with pytest.raises(jb.Error) as caught:
        jb.wide(long.assign(grade="good"), **keys)
    assert (caught.value.column, caught.value.row, caught.value.value) == ("grade", 1, "good")


def test_rows_go_anywhere(files) -> None:
    rows = jb.rank(files / "posts.parquet", k=4, ignore="verdict")
    assert len(rows) == 4 and rows.columns[:3] == ["rank", "score", "post"]
    assert rows.to_polars()["post"].to_list() == rows["post"] == rows.to_arrow()["post"].to_pylist()
    assert list(rows.to_pandas()["post"]) == rows["post"]
    assert duckdb.sql("select post from rows order by rank").fetchall() == [(post,) for post in rows["post"]]
    assert posts_of(jb.rank(rows, k=2, evaluators=COLUMNS)) == posts_of(jb.rank(rows.to_polars(), k=2, evaluators=COLUMNS))
    assert "<td>" in rows._repr_html_() and "post" in repr(rows)
    with pytest.raises(KeyError):
        rows["nobody"]


BAD = {
    "no rows": (lambda p: p.head(0), "no-rows"),
    "infinite": (lambda p: p.assign(spam=np.inf), "unusable-number"),
    "duplicate names": (lambda p: pd.concat([p, p[["spam"]]], axis=1), "duplicate-column"),
    "only text": (lambda p: p[["post"]], "no-evaluator"),
    "text among scores": (lambda p: p.assign(spam=["x"] * len(p)), "odd-cells"),
    "no columns": (lambda p: p[[]], "no-evaluator"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_frames_are_refused(posts, bad: str) -> None:
    damage, code = BAD[bad]
    names = {"evaluators": COLUMNS} if code == "odd-cells" else {}
    damaged = damage(posts.drop(columns="verdict"))
    with pytest.raises(jb.Error) as caught:
        jb.rank(damaged, k=3, **names)
    assert caught.value.code == code, caught.value
    if bad != "duplicate names":
        for convert in (pl.from_pandas, lambda p: pa.Table.from_pandas(p, preserve_index=False)):
            with pytest.raises(jb.Error) as caught:
                jb.rank(convert(damaged), k=3, **names)
            assert caught.value.code == code


def test_wrong_questions(posts, files) -> None:
    for call, code in [
        (lambda: jb.rank(posts, k=0), "none-wanted"),
        (lambda: jb.rank(posts, evaluators=["spma"]), "unknown-column"),
        (lambda: jb.rank(posts, weights={"spma": 1.0}), "unknown-evaluator"),
        (lambda: jb.rank(posts, policy="esagg"), "policy"),
        (lambda: jb.rank(posts, policy="esag", weights={"spam": 1.0}), "two-ways"),
        (lambda: jb.rank(posts, id="nobody"), "unknown-column"),
        (lambda: jb.rank(files / "nobody.csv"), "no-file"),
        (lambda: jb.rank(str(files / "nobody*.csv")), "no-match"),
        (lambda: jb.rank(42), "source"),
        (lambda: jb.rank([]), "source"),
        (lambda: jb.learn(), "two-ways"),
        (lambda: jb.learn(posts, reward="post"), "odd-cells"),
        (lambda: jb.replay(posts.assign(verdict=np.nan), reward="verdict"), "no-reward"),
    ]:
        with pytest.raises(jb.Error) as caught:
            call()
        assert caught.value.code == code, caught.value
    with pytest.raises(FileNotFoundError):
        jb.rank(files / "nobody.csv")
    with pytest.warns(jb.DataWarning, match="more than"):
        jb.rank(posts.head(3), k=10, ignore="verdict")
    jury = jb.learn(posts, reward="verdict")
    with pytest.warns(jb.DataWarning, match="no column `abuse`"):
        jb.rank(posts.drop(columns="abuse"), k=3, state=jury)


def test_numbers_for_names_in_pandas() -> None:
    frame = pd.DataFrame(made_up(50, 3)[0])
    assert list(jb.rank(frame, k=3, policy="average").columns) == ["rank", "score", 0, 1, 2]
