"""Ray gives the same results as one process, on a cluster of two nodes, also if one dies during
a task."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import made_up, patiently

import jurybox as jb

import ray
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

FILES = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    """Two nodes, each a process with its own workers."""
    from ray.cluster_utils import Cluster

    def start() -> Cluster:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            made.add_node(num_cpus=1)
            ray.init(address=made.address, log_to_driver=False)
        except Exception:
            made.shutdown()
            raise
        return made

    made = patiently(start)
    made.wait_for_nodes()
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("days")
    for day in range(FILES):
        scores, rewards = made_up(1500 + 100 * day, 4, seed=day)
        frame = pd.DataFrame(np.round(scores, 2), columns=["spam", "abuse", "reports", "age"])
        frame.insert(0, "post", [f"{day}-{row}" for row in range(len(frame))])
        frame["verdict"] = np.where(np.arange(len(frame)) % 4 == 0, rewards, np.nan)
        if day == 3:
            frame = frame.drop(columns="age")  # one day lacks an evaluator
        if day == 5:
            frame = frame.drop(columns="verdict")  # and one lacks verdicts
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / f"day-{day}.parquet")
    return str(folder / "day-*.parquet")


def same(found: jb.Rows, expected: jb.Rows) -> None:
    assert found.columns == expected.columns
    assert found.to_dicts() == expected.to_dicts()


@pytest.mark.parametrize("policy", ["adaptive", "esag", "lin-ucb"])
def test_learn_and_rank_equal_one_process(cluster, days: str, policy: str) -> None:
    whole = jb.learn(days, reward="verdict", policy=policy)
    spread = jb.ray.learn(days, reward="verdict", policy=policy, window=3)
    assert spread.to_json() == whole.to_json()
    same(jb.ray.rank(days, k=50, state=spread), jb.rank(days, k=50, state=whole))
    same(jb.ray.rank(days, k=50, policy=policy, reward="verdict"), jb.rank(days, k=50, policy=policy, ignore="verdict"))


def test_reviewers_and_groups_are_learnt_as_in_one_process(cluster, tmp_path: Path) -> None:
    for day in range(3):
        scores, rewards = made_up(300, 2, seed=day, missing=0)
        frame = pd.DataFrame(scores, columns=["a", "b"])
        frame["language"] = np.array(["de", "fr"])[np.arange(300) % 2]
        frame["who"] = np.array(["ann", "bob", "cid"])[np.arange(300) % 3]
        frame["verdict"] = rewards - np.where(frame["who"] == "bob", 0.5, 0.0) + np.where(frame["language"] == "de", frame["a"], 0.0)
        frame.to_csv(tmp_path / f"{day}.csv", index=False)
    said = {"reward": "verdict", "reviewer": "who", "context": "language", "policy": "adaptive"}
    whole = jb.learn(str(tmp_path / "*.csv"), **said)
    assert jb.ray.learn(str(tmp_path / "*.csv"), **said).to_json() == whole.to_json()
    # Continuing from a state, which knows its contexts.
    first = jb.learn(tmp_path / "0.csv", **said)
    rest = [tmp_path / "1.csv", tmp_path / "2.csv"]
    more = jb.ray.learn(rest, reward="verdict", reviewer="who", state=first)
    assert more.contexts == ["language"] and more.to_json() == jb.learn(rest, reward="verdict", reviewer="who", state=first).to_json()


def test_names_that_are_taken_are_left_alone(cluster, tmp_path: Path) -> None:
    for day in range(2):
        pd.DataFrame({"rank": ["x"] * 9, "score": ["y"] * 9, "spam": np.arange(9) % 4}).to_csv(tmp_path / f"{day}.csv", index=False)
    files = str(tmp_path / "*.csv")
    same(jb.ray.rank(files, k=3, weights={"spam": 1.0}), jb.rank(files, k=3, weights={"spam": 1.0}))


def test_what_holds_for_many_files_is_told_once(cluster, days: str) -> None:
    with pytest.warns(jb.DataWarning) as told:
        jb.ray.learn(days, reward="verdict", policy="esag")
    ignored = [str(one.message) for one in told if "ignored" in str(one.message)]
    assert len(ignored) == 1 and ignored[0].endswith("; likewise in 6 more")


def test_ties_are_settled_by_the_numbers_of_all_rows(cluster, tmp_path: Path) -> None:
    for day in range(4):
        pd.DataFrame({"post": [f"{day}-{row}" for row in range(200)], "spam": np.arange(200) % 3}).to_csv(tmp_path / f"{day}.csv", index=False)
    files = str(tmp_path / "*.csv")
    for seed in (0, 1, 2):
        found = jb.ray.rank(files, k=30, weights={"spam": 1.0}, seed=seed)
        same(found, jb.rank(files, k=30, weights={"spam": 1.0}, seed=seed))


def test_a_dataset_goes_in_as_it_is(cluster, days: str) -> None:
    frame = pd.concat([pd.read_parquet(path) for path in sorted(Path(days).parent.glob("*.parquet"))], ignore_index=True)
    blocks = ray.data.from_pandas([frame[:7000], frame[7000:]])
    jury = jb.ray.learn(blocks, reward="verdict", policy="lin-ucb")
    whole = jb.learn(frame, reward="verdict", policy="lin-ucb")
    assert jury.seen["items"] == whole.seen["items"] and jury.seen["used"] == whole.seen["used"]
    np.testing.assert_allclose(list(jury.weights().values()), list(whole.weights().values()), rtol=1e-9)
    assert jb.ray.rank(blocks, k=20, state=jury)["post"] == jb.rank(frame, k=20, state=jury)["post"].tolist()


def test_object_stores_by_pyarrow(cluster, days: str) -> None:
    jury = jb.ray.learn("file://" + days, reward="verdict", policy="lin-ucb")
    assert jury.to_json() == jb.learn(days, reward="verdict", policy="lin-ucb").to_json()


def test_goes_on_from_a_state(cluster, days: str) -> None:
    first = jb.learn(pd.DataFrame(made_up(100, 4)[0], columns=["spam", "abuse", "reports", "age"]), policy="esag")
    before = first.to_json()
    jury = jb.ray.learn(days, state=first, ignore="verdict")
    assert first.to_json() == before
    assert jury.seen["items"] == 100 + sum(1500 + 100 * day for day in range(FILES))


def test_files_that_a_state_knows_are_not_learnt_again(cluster, days: str) -> None:
    files = sorted(str(path) for path in Path(days).parent.glob("*.parquet"))
    for some in (files[:3], files):
        first = jb.learn(files[:3], reward="verdict", policy="lin-ucb")
        assert jb.ray.learn(some, reward="verdict", state=first).to_json() == jb.learn(some, reward="verdict", state=first).to_json()
    twice = [files[0], files[1], files[0]]
    assert jb.ray.learn(twice, policy="esag").to_json() == jb.learn(twice, policy="esag").to_json()


@pytest.mark.parametrize("policy", ["adaptive", "lin-ucb"])
def test_rounds_have_the_times_of_one_process(cluster, tmp_path: Path, policy: str) -> None:
    for day in range(4):
        scores, rewards = made_up(300, 3, seed=day)
        hours = [f"{day}-{row // (40 + 10 * day)}" for row in range(300)]
        pd.DataFrame(scores, columns=["a", "b", "c"]).assign(hour=hours, verdict=rewards).to_csv(tmp_path / f"{day}.csv", index=False)
    files = str(tmp_path / "*.csv")
    whole = jb.learn(files, reward="verdict", round="hour", policy=policy)
    spread = jb.ray.learn(files, reward="verdict", round="hour", policy=policy)
    assert spread.seen == whole.seen and spread.seen["rounds"] > 16
    for name, weight in whole.weights().items():
        assert spread.weights()[name] == pytest.approx(weight, rel=1e-9)
    with pytest.raises(jb.Error, match="continues from") as caught:
        late = pd.read_csv(tmp_path / "3.csv").assign(hour="3-4")
        late.to_csv(tmp_path / "4.csv", index=False)
        jb.ray.learn(files, reward="verdict", round="hour", policy=policy)
    assert caught.value.code == "round"


def test_only_beginnings_are_read_to_tell_the_columns(days: str, tmp_path: Path) -> None:
    """Columns are resolved from the beginnings of files alone, even in stores that only stream."""
    import gzip

    from jurybox import _core, _remote_files
    from jurybox._table_options import table_options

    frame = pd.read_parquet(sorted(Path(days).parent.glob("*.parquet"))[0])
    long = pd.concat([frame.assign(text='a "quoted"\ntext', number=np.arange(len(frame)) + 100_000)] * 40, ignore_index=True)
    long.loc[2000:, "post"] = "1"
    long.to_csv(tmp_path / "a.csv", index=False)
    long.to_json(tmp_path / "b.jsonl", orient="records", lines=True)
    pq.write_table(pa.Table.from_pandas(long, preserve_index=False), tmp_path / "c.parquet", row_group_size=5000)
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    (tmp_path / "e.csv").write_bytes("spam,abuse\n0.1,0.2\n".encode("utf-16"))
    (tmp_path / "f.csv").write_text("spam,abuse\n0.1,0.2")  # short, and without a final line break
    (tmp_path / "g.parquet").write_bytes(b"")
    pq.write_table(pa.table({"spam": pa.array([], pa.float64())}), tmp_path / "g.parquet")
    for path in sorted(tmp_path.iterdir()):
        with _remote_files.beginning(f"file://{path}") as name:
            head = Path(name)
            assert head.name == path.name and head != path
            if path.stat().st_size > 1_000_000:
                assert head.stat().st_size < path.stat().st_size / 4
            if path.name == "g.parquet":
                assert pq.read_table(head).schema.names == ["spam"]
                continue
            assert _core.resolve_evaluators(("paths", [name]), table_options(), None) == _core.resolve_evaluators(("paths", [str(path)]), table_options(), None)
    with _remote_files.beginning(str(path)) as name:
        assert name == str(path)  # files on disk are not copied


def test_warnings_come_back_from_tasks_once_each(cluster, tmp_path: Path) -> None:
    cells = "".join(f"{row},0.{row % 9 + 1},0.5,0.2\n" for row in range(100))
    for day in range(3):
        (tmp_path / f"{day}.csv").write_text("post,spam,abuse,score\n" + cells + ("100,oops,0.5,0.2\n" if day == 1 else ""))
    files = str(tmp_path / "*.csv")
    for stored in (files, "file://" + files):
        for call in (lambda: jb.ray.learn(stored, policy="esag", id="post"), lambda: jb.ray.rank(stored, k=5, id="post")):
            with pytest.warns(jb.DataWarning) as told:
                call()
            messages = [str(one.message) for one in told if one.category is jb.DataWarning]
            assert len(messages) == 2 and not any("likewise in" in message for message in messages), messages
            assert any("`score` is not taken for an evaluator" in message for message in messages), messages
            odd = [message for message in messages if "oops" in message]
            assert odd and all(str(tmp_path / "1.csv") in message for message in odd), messages
            assert all(one.filename == __file__ for one in told if one.category is jb.DataWarning)


def test_a_file_that_was_picked_from_is_refused(cluster, tmp_path: Path) -> None:
    scores, _ = made_up(100, 2)
    for day in range(2):
        frame = pd.DataFrame(np.round(scores + day, 3), columns=["spam", "abuse"])
        frame.assign(post=[f"{day}-{row}" for row in range(100)]).to_csv(tmp_path / f"{day}.csv", index=False)
    jury = jb.Jury(["spam", "abuse"])
    jb.pick(tmp_path / "1.csv", 3, id="post", state=jury)
    files = str(tmp_path / "*.csv")
    for call in (lambda: jb.ray.learn(files, state=jury, id="post"), lambda: jb.learn(files, state=jury, id="post")):
        with pytest.raises(jb.Error) as caught:
            call()
        assert (caught.value.code, caught.value.path) == ("picked-from", str(tmp_path / "1.csv"))
    assert jb.ray.learn(files, state=jury, id="post", again=True).seen["items"] == 300


def test_rows_are_known_again_by_their_ids(cluster, tmp_path: Path) -> None:
    scores, rewards = made_up(300, 2, seed=3, missing=0)
    frame = pd.DataFrame(scores, columns=["spam", "abuse"]).assign(post=[f"p{row}" for row in range(300)], verdict=rewards)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.iloc[::-1].to_parquet(tmp_path / "b.parquet", index=False)
    frame.drop(columns="post").iloc[:20].to_csv(tmp_path / "c.csv", index=False)  # one lacks ids
    files = [tmp_path / name for name in ("a.csv", "b.parquet", "c.csv")]
    assert jb.ray.learn(files, reward="verdict").seen["items"] == 620
    spread = jb.ray.learn(files[:2], reward="verdict", id="post")
    assert spread.seen == jb.learn(files[:2], reward="verdict", id="post").seen and spread.seen["items"] == 300
    assert jb.ray.learn(files, reward="verdict", id="post").seen["items"] == 320
    assert jb.ray.learn(files[:2], reward="verdict", id="post", again=True).seen["items"] == 600
    # Files that were picked from are refused too, though they have gained verdicts.
    jury = jb.Jury(["spam", "abuse"], "lin-ucb")
    jb.pick(frame.drop(columns="verdict"), 5, id="post", state=jury)
    with pytest.raises(jb.Error) as caught:
        jb.ray.learn(files[1], reward="verdict", id="post", state=jury)
    assert caught.value.code == "picked-from"


def test_patterns_mean_what_they_mean_to_the_command(tmp_path: Path) -> None:
    from jurybox import _core, _remote_files

    for name in ("b.csv", "a.csv", "c[1].csv"):
        (tmp_path / name).write_text("spam\n0.1\n")
    for pattern in (tmp_path / "*.csv", tmp_path / "a.csv", tmp_path / "c[1].csv"):
        assert _remote_files.expanded(str(pattern)) == [os.fspath(path) for path in _core.expand([str(pattern)])]
    with pytest.raises(jb.NoFileError):
        _remote_files.expanded(str(tmp_path / "nobody-*.csv"))


def test_an_error_in_a_task_arrives_as_it_is(cluster, tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("spam,abuse\n0.1,0.2\n")
    (tmp_path / "1.csv").write_text("spam,abuse\n0.1,0.2\n0.3,inf\n")
    with pytest.raises(ValueError, match="abuse") as caught:
        jb.ray.learn(str(tmp_path / "*.csv"), policy="esag")
    assert type(caught.value) is jb.Error
    assert (caught.value.code, caught.value.column, caught.value.row) == ("unusable-number", "abuse", 3)
    with pytest.raises(FileNotFoundError):
        jb.ray.learn(str(tmp_path / "nobody-*.csv"))
    with pytest.raises(jb.Error, match="k = 0"):
        jb.ray.rank(str(tmp_path / "0.csv"), k=0)


def test_a_node_that_dies_in_the_middle_of_a_task(cluster, days: str, tmp_path: Path) -> None:
    """Each task writes a marker on its node and waits: those on one node to be killed, the
    others until that node has a marker. So the node is known to die during a task."""
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    doomed = node.node_id
    markers = tmp_path / "markers"
    markers.mkdir()

    def before(part: str) -> None:
        import ray

        here = ray.get_runtime_context().get_node_id()
        name = f"{os.path.basename(part)}.{here}.{time.time_ns()}"
        (markers / name).write_text(here)
        while here == doomed or not any(doomed in marker.name for marker in markers.iterdir()):
            time.sleep(0.05)

    import threading

    def kill() -> None:
        while not any(doomed in marker.name for marker in markers.iterdir()):
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    jury = jb.ray.learn(days, reward="verdict", policy="lin-ucb", before=before)
    killer.join(60)
    assert not killer.is_alive()
    assert jury.to_json() == jb.learn(days, reward="verdict", policy="lin-ucb").to_json()
    begun = [marker.name.split(".parquet.")[0] for marker in markers.iterdir()]
    died = {marker.name.split(".parquet.")[0] for marker in markers.iterdir() if doomed in marker.name}
    assert died and all(begun.count(part) >= 2 for part in died), "no part ran twice"
