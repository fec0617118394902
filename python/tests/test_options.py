"""The functions have the options of the commands under the same names, and give the same
results."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import made_up, run

import jurybox as jb

#: Options with another name in Python, which avoids negations.
OTHERWISE = {"no_header": "header", "no_observe": "observe"}
#: Options that only a command needs, and what replaces them in Python.
NOT_HERE = {
    "help": "help(jb.rank)",
    "quiet": "the log and the warnings of Python",
    "json": "results are objects; to_dict() and to_json() of reports and replays",
    "svg": "jb.replay(...).save('it.svg')",
    "html": "jb.replay(...).save('it.html')",
}
NOT_IN = {"report": {"out": "jb.report(...).save('it.html')"}}


#: Commands over tables, each with a function of its name.
COMMANDS = ["rank", "pick", "learn", "merge", "replay", "report", "prevalence"]
#: Commands without a function, and what replaces them in Python.
NO_FUNCTION = {
    "completions": "shells only",
    "demo": "to be watched",
    "export": "the records of a queue, as files",
    "queue": "jb.Client, or a Jury in a program of one's own",
    "help": "help(jb)",
    "man": "help(jb)",
    "policies": "jb.policies",
    "reproduce": "the paper's own figures",
    "serve": "a server; jb.Client asks it",
    "server": "the records of a server",
    "simulate": "simulated queues, no tables",
}


def test_every_command_has_a_function_or_a_reason_for_none() -> None:
    listed = run("--help").split("Options:\n")[0]
    told = re.findall(r"^  ([a-z][a-z-]*) {2,}", listed, re.M)
    assert sorted(told) == sorted([*COMMANDS, *NO_FUNCTION])
    assert all(callable(getattr(jb, command)) for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_one_of_its_function(command: str) -> None:
    # Descriptions are indented further, and a line of one may begin with an option.
    told = set(re.findall(r"^ {2,6}(?:-\w, )?--([a-z][a-z-]*)", run(command, "--help"), re.M))
    assert {"help"} <= told
    here = set(inspect.signature(getattr(jb, command)).parameters)
    for option in (name.replace("-", "_") for name in told):
        if option in NOT_HERE or option in NOT_IN.get(command, {}):
            assert option not in here, option
        else:
            assert OTHERWISE.get(option, option) in here, f"jb.{command} has no {option}="


def lines(*command: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run(*command, "--quiet"))))


AS_WRITTEN = {
    "decimal commas": ("p;a;b\n" + "".join(f"p{i};{i % 7},5;{i % 11},250\n" for i in range(60)), [], {}),
    "said to be": ("p;a;b\n" + "".join(f"p{i};{i % 7},500;{i % 11},250\n" for i in range(60)), ["--decimal", ","], {"decimal": ","}),
    "delimiter": ("p|a|b\n" + "".join(f"p{i}|{i % 7}|{i % 11}\n" for i in range(60)), ["--delimiter", "|"], {"delimiter": "|"}),
    "no header": ("".join(f"p{i},{i % 7},{i % 11}\n" for i in range(60)), ["--no-header"], {"header": False}),
    "na": ("p,a,b\n" + "".join(f"p{i},{-99 if i % 5 == 0 else i % 7},{'k.A.' if i % 3 == 0 else i % 11}\n" for i in range(60)),
           ["--na", "-99,k.A."], {"na": [-99, "k.A."]}),
    "long": ("p,who,grade,topic\n" + "".join(f"p{i},judge{j},{(i * 3 + j * 5) % 13},t{i % 4}\n" for i in range(60) for j in range(3) if i % (j + 2)),
             ["--long", "p,who,grade"], {"long": "p,who,grade"}),
    "yes and no": ("p,a,b\n" + "".join(f"p{i},{'yes' if i % 3 else 'no'},{i % 11}\n" for i in range(60)), [], {}),
    "odd cells": ("p,a,b\n" + "".join(f"p{i},{'??!' if i == 7 else i % 7},{i % 11}\n" for i in range(60)), [], {}),
    "format": ("p,a,b\n" + "".join(f"p{i},{i % 7},{i % 11}\n" for i in range(60)), ["--input-format", "csv"], {"input_format": "csv"}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::jurybox.DataWarning")
@pytest.mark.parametrize("case", AS_WRITTEN)
def test_files_are_read_as_the_command_reads_them(case: str, tmp_path) -> None:
    text, options, keywords = AS_WRITTEN[case]
    path = tmp_path / ("scores.odd" if case == "format" else "scores.csv")
    path.write_text(text)
    expected = lines("rank", path, "-k", 9, "--policy", "average", *options)
    found = jb.rank(path, k=9, policy="average", **keywords).to_dicts()
    name = "column1" if case == "no header" else "p"
    assert [row[name] for row in found] == [line[name] for line in expected]
    assert [row["score"] for row in found] == [float(line["score"]) for line in expected]


@pytest.mark.filterwarnings("ignore::jurybox.DataWarning")
def test_frames_are_read_as_their_files_are(tmp_path) -> None:
    # Missing-value numbers and grades mean the same in a frame.
    text, options, keywords = AS_WRITTEN["long"]
    (tmp_path / "long.csv").write_text(text)
    expected = lines("rank", tmp_path / "long.csv", "-k", 9, "--policy", "average", *options)
    long = pd.read_csv(tmp_path / "long.csv")
    for frame in (long, pl.from_pandas(long), pa.Table.from_pandas(long)):
        found = jb.rank(frame, k=9, policy="average", **keywords)
        assert type(found) is type(frame)
        found = found.to_pandas() if not isinstance(found, pd.DataFrame) else found
        assert list(found["p"]) == [line["p"] for line in expected]
        assert list(found["topic"]) == [line["topic"] for line in expected]
    scores = pd.DataFrame({"p": [f"p{i}" for i in range(40)], "a": [-99.0 if i % 5 == 0 else i % 7 for i in range(40)], "b": np.arange(40) % 11})
    scores.to_csv(tmp_path / "na.csv", index=False)
    expected = lines("rank", tmp_path / "na.csv", "-k", 9, "--policy", "average", "--na", "-99")
    for frame in (scores, pl.from_pandas(scores), pa.Table.from_pandas(scores), duckdb.sql("select * from scores")):
        found = jb.rank(frame, k=9, policy="average", na=-99)
        found = found if isinstance(found, pd.DataFrame) else found.to_pandas()
        assert list(found["p"]) == [line["p"] for line in expected]


def test_picks_of_graded_items_are_the_commands(tmp_path) -> None:
    text, options, keywords = AS_WRITTEN["long"]
    (tmp_path / "long.csv").write_text(text)
    long = pd.read_csv(tmp_path / "long.csv")
    expected = [line["p"] for line in lines("pick", tmp_path / "long.csv", "-k", 5, "--id", "p", "--state", tmp_path / "state.json", "--policy", "average", *options)]
    for data in (long, pl.from_pandas(long), pa.Table.from_pandas(long), tmp_path / "long.csv"):
        jury = jb.Jury(["judge0", "judge1", "judge2"], "average")
        picks = jb.pick(data, k=5, id="p", state=jury, **keywords)
        posts = picks["p"].to_pylist() if isinstance(picks, pa.Table) else list(picks["p"])
        assert posts == expected, type(data)
        assert type(picks) is (jb.Rows if data is not long and not hasattr(data, "shape") else type(data))
        verdicts = pl.DataFrame({"p": posts, "verdict": [1.0, 0.0, 1.0, 0.0, 1.0]})
        jb.learn(picks=picks, verdicts=verdicts, id="p", reward="verdict", state=jury)
    for keywords in ({"long": "p,who"}, {"delimiter": "ab"}, {"decimal": ";"}, {"input_format": "xlsx"}):
        with pytest.raises(jb.Error) as caught:
            jb.rank(tmp_path / "long.csv", k=3, **keywords)
        assert caught.value.code == next(iter(keywords)).replace("_", "-")


def test_whole_numbers_that_name_things_are_no_evaluators(tmp_path) -> None:
    scores, _ = made_up(300, 2)
    frame = pd.DataFrame(scores, columns=["spam", "abuse"]).assign(number=np.arange(300)[::-1] * 7 + 1000, id=np.arange(300) % 7)
    frame.to_csv(tmp_path / "posts.csv", index=False)
    expected = [int(line["number"]) for line in lines("rank", tmp_path / "posts.csv", "-k", 5, "--policy", "average")]
    small = frame.convert_dtypes(dtype_backend="pyarrow")
    kinds = (frame, frame.convert_dtypes(), small, pl.from_pandas(frame), pa.Table.from_pandas(frame), duckdb.sql("select * from frame"), tmp_path / "posts.csv")
    for data in kinds:
        found = jb.rank(data, k=5, policy="average")
        numbers = found["number"].to_pylist() if isinstance(found, pa.Table) else list(found["number"])
        assert [int(number) for number in numbers] == expected, type(data)  # cells of CSV are text
        assert jb.learn(data).evaluators == ["spam", "abuse"], type(data)
    assert jb.learn(frame, evaluators=["number"]).evaluators == ["number"]
    for kind in (">i4", "u1", "i8", ">u2"):  # for every type of input
        assert jb.learn(frame.assign(number=np.arange(300).astype(kind) if kind != "u1" else np.arange(300) % 250, few=(np.arange(300) % 3).astype(kind))).evaluators[-1] == "few"


def test_text_is_read_as_people_write_it() -> None:
    frame = pd.DataFrame({"a": ["yes", "no", "yes", None], "b": ["13%", "50%", "20%", "4/5"]})
    for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        found = jb.rank(data, k=4, weights={"a": 0.0, "b": 1.0}, evaluators=["a", "b"])
        scores = found["score"].to_pylist() if isinstance(found, pa.Table) else list(found["score"])
        assert scores[0] == 0.8, type(data)
    odd = pd.DataFrame({"a": [str(i / 100) for i in range(40)] + ["high"]})
    for data in (odd, pl.from_pandas(odd)):
        with pytest.warns(jb.DataWarning, match="1 of 41 cells are not numbers"):
            jb.rank(data, k=2, evaluators="a", policy="average")


def test_spreadsheets_find_no_formula(tmp_path) -> None:
    frame = pl.DataFrame({"post": ["=1+1", "b"], "spam": [0.9, 0.1]})
    jb.rank(frame.write_csv(tmp_path / "posts.csv") or tmp_path / "posts.csv", k=2, out=tmp_path / "safe.csv", safe_csv=True)
    run("rank", tmp_path / "posts.csv", "-k", 2, "--out", tmp_path / "command.csv", "--safe-csv", "--quiet")
    assert (tmp_path / "safe.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    assert "'=1+1" in (tmp_path / "safe.csv").read_text()


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    scores, rewards = made_up(1200, 3)
    frame = pd.DataFrame(scores, columns=["a", "b", "c"]).assign(verdict=rewards.round(2), day=np.repeat([f"d{d}" for d in range(12)], 100))
    path = tmp_path_factory.mktemp("history") / "history.csv"
    frame.to_csv(path, index=False)
    return pd.read_csv(path), path


WAYS = {
    "rounds": (["--round", "day"], {"round": "day"}),
    "dealt": (["--items", 50, "--rounds", 8, "--ignore", "day"], {"items": 50, "rounds": 8, "ignore": "day"}),
    "pool": (["--pool", "--budget", 60, "--ignore", "day"], {"pool": True, "budget": 60, "ignore": "day"}),
    "folds": (["--folds", 4, "--ignore", "day"], {"folds": 4, "ignore": "day"}),
    "reuse": (["--reuse", "--rounds", 20, "--ignore", "day"], {"reuse": True, "rounds": 20, "ignore": "day"}),
    "weights": (["--weights", "a=0.2,b=0.5", "--ignore", "day"], {"weights": {"a": 0.2, "b": 0.5}, "ignore": "day"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_replays_are_the_commands(history, way: str, tmp_path) -> None:
    frame, path = history
    options, keywords = WAYS[way]
    common = ["--reward", "verdict", "--runs", 2, "-k", 5, "--seed", 3, "--policies", "average,lin-ucb,eps-greedy(eps=0.2)"]
    expected = json.loads(run("replay", path, *common, *options, "--picks", tmp_path / "command.csv", "--json", "--quiet"))
    for data in (frame, path):
        found = jb.replay(data, reward="verdict", runs=2, k=5, seed=3, policies="average,lin-ucb,eps-greedy(eps=0.2)", picks=tmp_path / "python.csv", **keywords)
        assert found.to_dict() == expected
        assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    assert found.to_svg().startswith("<svg")
    found.save(tmp_path / "it.svg")
    assert (tmp_path / "it.svg").read_text() == found.to_svg()


@pytest.mark.parametrize(
    "keywords",
    [{"pool": True, "round": "day"}, {"pool": True, "items": 5}, {"folds": 3, "rounds": 5}, {"reuse": True, "round": "day"},
     {"pool": True, "folds": 3}, {"budget": 5}, {"probability": "a", "pool": True}, {"reward_range": (0, 1)}],
    ids=str,
)  # fmt: skip
def test_what_does_not_go_together_is_refused_as_by_the_command(history, keywords: dict[str, object]) -> None:
    frame, path = history
    line = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value[0]},{value[1]}" if isinstance(value, tuple) else f"={value}") for name, value in keywords.items()]
    with pytest.raises(AssertionError, match="cannot be used with|not provided"):
        run("replay", path, "--reward", "verdict", *line)
    with pytest.raises(jb.Error) as caught:
        jb.replay(frame, reward="verdict", **keywords)
    assert caught.value.code == "two-ways"


@pytest.mark.parametrize("logged", ["rounds", "population"])
def test_estimates_from_logs_are_the_commands(history, logged: str, tmp_path) -> None:
    frame, _ = history
    draws = np.random.default_rng(4)
    log = frame.assign(p=draws.uniform(0.2, 1.0, size=len(frame)).round(3))
    looked_at = draws.uniform(size=len(log)) < log["p"]
    if logged == "rounds":
        log.loc[~looked_at, "verdict"] = np.nan
        options, keywords = ["--round", "day"], {"round": "day"}
    else:
        log = log[looked_at].drop(columns="day").reset_index(drop=True)
        options, keywords = ["--items", 20], {"items": 20}
    log.to_csv(tmp_path / "log.csv", index=False)
    options += ["--reward", "verdict", "--probability", "p", "-k", 5, "--policies", "average,lin-ucb", "--reward-range", "0,2"]
    expected = json.loads(run("replay", tmp_path / "log.csv", *options, "--json", "--quiet"))
    found = jb.replay(pd.read_csv(tmp_path / "log.csv"), reward="verdict", probability="p", k=5, policies=["average", "lin-ucb"], reward_range=(0, 2), **keywords)
    assert found.to_dict() == expected
    with pytest.raises(jb.Error, match="drawing"):
        found.to_svg()


def test_reports_are_the_commands(history, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = history
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    expected = json.loads(run("report", path, "--reward", "verdict", "--ignore", "day", "--json", "--quiet"))
    # These fields are about a state; in Python, see `Jury.alarms()`.
    assert (expected.pop("alarms"), expected.pop("diagnostics")) == ([], [])
    assert jb.report(path, reward="verdict", ignore="day").to_dict() == expected
    assert expected["made_at"] == "1970-01-02T00:00:00Z"
    run("report", path, "--reward", "verdict", "--ignore", "day", "--out", tmp_path / "command.html", "--quiet")
    jb.report(path, reward="verdict", ignore="day").save(tmp_path / "python.html")
    assert (tmp_path / "python.html").read_bytes() == (tmp_path / "command.html").read_bytes()


APART = {
    "nothing": ([], {}),
    "by": (["--by", "language"], {"by": "language"}),
    "period": (["--period", "created/week"], {"period": "created/week"}),
    "both": (["--by", "language", "--period", "created/month"], {"by": "language", "period": "created/month"}),
    "prediction": (["--prediction", "a"], {"prediction": "a"}),
    "range": (["--reward-range", "0,2"], {"reward_range": (0, 2)}),
    "id": (["--id", "post"], {"id": "post"}),
}


@pytest.fixture(scope="module")
def checked_log(history, tmp_path_factory):
    draws = np.random.default_rng(6)
    frame = history[0].drop(columns="day").assign(p=0.25, language=draws.choice(["de", "en", ""], size=1200), post=np.arange(1200) // 2 + 1)
    frame["created"] = pd.Timestamp("2026-10-01") + pd.to_timedelta(draws.integers(0, 60, size=1200), unit="D")
    frame.loc[draws.uniform(size=1200) > 0.25, "verdict"] = np.nan
    path = tmp_path_factory.mktemp("checked_log") / "checked_log.csv"
    frame.to_csv(path, index=False)
    return frame, path


@pytest.mark.filterwarnings("ignore::jurybox.DataWarning")
@pytest.mark.parametrize("way", APART)
def test_prevalence_is_the_commands(checked_log, way: str) -> None:
    frame, path = checked_log
    options, keywords = APART[way]
    aside = [name for name in ("language", "created", "post") if name not in str(keywords)]
    options = [*options, "--reward", "verdict", "--probability", "p", "--ignore", ",".join(aside)]
    expected = json.loads(run("prevalence", path, *options, "--json", "--quiet"))
    kinds = (frame, frame.assign(language=frame["language"].astype("category")), frame.convert_dtypes(dtype_backend="pyarrow"),
             pl.from_pandas(frame), pa.Table.from_pandas(frame), duckdb.sql("select * from frame"), path)  # fmt: skip
    for data in kinds:
        found = jb.prevalence(data, reward="verdict", probability="p", ignore=aside, **keywords)
        assert found.to_dict() == expected, type(data)
    assert str(found) == run("prevalence", path, *options, "--quiet")
    assert (found.all, found.lines) == (expected["all"], expected["lines"])
    assert "reviewed" in found._repr_html_()


def test_prevalence_by_a_state_is_the_commands(checked_log, history, tmp_path) -> None:
    frame, path = checked_log
    state = tmp_path / "state.json"
    run("learn", history[1], "--reward", "verdict", "--ignore", "day", "--state", state, "--quiet")
    options = ["--reward", "verdict", "--probability", "p", "--ignore", "language,created,post", "--state", state]
    expected = json.loads(run("prevalence", path, *options, "--json", "--quiet"))
    for jury in (state, jb.Jury.load(state)):
        found = jb.prevalence(frame, reward="verdict", probability="p", ignore=["language", "created", "post"], state=jury)
        assert found.to_dict() == expected


@pytest.mark.filterwarnings("ignore::jurybox.DataWarning")
def test_prevalence_with_golden_items_and_late_verdicts_is_the_commands(tmp_path) -> None:
    scores, _ = made_up(600, 2)
    hour = pd.DataFrame(scores, columns=["spam", "abuse"]).assign(post=[f"p{i}" for i in range(600)])
    jb.pick(hour, k=200, id="post", state=tmp_path / "state.json", policy="uniform", all=True, out=tmp_path / "log.csv")
    log = pd.read_csv(tmp_path / "log.csv")
    # One in seven picks lacks a verdict; its receipt shows that it was picked.
    is_yes = (log["spam"] > log["spam"].median()).astype(float)
    log["verdict"] = is_yes.where(log["receipt"].notna() & (log.index % 7 != 0))
    known = [float(i % 4 == 0) for i in range(80)]
    golden = hour[:80].assign(post=[f"g{i}" for i in range(80)], known=known, verdict=[float(i == 1 or i % 4 == 0) for i in range(80)])
    rows = pd.concat([log, golden], ignore_index=True)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--id", "post", "--reward", "verdict", "--probability", "probability", "--golden", "known", "--evaluators", "spam,abuse"]
    expected = json.loads(run("prevalence", tmp_path / "rows.csv", *options, "--json", "--quiet"))
    found = jb.prevalence(rows, id="post", reward="verdict", probability="probability", golden="known", evaluators=["spam", "abuse"])
    assert found.to_dict() == expected
    assert found.all["rows"] == 600 and found.all["outstanding"] > 10
    assert found.to_dict()["errors"]["false_positive_rate"]["mean"] == pytest.approx(1 / 60)
    assert "uncorrected" in found._repr_html_()


@pytest.mark.parametrize(
    ("keywords", "code"),
    [({"prediction": "a", "evaluators": "b"}, "two-ways"), ({"prediction": "a", "state": jb.Jury(["a"])}, "two-ways"),
     ({"by": "created", "period": "created/week"}, "two-ways"), ({"period": "created"}, "period"), ({"period": "/day"}, "period"),
     ({"by": "nowhere"}, "unknown-column"), ({"reviewer": "language"}, "two-ways"), ({"golden": "a"}, "setting")],
    ids=str,
)  # fmt: skip
def test_what_prevalence_cannot_do_is_refused(checked_log, keywords: dict[str, object], code: str) -> None:
    for data in checked_log:
        with pytest.raises(jb.Error) as caught:
            jb.prevalence(data, reward="verdict", probability="p", **keywords)
        assert caught.value.code == code


def test_what_is_told_apart_cannot_write_a_page(checked_log) -> None:
    frame = checked_log[0].assign(language="<script>alert(1)</script>")
    found = jb.prevalence(frame, reward="verdict", probability="p", by="language", ignore=["created", "post"])
    assert "<script>" not in found.to_html()


def test_states_replay_under_the_names_of_the_command(history, tmp_path) -> None:
    frame, path = history
    state = tmp_path / "state.json"
    run("learn", path, "--reward", "verdict", "--ignore", "day", "--state", state, "--quiet")
    options = ["--reward", "verdict", "--runs", 1, "--ignore", "day", "--policies", "average"]
    expected = json.loads(run("replay", path, *options, "--state", state, "--json", "--quiet"))
    assert jb.replay(frame, reward="verdict", runs=1, ignore="day", policies="average", state=state).to_dict() == expected
    names = [line["name"] for line in jb.replay(frame, reward="verdict", runs=1, ignore="day", policies="average", state={"earlier": jb.Jury.load(state)})["policies"]]
    assert names == ["average", "earlier"]


def test_nothing_is_counted_twice(tmp_path) -> None:
    scores, _ = made_up(120, 2)
    hour = pd.DataFrame(scores, columns=["spam", "abuse"]).assign(post=[f"p{i}" for i in range(120)])
    hour.to_csv(tmp_path / "hour.csv", index=False)
    state = tmp_path / "state.json"
    picks = jb.pick(tmp_path / "hour.csv", k=10, id="post", state=state, policy="lin-ucb", out=tmp_path / "picks.csv")
    with pytest.raises(jb.Error) as caught:
        jb.learn(tmp_path / "hour.csv", state=state)  # its rows were observed when they were picked
    assert caught.value.code == "picked-from"
    for those in (tmp_path / "picks.csv", picks, picks.to_pandas()):
        with pytest.raises(jb.Error) as caught:
            jb.learn(those, state=state)
        assert caught.value.code == "are-picks"
    with pytest.raises(jb.Error) as caught:
        jb.pick(tmp_path / "hour.csv", k=10, id="post", state=state, out=state)
    assert caught.value.code == "overwrites-input"
    (tmp_path / "quiet.csv").write_text("post,verdict\n")
    jb.learn(picks=tmp_path / "picks.csv", verdicts=tmp_path / "quiet.csv", id="post", reward="verdict", state=state)
    assert jb.Jury.load(state).seen["used"] == 0
    empty = pl.DataFrame({"post": [], "verdict": []}, schema={"post": pl.String, "verdict": pl.Float64})
    jb.learn(picks=picks, verdicts=empty, id="post", reward="verdict", state=state)
    found = pl.DataFrame({"post": [row["post"] for row in picks.to_dicts()], "verdict": ["yes", "no"] * 5})
    jb.learn(picks=picks, verdicts=found, id="post", reward="verdict", state=state)
    assert jb.Jury.load(state).seen["used"] == 10
    with pytest.warns(jb.DataWarning, match="which stays: the time 77 is ignored"):
        jb.pick(tmp_path / "hour.csv", k=10, id="post", state=state, at=77)
    hours = hour.assign(post=[f"q{i}" for i in range(120)])
    hours["spam"] *= 0.5
    other = tmp_path / "other.json"
    jb.pick(hours, k=5, id="post", state=other, policy="lin-ucb")
    both = jb.merge(state, other, out=tmp_path / "both.json")
    assert jb.Jury.load(tmp_path / "both.json").to_json() == both.to_json()
    assert both.seen["items"] == 240


def test_who_may_join_and_leave(tmp_path) -> None:
    scores, rewards = made_up(100, 3)
    frame = pd.DataFrame(scores, columns=["a", "b", "c"]).assign(verdict=rewards)
    jury = jb.learn(frame[["a", "b", "verdict"]], reward="verdict")
    with pytest.raises(jb.Error) as caught:
        jb.learn(frame, reward="verdict", state=jury, evaluators=["a", "c"])
    assert caught.value.code == "would-forget" and caught.value.evaluator == "b"
    jb.learn(frame, reward="verdict", state=jury, evaluators=["a", "c"], drop="b")
    assert jury.evaluators == ["a", "c"]
    with pytest.raises(jb.Error) as caught:
        jb.learn(frame, reward="verdict", state=jury, policy="esag")
    assert caught.value.code == "other-policy"
    with pytest.raises(jb.Error) as caught:
        jb.rank(frame, k=3, state=jury, evaluators=["a", "b"])
    assert caught.value.code == "other-evaluators"
    for call in (lambda: jb.learn(frame, state=jury, drop="nobody"), lambda: jb.learn(frame, state=jury, drop=["a", "c"])):
        with pytest.raises(jb.Error) as caught:
            call()
        assert caught.value.code == "evaluators"
