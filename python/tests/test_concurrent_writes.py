"""Arrays that another thread writes to during a call: the numbers read may be old or new, and
nothing else goes wrong."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import jurybox as jb

#: Large enough not to be copied at once.
ROWS = 300_000
NAMES = ["a", "b"]


@contextmanager
def written_to(array: np.ndarray, value: float = np.inf) -> Iterator[None]:
    """A thread switches a score of the last row between valid and invalid every few
    milliseconds."""
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            array[-1] = value
            time.sleep(0.003)
            array[-1] = 0.5
            time.sleep(0.003)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def scores(order: str = "C") -> np.ndarray:
    return np.array(np.random.default_rng(0).uniform(size=(ROWS, 2)), order=order)  # type: ignore[call-overload]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("policy", ["adaptive", "lin-ucb", "esag", "eval-ucb"])
def test_a_jury_stays_one_that_can_be_read(policy: str, order: str) -> None:
    table, rewards = scores(order), np.ones(ROWS)
    jury, refused = jb.Jury(NAMES, policy), 0
    with written_to(table), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(40):
            try:
                if turn % 4 == 3:
                    jury.observe(table)
                elif turn % 4 == 2:
                    jury.round(table, 3)
                else:
                    jury.learn(table, rewards)
            except jb.Error as error:
                assert (error.code, error.item) == ("score", ROWS - 1)
                refused += 1
            jb.Jury.from_json(jury.to_json())
    assert 0 < refused < 40  # it was written to some of the time
    assert np.isfinite(jury.values(np.ones((1, 2)))).all()
    assert jury.seen["used"] % ROWS == 0 and jury.seen["items"] % ROWS == 0


def test_what_is_asked_of_a_fit_is_a_number_or_refused() -> None:
    table = scores()
    jury = jb.Jury(NAMES, "lin-ucb")
    jury.learn(table[:1000], table[:1000, 0].copy())
    fitted = jury.fit()
    with written_to(table):
        for _ in range(10):
            for ask in (fitted.values, fitted.contributions, lambda given: fitted.probabilities(given, 3), lambda given: fitted.choose(given, 3).scores):
                try:
                    found = ask(table)
                except jb.Error as error:
                    assert (error.code, error.item) == ("score", ROWS - 1)
                else:
                    assert all(np.isfinite(each).all() for each in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("policy", ["adaptive", "lin-ucb"])
def test_columns_of_a_frame_are_numbers_or_refused(policy: str) -> None:
    columns = [np.ascontiguousarray(scores()[:, j]) for j in (0, 1, 1)]
    frame = pd.DataFrame(dict(zip(["a", "b", "verdict"], columns, strict=True)), copy=False)
    if not np.shares_memory(frame["a"].to_numpy(), columns[0]):
        pytest.skip("this pandas copies what it is made of")
    for at in (0, 2):
        with written_to(columns[at]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(15):
                try:
                    jury = jb.learn(frame, reward="verdict", policy=policy)
                except jb.Error as error:
                    assert error.code in ("unusable-number", "score", "reward"), error.code
                else:
                    jb.Jury.from_json(jury.to_json())


def views_of_strangers(table: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Read-only views, each with a writable array over the same memory."""
    import pyarrow as pa

    flat = table.ravel()
    memory = bytearray(table.tobytes())
    sealed = np.frombuffer(memory).reshape(table.shape)
    sealed.setflags(write=False)
    return {
        "pyarrow": (pa.array(flat).to_numpy().reshape(table.shape), table),
        "buffer": (sealed, np.frombuffer(memory).reshape(table.shape)),
        "memoryview": (np.frombuffer(memoryview(flat).cast("B").toreadonly()).reshape(table.shape), table),
    }


@pytest.mark.parametrize("kind", ["pyarrow", "buffer", "memoryview"])
def test_views_of_memory_that_belongs_to_others_are_not_believed(kind: str) -> None:
    given, writeable = views_of_strangers(scores())[kind]
    assert not given.flags.writeable and np.shares_memory(given, writeable)
    jury, refused = jb.Jury(NAMES, "adaptive"), 0
    with written_to(writeable), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(40):
            try:
                jury.observe(given)
                picks = jury.round(given, 3)
            except jb.Error as error:
                assert (error.code, error.item) == ("score", ROWS - 1)
                refused += 1
            else:
                assert np.isfinite(picks.scores).all()
            # Refused calls have left nothing behind: everything in the jury was checked.
            jb.Jury.from_json(jury.to_json())
    assert 0 < refused < 40
    assert np.isfinite(jury.values(np.ones((1, 2)))).all()


def test_what_nobody_writes_to_gives_the_same() -> None:
    table, rewards = scores(), np.ones(ROWS)
    sealed = table.copy()
    sealed.setflags(write=False)
    over_writeable = table[:]
    over_writeable.setflags(write=False)  # its base is writable
    told = []
    strangers = [given for given, _ in views_of_strangers(table.copy()).values()]
    for given in (table, sealed, over_writeable, *strangers, np.asfortranarray(table), table[::-1][::-1]):
        jury = jb.Jury(NAMES, "adaptive", seed=3)
        picks = jury.round(given, 20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jury.learn(given, rewards)
        told.append((jury.to_json(), picks.items.tolist(), jury.values(given).tobytes(), [each.tobytes() for each in jury.predict(given)]))
    assert all(each == told[0] for each in told)


#: Policies that value an item by the rest of its round, or need more options.
OTHERS = ("rand", "exp4p", "oracle")


@pytest.mark.parametrize("policy", [entry["name"] for entry in jb.policies.table() if entry["name"] not in OTHERS])
def test_large_tables_are_valued_as_small_ones(policy: str) -> None:
    table = scores()[: ROWS // 4]
    jury = jb.Jury(NAMES, policy)
    jury.learn(jury.round(table[:50], 5), np.linspace(0, 1, 5))
    whole = jury.values(table)
    parts = np.concatenate([jury.values(part) for part in np.array_split(table, 7)])
    assert whole.tobytes() == parts.tobytes()


def test_a_score_that_is_refused_is_named_by_its_row() -> None:
    table = scores()
    table[200_000, 1] = np.inf
    jury = jb.Jury(NAMES, "lin-ucb")
    for call in (lambda: jury.learn(table, np.ones(ROWS)), lambda: jury.values(table), lambda: jury.observe(table), lambda: jury.predict(table)):
        with pytest.raises(jb.Error, match="item 200000, evaluator `b`") as caught:
            call()
        assert (caught.value.item, caught.value.evaluator) == (200_000, "b")
    table[200_000, 1] = 0.5
    rewards = np.ones(ROWS)
    rewards[123_456] = np.nan
    with pytest.raises(jb.Error, match="123456") as caught:
        jury.learn(table, rewards)
    assert caught.value.item == 123_456
    assert jury.seen["used"] == 0
