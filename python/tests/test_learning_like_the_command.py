"""Learning by the command and by Python gives the same state file, byte for byte; and a jury can
be used while its rows are read."""

from __future__ import annotations

import copy
import csv
import logging
import os
import pickle
import random
import subprocess
import sys
import tempfile
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import command

import jurybox as jb

COLUMNS = ["post", "day", "a", "b", "c", "verdict"]


def rows(day: int, count: int = 40) -> list[dict[str, str]]:
    """Rows of a day; some lack a verdict or a score."""
    draws = random.Random(day)

    def score(good: float, noise: float) -> str:
        return f"{good + draws.gauss(0, noise):.3f}"

    made = []
    for at in range(count):
        good = draws.random()
        made.append({
            "post": f"d{day}p{at:03}", "day": f"{day}.{at // 10}",
            "a": score(good, 0.1), "b": "" if at % 11 == 3 else score(good, 0.3), "c": score(good, 1.0),
            "verdict": "" if at % 7 == 5 else str(int(good > 0.5)),
        })  # fmt: skip
    return made


def write(path: Path, table: Sequence[dict[str, str]], columns: Sequence[str] = COLUMNS, delimiter: str = ",") -> str:
    with open(path, "w", newline="") as file:
        into = csv.DictWriter(file, columns, delimiter=delimiter, extrasaction="ignore", lineterminator="\r\n" if delimiter == ";" else "\n")
        into.writeheader()
        into.writerows(table)
    return str(path)


class Both:
    """A state that the command learns, and one that Python learns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states = [folder / "command.json", folder / "python.json"]

    def command(self, *arguments: str, stdin: bytes = b"") -> str:
        line = [str(command()), *arguments, "--state", str(self.states[0])]
        done = subprocess.run(line, capture_output=True, input=stdin, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stderr.decode()

    def same(self) -> bytes:
        one, other = (path.read_bytes() for path in self.states)
        assert one.decode() == other.decode()
        return one

    def taught(self, flags: Sequence[str], **arguments: Any) -> bytes:
        """Learns with both, asserts equal warnings and states, and returns the counts."""
        words = self.command("learn", *flags)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            jb.learn(state=self.states[1], **arguments)
        assert [f"warning: {warning.message}" for warning in warned] == [line for line in words.splitlines() if line.startswith("warning: ")]
        return self.same()

    def learn(self, files: Sequence[str], *flags: str, **arguments: Any) -> bytes:
        return self.taught([*files, *flags], data=list(files), **arguments)

    def pick(self, file: str, k: int, name: str) -> str:
        """Picks with both and asserts equal picks."""
        outs = [self.folder / f"{who}-{name}" for who in ("command", "python")]
        self.command("pick", file, "-k", str(k), "--id", "post", "--ignore", "verdict", "--out", str(outs[0]))
        jb.pick(file, k, id="post", ignore="verdict", state=self.states[1], out=outs[1])
        assert outs[0].read_bytes() == outs[1].read_bytes()
        self.same()
        return str(outs[0])


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return Both(tmp_path)


BY_VERDICT = ("--reward", "verdict", "--id", "post", "--ignore", "day")
ASKED: dict[str, Any] = {"reward": "verdict", "id": "post", "ignore": "day"}


def in_other_clothes(folder: Path, table: list[dict[str, str]]) -> list[str]:
    """The same rows sorted, with columns in another order, and in another format."""
    by_score = sorted(table, key=lambda row: float(row["a"]))
    lines = folder / "other.jsonl"
    frame = pd.read_csv(folder / "day.csv", dtype={"post": str, "day": str})
    frame.sample(frac=1, random_state=1).to_json(lines, orient="records", lines=True)
    parquet = folder / "other.parquet"
    frame[::-1].to_parquet(parquet)
    return [
        write(folder / "sorted.csv", by_score),
        write(folder / "swapped.csv", table, ["verdict", "c", "post", "b", "day", "a"], ";"),
        str(lines),
        str(parquet),
    ]


def test_rows_that_were_saved_again_are_learnt_once_by_both(both: Both, caplog: pytest.LogCaptureFixture) -> None:
    table = rows(1)
    first = both.learn([write(both.folder / "day.csv", table)], *BY_VERDICT, **ASKED)
    assert b"rows-" in first
    caplog.set_level(logging.INFO, "jurybox")
    for again in in_other_clothes(both.folder, table):
        caplog.clear()
        assert both.learn([again], *BY_VERDICT, **ASKED) == first
        assert f"{again}: skipped, because the same rows were learnt before; pass again=True to count it again" in caplog.text
    # A changed verdict counts, and so do rows without one; repeated rows count if asked for.
    other = [dict(row) for row in table]
    other[4]["verdict"] = "1" if other[4]["verdict"] == "0" else "0"
    second = both.learn([write(both.folder / "other.csv", other)], *BY_VERDICT, **ASKED)
    third = both.learn([str(both.folder / "sorted.csv")], *BY_VERDICT, "--again", **ASKED, again=True)
    assert len({first, second, third}) == 3
    unjudged = sum(not row["verdict"] for row in table)
    assert jb.Jury.load(both.states[1]).seen["items"] == 2 * len(table) + 1 + unjudged


def test_several_files_are_learnt_alike(both: Both) -> None:
    days = [write(both.folder / f"day-{day}.csv", rows(day)) for day in range(4)]
    sorted_day = write(both.folder / "sorted.csv", sorted(rows(1), key=lambda row: row["a"]))
    # From an empty state, with one file passed twice.
    both.learn([days[0], days[1], sorted_day, days[0]], *BY_VERDICT, **ASKED)
    assert jb.Jury.load(both.states[1]).seen["rounds"] == 2
    # Two of these were learnt before.
    both.learn([days[2], sorted_day, days[0], days[3]], *BY_VERDICT, **ASKED)
    assert jb.Jury.load(both.states[1]).seen["rounds"] == 4
    both.learn([str(both.folder / "day-*.csv")], *BY_VERDICT, "--again", "--at", "70", **ASKED, again=True, at=70)
    assert jb.Jury.load(both.states[1]).seen["rounds"] == 8


@pytest.mark.parametrize("policy", ["adaptive(forget=true)", "esag", "lin-ucb", "eps-greedy", "average"])
def test_rounds_times_and_evaluators_are_learnt_alike(both: Both, policy: str) -> None:
    days = [write(both.folder / f"day-{day}.csv", rows(day)) for day in range(5)]
    by_day = ("--reward", "verdict", "--id", "post", "--round", "day")
    asked = {"reward": "verdict", "id": "post", "round": "day"}
    both.learn(days[:2], *by_day, "--policy", policy, "--evaluators", "a,b", **asked, policy=policy, evaluators=["a", "b"])
    assert jb.Jury.load(both.states[1]).seen["rounds"] == 8
    both.learn([days[2]], *by_day, "--at", "30", **asked, at=30)
    # One evaluator joins and another leaves; then the same call again.
    for _ in range(2):
        both.learn([days[3]], *by_day, "--evaluators", "a,c", "--drop", "b", **asked, evaluators=["a", "c"], drop="b")
    assert jb.Jury.load(both.states[1]).evaluators == ["a", "c"]
    # Files learnt by earlier versions are recognized only by their bytes.
    both.learn([days[0], days[4]], *by_day, **asked)
    assert jb.Jury.load(both.states[1]).seen["rounds"] == 20


@pytest.mark.parametrize("policy", ["adaptive", "eps-greedy(eps=0.5)", "lin-ucb"])
def test_picks_and_verdicts_are_learnt_alike(both: Both, policy: str) -> None:
    both.learn([write(both.folder / "past.csv", rows(9))], *BY_VERDICT, "--policy", policy, **ASKED, policy=policy)
    hours = [write(both.folder / f"hour-{hour}.csv", rows(hour)) for hour in range(3)]
    picks = [both.pick(hour, 8, f"picks-{at}.csv") for at, hour in enumerate(hours)]
    found = {row["post"]: row["verdict"] or "0" for hour in range(3) for row in rows(hour)} | {"d0p999": "1"}
    picked = [[row["post"] for row in csv.DictReader(Path(path).open())] for path in picks]

    def told(name: str, posts: Sequence[str]) -> str:
        return write(both.folder / name, [{"post": post, "verdict": found[post]} for post in posts], ["post", "verdict"])

    def join(picks: Sequence[str], verdicts: Sequence[str], *, again: bool = False) -> bytes:
        flags = ["--picks", *picks, "--verdicts", *verdicts, "--id", "post", "--reward", "verdict", *["--again"][: int(again)]]
        return both.taught(flags, picks=list(picks), verdicts=list(verdicts), id="post", reward="verdict", again=again)

    # Late, in parts, with an item that was not picked, and with a file of an hour without picks.
    quiet = told("quiet.csv", [])
    first = join(picks[:2], [told("some.csv", [*picked[1][:3], *picked[0][5:]])])
    second = join(picks[:2], [quiet, told("more.csv", [*picked[0], "d0p999"])])
    assert first != second
    assert join(picks[:2], [str(both.folder / "some.csv"), str(both.folder / "more.csv")]) == second
    assert join(picks[:2], [quiet]) == second
    assert join(picks[:1], [str(both.folder / "some.csv")], again=True) != second
    # Verdicts in the table of picks itself.
    with open(picks[2]) as file:
        table = list(csv.DictReader(file))
    columns = [name for name in table[0] if name != "verdict"]
    table = [row | {"verdict": found[row["post"]] if at % 2 else ""} for at, row in enumerate(table)]
    beside = write(both.folder / "beside.csv", table, [*columns, "verdict"])
    third = both.taught(["--picks", beside, "--id", "post"], picks=beside, id="post")
    assert third != second
    # Rows that were picked from are refused by both, also when sorted.
    sorted_hour = write(both.folder / "sorted.csv", sorted(rows(1), key=lambda row: row["b"]))
    line = [str(command()), "learn", sorted_hour, *BY_VERDICT, "--state", str(both.states[0])]
    refused = subprocess.run(line, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "the state has picked from these rows" in refused.stderr
    with pytest.raises(jb.Error) as caught:
        jb.learn(sorted_hour, state=both.states[1], **ASKED)
    assert caught.value.code == "picked-from"
    assert both.same() == third


def test_what_was_written_with_picks_is_no_verdict(both: Both) -> None:
    hour = write(both.folder / "hour.csv", rows(1))
    picks = both.pick(hour, 5, "picks.csv")
    for ours in ("rank", "probability", "a"):
        with pytest.raises(jb.Error) as caught:
            jb.learn(picks=picks, id="post", reward=ours, state=both.states[1])
        assert caught.value.code == "not-a-verdict"


def piped(folder: Path, name: str, content: bytes) -> tuple[str, threading.Thread]:
    """A named pipe that something else will write to."""
    path = folder / name
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(content), daemon=True)
    writer.start()
    return str(path), writer


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_known_pipe_among_files_is_left_out_and_the_others_are_learnt(both: Both, caplog: pytest.LogCaptureFixture) -> None:
    days = [write(both.folder / f"day-{day}.csv", rows(day)) for day in range(4)]
    both.learn([days[0]], *BY_VERDICT, **ASKED)
    caplog.set_level(logging.INFO, "jurybox")
    known, new = Path(days[0]).read_bytes(), Path(days[2]).read_bytes()
    for at, (content, counted) in enumerate([(known, 2), (known, 2), (new, 4)]):
        files = [days[1], days[3]] if at == 2 else [days[1]]
        pipe, writer = piped(both.folder, f"pipe-{at}", content)
        both.command("learn", *files, "-", *BY_VERDICT, stdin=content)
        caplog.clear()
        jb.learn([*files, pipe], state=both.states[1], **ASKED)
        writer.join()
        both.same()
        assert (f"{pipe}: skipped, because it was learnt before" in caplog.text) == (content is known)
        assert jb.Jury.load(both.states[1]).seen["rounds"] == counted


def batches(while_read: Callable[[], None], parts: int = 4) -> pa.RecordBatchReader:
    """A stream that runs a function before each of its batches."""
    numbers = ("a", "b", "c", "verdict")
    table = pa.Table.from_pylist([{"post": row["post"]} | {name: float(row[name] or "nan") for name in numbers} for row in rows(3)])

    def made() -> Iterator[pa.RecordBatch]:
        for part in range(parts):
            while_read()
            yield from table.slice(part * 10, 10).to_batches()

    return pa.RecordBatchReader.from_batches(table.schema, made())


PATIENT = """
    import sys
    sys.path.insert(0, {tests!r})
    import jurybox as jb, pyarrow as pa
    from test_learning_like_the_command import batches

    jury = jb.Jury(["a", "b", "c"], "lin-ucb")
    asked = []

    def ask():
        jury.values([[0.1, 0.2, 0.3]])
        jury.choose([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], k=1)
        asked.append(jury.seen["items"])

    {call}
    print(asked, jury.seen["items"])
"""


@pytest.mark.parametrize(
    ("call", "items"),
    [
        ("jb.learn(batches(ask), reward='verdict', state=jury)", 40),
        ("jb.pick(batches(ask), 3, id='post', state=jury)", 40),
        ("jb.pick(batches(ask), 3, id='post', state=jury, observe=False)", 0),
    ],
)
def test_a_jury_may_be_asked_by_whoever_makes_the_rows(call: str, items: int) -> None:
    code = textwrap.dedent(PATIENT).format(call=call, tests=str(Path(__file__).parent))
    # In a separate process, which can be killed on a deadlock.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, cwd=tempfile.gettempdir())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"[0, 0, 0, 0] {items}"


def test_a_jury_that_was_changed_meanwhile_is_left_as_it_is() -> None:
    jury = jb.Jury(["a", "b", "c"], "lin-ucb")

    def change() -> None:
        jury.learn([[0.1, 0.2, 0.3]], [1.0])

    for call in (lambda: jb.learn(batches(change), reward="verdict", state=jury), lambda: jb.learn(batches(change, 1), reward="verdict", state=jury)):
        before = jury.seen
        with pytest.raises(jb.Error) as caught:
            call()
        assert caught.value.code == "changed-meanwhile"
        assert (jury.seen["items"], jury.seen["rounds"]) == (before["items"], before["rounds"])
        assert jury.seen["used"] > before["used"]
    # A jury that only chooses may change meanwhile; after reading, the present jury picks.
    used = jury.seen["used"]
    jb.pick(batches(change), 3, id="post", state=jury, observe=False)
    jb.pick(batches(change), 3, id="post", state=jury)
    assert (jury.seen["used"], jury.seen["items"]) == (used + 8, 40)


def test_threads_that_teach_one_jury_lose_nothing(tmp_path: Path) -> None:
    days = [write(tmp_path / f"day-{day}.csv", rows(day, 400)) for day in range(12)]
    frames = [pd.DataFrame({name: [float(row[name] or "nan") for row in rows(day, 400)] for name in ("a", "b", "c", "verdict")}) for day in range(12, 20)]
    jury = jb.Jury(["a", "b", "c"], "lin-ucb")
    begin = threading.Barrier(len(days) + len(frames))
    failed: list[BaseException] = []

    def teach(data: Any) -> None:
        begin.wait()
        try:
            jb.learn(data, reward="verdict", state=jury)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=teach, args=(data,)) for data in [*days, *frames]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert (jury.seen["rounds"], jury.seen["items"]) == (20, 20 * 400)


FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas, by pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_that_come_again_are_counted_once_by_their_ids(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "jurybox")
    table = pd.DataFrame({"post": ["a", "b", "c", "d"], "spam": [0.9, 0.2, 0.8, 0.5], "abuse": [0.1, 0.3, 0.9, None], "verdict": [1.0, 0.0, 1.0, 0.0]})
    asked: dict[str, Any] = {"reward": "verdict", "id": "post"}
    jury = jb.learn(FRAMES[kind](table), **asked)
    before = pickle.dumps(jury)
    table.to_csv(tmp_path / "rows.csv", index=False)
    for again in (FRAMES[kind](table), FRAMES[kind](table[::-1]), tmp_path / "rows.csv", pl.from_pandas(table)):
        caplog.clear()
        jb.learn(again, state=jury, **asked)
        assert pickle.dumps(jury) == before and "skipped, because the same rows were learnt before; pass again=True to count it again" in caplog.text
    # Also in a state file, and in parts that are merged.
    jury.save(tmp_path / "state.json")
    jb.learn(FRAMES[kind](table), state=tmp_path / "state.json", **asked)
    assert jb.Jury.load(tmp_path / "state.json").seen["items"] == 4
    with pytest.raises(jb.Error, match="in the other states as well"):
        jury + jb.learn(FRAMES[kind](table), **asked)
    # A changed verdict or one more row is a new table. Without ids, or with again=True, all rows
    # count.
    grown = pd.concat([table, table[:1].assign(post="e")])
    for more, asking, items in ((grown, asked, 5), (table, asked | {"again": True}, 8), (table, asked | {"id": None}, 8)):
        assert jb.learn(FRAMES[kind](more), state=copy.copy(jury), **asking).seen["items"] == items
    with pytest.warns(jb.DataWarning, match="1 row has an id that was learnt before with other scores or another verdict: d"):
        other = jb.learn(FRAMES[kind](table.assign(verdict=[1.0, 0.0, 1.0, 1.0])), state=copy.copy(jury), **asked)
    assert other.seen["items"] == 5
