"""Rounds of a jury: picks, receipts, rewards and states."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import ROOT, made_up

import jurybox as jb

NAMES = ["e1", "e2", "e3"]


def rounds(many: int = 12, items: int = 15, seed: int = 3) -> list[np.ndarray]:
    # Within (0, 1), where every link has an inverse.
    return [np.clip(made_up(items, 3, seed + at)[0], 0.01, 0.99) for at in range(many)]


def reward(row: np.ndarray) -> float:
    # Summed from left to right, as the Rust example does: numpy adds in another order.
    present = [float(score) for score in row if not np.isnan(score)]
    return sum(present) / len(present) if present else 0.0


def play(jury: jb.Jury, tables: list[np.ndarray], k: int = 4, late: jb.Picks | None = None) -> tuple[list, jb.Picks | None]:
    """Rounds with verdicts on every second pick, one round late."""
    told = []
    for table in tables:
        picks = jury.round(table, k)
        told.append(list(zip(picks.items.tolist(), picks.probabilities.tolist(), picks.explored.tolist(), strict=True)))
        if late is not None:
            for one in range(0, len(late), 2):
                jury.learn(late[one], [reward(late[one].scores[0])])
        late = picks
    return told, late


def test_rust_and_python_pick_the_same(policy: str) -> None:
    program = ROOT / "target" / "release" / "examples" / "rounds"
    if not program.exists():
        pytest.fail("build it with `cargo build --release -p jurybox --example rounds`")
    tables = rounds()
    as_json = json.dumps([[[None if np.isnan(x) else x for x in row] for row in table] for table in tables])
    done = subprocess.run([program, policy, "7", "4"], input=as_json, capture_output=True, text=True, check=True)
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    told, _ = play(jb.Jury(NAMES, policy, seed=7), tables)
    assert [[list(pick) for pick in picks] for picks in told] == expected


def test_pickled_in_mid_run_both_go_on_alike(policy: str) -> None:
    tables = rounds()
    jury = jb.Jury(NAMES, policy, seed=11)
    _, late = play(jury, tables[:7])
    twins = [pickle.loads(pickle.dumps(jury)), copy.copy(jury), copy.deepcopy(jury)]
    told, _ = play(jury, tables[7:], late=late)
    for twin in twins:
        again, _ = play(twin, tables[7:], late=pickle.loads(pickle.dumps(late)))
        assert again == told
        assert twin.to_json() == jury.to_json()


def test_merged_halves_are_the_whole(policy: str) -> None:
    tables = rounds(8)
    whole, here, there = (jb.Jury(NAMES, policy) for _ in range(3))
    for at, table in enumerate(tables):
        for jury in (whole, here if at % 2 else there):
            jury.observe(table, at=at)
            jury.learn(table, [reward(row) for row in table], at=at)
    both = jb.merge(here, there)
    assert both.seen == whole.seen
    assert (here + there).to_json() == both.to_json()
    if not policy.startswith("rand"):
        np.testing.assert_allclose(both.values(tables[0]), whole.values(tables[0]), rtol=1e-6, atol=1e-9)


def test_save_and_load(tmp_path, policy: str) -> None:
    jury = jb.Jury(NAMES, policy)
    play(jury, rounds(4))
    jury.save(tmp_path / "jury.json")
    assert jb.Jury.load(tmp_path / "jury.json").to_json() == jury.to_json()
    assert jb.Jury.from_json(jury.to_json()).to_json() == jury.to_json()


def test_picks_go_through_a_database_and_come_back_in_any_order() -> None:
    jury = jb.Jury(NAMES, "exp4p(horizon=50)", seed=3)
    one, other = jury.round(rounds()[0], 5), jury.round(rounds()[1], 5)
    stored = json.loads(json.dumps(one.to_dicts() + other.to_dicts()))
    assert jb.Picks.from_dicts(stored) == one + other
    assert set(stored[0]) == {"item", "at", "probability", "explored", "scores", "advice", "bonus"}
    shuffled = [stored[at] for at in np.random.default_rng(0).permutation(len(stored))]
    direct, by_way = copy.copy(jury), copy.copy(jury)
    direct.learn(one, [0.5] * 5)
    direct.learn(other, [0.25] * 5)
    back = jb.Picks.from_dicts(shuffled)
    by_way.learn(back, [0.5 if at == one.at[0] else 0.25 for at in back.at])
    assert by_way.seen == direct.seen
    np.testing.assert_allclose(by_way.values(rounds()[2]), direct.values(rounds()[2]), rtol=1e-9)


def test_parts_of_picks() -> None:
    jury = jb.Jury(NAMES, "average")
    picks = jury.round(rounds()[0], 6)
    assert len(picks[1:3]) == 2
    assert picks[-1].items[0] == picks.items[-1]
    assert picks[np.array([True, False] * 3)] == picks[[0, 2, 4]] == picks[::2]
    assert picks[0] + picks[1:] == picks
    with pytest.raises(IndexError):
        picks[6]
    with pytest.raises(jb.Error):
        picks[[9]]
    assert jb.Picks.from_dicts([]) + picks == picks


def test_pools_observe_each_item_once() -> None:
    jury = jb.Jury(["a"], "esag", sigma=1)
    jury.round([[4.0], [0.0], [2.0]], 1, new=[True, True, True])
    picks = jury.round([[0.0], [2.0], [6.0]], 1, new=[2])
    assert picks.items.tolist() == [2]
    assert jury.seen["items"] == 4
    with pytest.raises(jb.Error, match="no row 7"):
        jury.round([[0.0]], 1, new=[7])
    with pytest.raises(jb.Error, match="2 flags for 1 rows"):
        jury.round([[0.0]], 1, new=[True, False])


def test_rewards_must_be_numbers_and_nothing_is_learnt_before() -> None:
    jury = jb.Jury(NAMES, "lin-ucb")
    picks = jury.round(rounds()[0], 3)
    before = jury.to_json()
    for bad in (float("nan"), float("inf"), 1e200):
        with pytest.raises(jb.Error) as caught:
            jury.learn(picks, [1.0, bad, 0.0])
        assert (caught.value.code, caught.value.item) == ("reward", 1)
    with pytest.raises(jb.Error, match="2 rewards for 3"):
        jury.learn(picks, [1.0, 0.0])
    with pytest.raises(jb.Error):
        jury.learn(picks, [1.0, "0", 0.0])
    assert jury.to_json() == before


def test_options_are_keywords() -> None:
    by_keyword = jb.Jury(NAMES, "eps-greedy", eps=0.1, slots=2, sigma={"e1": 0.1, "e3": 0.3, "e2": 0.2})
    assert by_keyword.policy == "eps-greedy(eps=0.1,sigma=[0.1,0.2,0.3],slots=2)"
    assert jb.Jury(NAMES, "lin-ucb", lambda_=0.5).policy == "lin-ucb(lambda=0.5)"
    assert jb.Jury(NAMES, jb.policies.lin_ucb(lambda_=0.5)).policy == "lin-ucb(lambda=0.5)"
    assert jb.Jury(NAMES, "oracle", alpha=np.ones(3), sigma=[1, 2, 3]).weights().keys() == set(NAMES)
    with pytest.raises(jb.Error, match="colour"):
        jb.Jury(NAMES, "esag", colour=1)
    with pytest.raises(jb.Error, match="set twice"):
        jb.Jury(NAMES, "esag(sigma=1)", sigma=2)
    with pytest.raises(jb.Error, match="did you mean"):
        jb.Jury(NAMES, "esagg")


def test_every_policy_says_what_it_takes() -> None:
    for entry in jb.policies.table():
        function = getattr(jb.policies, entry["name"].replace("-", "_"))
        assert entry["assumes"] in function.__doc__
        for option in entry["options"]:
            assert option["help"] in function.__doc__
        with pytest.raises(TypeError):
            function(colour=1)


def test_directions() -> None:
    low = jb.Jury(["quality"], "average", invert=["quality"])
    assert low.round([[1.0], [5.0]], 1).items.tolist() == [0]
    assert low.inverted == ["quality"]
    assert jb.Jury(["quality"], "average", inverted=[0]).inverted == ["quality"]
    with pytest.raises(jb.Error, match="no evaluator `spam`"):
        jb.Jury(["quality"], invert=["spam"])


def test_evaluators_come_and_go() -> None:
    jury = jb.Jury(["spam", "abuse"], "adaptive")
    picks = jury.round(np.array([[0.9, 0.1], [0.2, 0.7], [0.5, 0.5]]), 2)
    jury.set_evaluators(["newcomer", "spam"])
    with pytest.warns(jb.DataWarning, match="missing: scores of `newcomer`; not used: scores of `abuse`"):
        assert jury.learn(picks, [1.0, 0.0]).used == 2
    assert jury.evaluators == ["newcomer", "spam"]
    other = jb.Jury(["elsewhere"], "adaptive")
    with pytest.raises(jb.Error, match="scored by"):
        other.learn(picks, [1.0, 0.0])


def test_what_a_jury_tells() -> None:
    scores, rewards = made_up(300, 3, missing=0.0)
    jury = jb.Jury(NAMES)
    jury.observe(scores, at=0)
    jury.learn(scores, rewards, at=0)
    mean, low, high = jury.predict(scores, level=0.8)
    assert np.all(low <= mean) and np.all(mean <= high)
    narrow = jury.predict(scores, level=0.5)
    assert np.all(narrow[2] - narrow[1] <= high - low)
    weights, sure = jury.weights(), jury.weights(level=0.9)
    assert weights["e3"] > weights["e1"]
    assert all(sure[name][1] <= sure[name][0] <= sure[name][2] for name in NAMES)
    base, each = jury.contributions(scores)
    np.testing.assert_allclose(base + each.sum(axis=1), jury.values(scores), rtol=1e-9, atol=1e-9)
    assert jury.probabilities(scores, 5).sum() == pytest.approx(5)
    assert jury.alarms() == []
    with pytest.raises(jb.Error, match="`esag` cannot predict"):
        jb.Jury(NAMES, "esag").predict(scores)
    with pytest.raises(jb.Error, match="level"):
        jury.predict(scores, level=1.5)


def test_a_fit_never_changes_and_pickles() -> None:
    jury = jb.Jury(NAMES, "esag")
    jury.observe(rounds()[0])
    fitted = jury.fit()
    before = fitted.values(rounds()[1])
    jury.observe(rounds()[1])
    np.testing.assert_array_equal(fitted.values(rounds()[1]), before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).values(rounds()[1]), before)
    assert fitted.choose(rounds()[1], 3, seed=4) == fitted.choose(rounds()[1], 3, seed=4)


def test_threads_share_a_jury() -> None:
    jury, tables = jb.Jury(NAMES, "esag"), rounds(40)

    def work(mine: list[np.ndarray]) -> None:
        for table in mine:
            picks = jury.round(table, 3)
            jury.learn(picks, [0.5] * 3)
            jury.values(table)

    threads = [threading.Thread(target=work, args=(tables[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert jury.seen["rounds"] == 40


def test_errors_say_where_and_pickle() -> None:
    jury = jb.Jury(["toxicity", "spam"])
    with pytest.raises(jb.Error) as caught:
        jury.round([[0.1, 0.2], [0.3, float("-inf")]], 1)
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, ValueError)
    assert (error.code, error.item, error.evaluator, error.column, error.value) == ("score", 1, "spam", "spam", float("-inf"))
    assert str(error) == str(caught.value)
    with pytest.raises(FileNotFoundError) as missing:
        jb.Jury.load("no-such-file.json")
    again = pickle.loads(pickle.dumps(missing.value))
    assert again.code == "no-file" and "no-such-file.json" in str(again)


def test_damaged_states_are_refused() -> None:
    text = jb.Jury(NAMES).to_json()
    for bad in ("", "{}", text[: len(text) // 2], text.replace('"rounds": 0', '"rounds": -1')):
        with pytest.raises(jb.Error):
            jb.Jury.from_json(bad)


def test_shown_in_a_notebook() -> None:
    jury = jb.Jury(["<b>", "spam"], "esag")
    jury.observe([[0.5, 0.2], [0.1, 0.9]])
    page = jury._repr_html_()
    assert "&lt;b&gt;" in page and "<b>spam" not in page
    assert "2 items" in repr(jury)
    assert "rand" in jb.Jury(NAMES, "rand")._repr_html_()


def test_a_column_that_is_not_there_is_missing_scores_with_a_warning_everywhere() -> None:
    """A missing column has missing scores, with a warning: in ranking, predicting, picking and
    learning, for every input type."""
    frame = pd.DataFrame({"spam": [0.9, 0.2, 0.8], "other": [1, 2, 3]})
    jury = jb.Jury(["spam", "abuse"])
    known = [[0.9, 0.1], [0.2, 0.3], [0.8, 0.9], [0.5, 0.1]]
    jury.observe(known + known)
    jury.learn(known, [1, 0, 1, 0])
    holes = np.column_stack([frame["spam"], np.full(3, np.nan)])
    calls: dict[str, Callable[[Any], Any]] = {
        "values": jury.values, "predict": lambda scores: jury.predict(scores)[0], "contributions": lambda scores: jury.contributions(scores)[1],
        "fitted": jury.fit().values, "choose": lambda scores: jury.choose(scores, 2, seed=1).items,
        "round": lambda scores: copy.copy(jury).round(scores, 2).items, "learn": lambda scores: copy.copy(jury).learn(scores, [1, 0, 1]).used,
    }  # fmt: skip
    for name, call in calls.items():
        expected = call(holes)
        for given in (frame, pl.from_pandas(frame), frame.to_dict("list"), frame.to_dict("records")):
            with pytest.warns(jb.DataWarning, match="^there is no column `abuse`: its scores are missing$") as told:
                np.testing.assert_array_equal(call(given), expected, err_msg=name)
            assert told[0].filename == __file__
        for none in (frame[["other"]], {"other": [1, 2, 3]}, [{"other": 1}]):
            with pytest.raises(jb.Error, match="no evaluator has a column: looked for spam, abuse") as caught:
                call(none)
            assert caught.value.code == "none-of-the-evaluators"
    with pytest.warns(jb.DataWarning, match="there is no column `abuse`: its scores are missing"):
        assert list(jb.rank(frame, k=2, state=jury)["spam"]) == [0.9, 0.8]


def test_rows_that_were_never_seen_teach_half() -> None:
    """Rewards of items that the jury has not observed cause a warning."""
    scores, rewards = made_up(200, 3)
    jury = jb.Jury(NAMES)
    with pytest.warns(jb.DataWarning, match=r"`adaptive` also learns from the scores of all items, and has not observed these: pass them to observe\(\)") as told:
        jury.learn(scores, rewards)
    assert told[0].filename == __file__ and np.ptp(jury.values(scores)) == 0
    jury = jb.Jury(NAMES)
    jury.observe(scores)
    jury.learn(scores, rewards)  # no warning, which would be an error here
    assert np.corrcoef(jury.values(scores), rewards)[0, 1] > 0.8
    jb.Jury(NAMES, "lin-ucb").learn(scores, rewards)  # learns from rewards alone
