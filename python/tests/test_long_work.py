"""Long calls: progress, Ctrl-C, other threads, and memory."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import polars as pl
import pytest
from conftest import made_up

import jurybox as jb


def in_python(code: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, cwd=tempfile.gettempdir())


INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np, polars as pl
    import jurybox as jb

    draws = np.random.default_rng(0)
    frame = pl.DataFrame(draws.normal(size=({rows}, 8)), schema=[f"e{{j}}" for j in range(8)]).with_columns(verdict=draws.uniform(size={rows}))
    began = []

    def watch(*progress):
        began.append(time.monotonic())

    def interrupt():
        while not began:
            time.sleep(0.01)
        time.sleep(0.2)
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    jury = jb.Jury([f"e{{j}}" for j in range(8)])
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        {call}
        print("finished")
    except KeyboardInterrupt:
        print("stopped after", time.monotonic() - began[-1])
    print(jury.seen["items"] % {rows}, jury.seen["used"] % {rows})
"""


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ("jb.replay(frame, reward='verdict', runs=5000, policies=['lin-ucb', 'average'], state=jury, progress=watch)", 20_000),
        (
            "jb.replay(frame.with_columns(p=pl.lit(0.5), day=pl.int_range(pl.len()) // 20, verdict=pl.when(pl.int_range(pl.len()) % 2 == 0)"
            ".then('verdict')), reward='verdict', probability='p', round='day', progress=watch, policies=['adaptive', 'esag'], state=jury)",
            400_000,
        ),
        ("while True: jb.learn(frame, reward='verdict', state=jury, progress=watch)", 2_000_000),
    ],
    ids=["replay", "estimate", "learn"],
)
def test_ctrl_c_is_heard(call: str, rows: int) -> None:
    # The time until the interrupt is printed but not asserted, because busy machines are slow.
    done = in_python(INTERRUPTED.format(call=call, rows=rows))
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("stopped after"), done.stdout
    print(first)
    assert second == "0 0"  # the interrupted call has changed nothing


LEARNT = """
    import os, signal, threading, time, warnings
    import numpy as np
    import jurybox as jb

    warnings.simplefilter("ignore")
    rows = 1_500_000
    table = np.random.default_rng(0).uniform(size=(rows, 4))
    rewards = table[:, 0].copy()

    def long_takes(call):
        began = time.monotonic()
        call()
        return time.monotonic() - began

    whole = long_takes(lambda: jb.Jury(list("abcd")).learn(table, rewards))
    interrupted = 0
    # At any time, and above all shortly before all is learnt.
    for part in (0.1, 0.5, 0.8, 0.9, 0.95, 1.0, 1.05):
        jury = jb.Jury(list("abcd"))
        timer = threading.Timer(part * whole, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        back = False
        try:
            jury.learn(table, rewards)
            back = True
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            interrupted += not back
        assert jury.seen["used"] == (rows if back else 0), (part, back, jury.seen)
    assert interrupted, whole

    jury = jb.Jury(list("abcd"))
    jury.learn(table, rewards)
    whole = long_takes(lambda: jury.predict(table))
    asked = []
    threading.Timer(0.1 * whole, lambda: (asked.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT))).start()
    try:
        jury.predict(table)
        print("finished")
    except KeyboardInterrupt:
        print("stopped after", (time.monotonic() - asked[0]) / whole, "of", whole)
"""


def test_ctrl_c_leaves_a_jury_as_it_was_and_ends_a_prediction() -> None:
    done = in_python(LEARNT)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert done.stdout.startswith("stopped after")
    assert float(done.stdout.split()[2]) < 0.6  # a share of the full time, because a machine may be busy


WIDE = """
    import os, sys, pickle, signal, threading, time, warnings
    import numpy as np
    import jurybox as jb

    warnings.simplefilter("ignore")
    width = {width}
    draws = np.random.default_rng(0)
    table = draws.normal(size=(2000, width))
    rewards = table @ draws.normal(size=width) + draws.normal(size=2000)
    learnt = jb.Jury([f"e{{j}}" for j in range(width)], "adaptive")
    learnt.learn(table, rewards)
    before = pickle.dumps(learnt)
    shown = table[:5]
    began = time.monotonic()
    fitted = pickle.loads(before).fit()
    whole = time.monotonic() - began
    calls = {{
        "fit": lambda jury: jury.fit(),
        "values": lambda jury: jury.values(shown),
        "predict": lambda jury: jury.predict(shown),
        "weights": lambda jury: jury.weights(level=0.9),
        "alarms": lambda jury: jury.alarms(),
        "round": lambda jury: jury.round(shown, 2),
        "choose": lambda jury: jury.choose(shown, 2),
        "unpickled": lambda jury: pickle.loads(pickle.dumps(fitted)),
    }}
    for name, call in calls.items():
        jury, asked = pickle.loads(before), []
        timer = threading.Timer(0.2 * whole, lambda: (asked.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT)))
        timer.start()
        try:
            call(jury)
            print(name, "finished")
        except KeyboardInterrupt:
            print(name, "stopped after", time.monotonic() - asked[0], "of", whole)
        timer.join()
        assert pickle.dumps(jury) == before, name
        # What is left to itself takes its time from nobody's jury, and a jury can be asked at once.
        assert jury.seen["used"] == 2000
    sys.stdout.flush()
    os._exit(0)  # without waiting for what is left to itself
"""


def test_ctrl_c_ends_what_many_evaluators_make_long() -> None:
    done = in_python(WIDE.format(width=250), 600)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    for line in lines:
        name, stopped, _, seconds, _, whole = line.split()
        # In a second, or on a busy machine in a small part of the full time.
        assert stopped == "stopped" and float(seconds) < max(1.0, 0.4 * float(whole)), line


def test_other_threads_go_on_meanwhile() -> None:
    scores, rewards = made_up(20_000, 6)
    frame = pl.DataFrame(scores).with_columns(verdict=rewards)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    jb.replay(frame, reward="verdict", runs=4, policies=["adaptive"])
    done.set()
    thread.join()
    assert ticks > 10


def test_progress_is_told_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, rewards = made_up(5_000, 4)
    frame = pl.DataFrame(scores).with_columns(verdict=rewards)
    told: list[tuple[object, ...]] = []
    jb.replay(frame, reward="verdict", runs=30, policies=["adaptive"], progress=lambda *now: told.append(now))
    assert told and all(unit in ("rows", "runs") for *_, unit in told)
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("jurybox._progress.PATIENCE", 0.0)
    jb.replay(frame, reward="verdict", runs=30, policies=["adaptive"], progress=True)
    assert "runs" in shown.getvalue() and shown.getvalue().endswith("\r")
    # As long as above, so that progress could be shown.
    for quiet in ({"progress": False}, {}):
        shown = io.StringIO()
        monkeypatch.setattr(sys, "stderr", shown)
        jb.replay(frame, reward="verdict", runs=30, policies=["adaptive"], **quiet)
        assert shown.getvalue() == ""


def test_an_error_in_a_watch_ends_the_work() -> None:
    scores, rewards = made_up(5_000, 4)
    frame = pl.DataFrame(scores).with_columns(verdict=rewards)

    def watch(*now: object) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        jb.replay(frame, reward="verdict", runs=1000, policies=["adaptive"], progress=watch)


PEAK = """
    import numpy as np
    import {library} as lib
    import jurybox as jb

    rows = 4_000_000
    draws = np.random.default_rng(0)
    columns = {{f"e{{j}}": draws.uniform(size=rows) for j in range(8)}}
    frame = lib.DataFrame(columns{copy})
    del columns
    jb.rank(frame[:1000], k=10)

    def kilobytes(what):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(what))

    # The peak so far is that of making the frame, under which much could hide: it is forgotten.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = kilobytes("VmRSS")
    assert kilobytes("VmHWM") - before < 1024
    {call}
    print((kilobytes("VmHWM") - before) / 1024)
"""


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells the peak of a process elsewhere in other ways")


@LINUX
def test_the_peak_is_that_of_the_call() -> None:
    done = in_python(PEAK.format(library="polars", copy="", call="np.ones(30_000_000).sum()"))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 200


@LINUX
@pytest.mark.parametrize("call", ["jb.rank(frame, k=100)", "jb.learn(frame, policy='esag')", "jb.rank(frame, k=100, weights={'e1': 1.0})"])
@pytest.mark.parametrize(("library", "copy"), [("polars", ""), ("pandas", ", copy=False")])
def test_a_call_takes_no_more_than_100_mb_beside_the_frame(library: str, copy: str, call: str) -> None:
    done = in_python(PEAK.format(library=library, copy=copy, call=call))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 100


def test_signals_of_a_notebook_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    jb.rank(pl.DataFrame(np.arange(6.0).reshape(3, 2)), k=1)
    assert signal.getsignal(signal.SIGINT) is before
