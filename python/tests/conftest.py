"""Helpers and fixtures that several tests share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

import jurybox as jb

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]

#: Specs for policies that need options or at least two evaluators.
SPECS = {
    "oracle": "oracle(alpha=[1,2,0.5],sigma=[0.1,0.2,0.3])",
    "glm-oracle": "glm-oracle(alpha=[1,2,0.5],sigma=[0.1,0.2,0.3])",
    "exp4p": "exp4p(horizon=100)",
}


def specs() -> list[str]:
    return [SPECS.get(entry["name"], entry["name"]) for entry in jb.policies.table()]


@pytest.fixture(params=specs())
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20_240_601)


def command() -> Path:
    """The `jurybox` command, built by whoever runs the tests."""
    path = Path(os.environ.get("JURYBOX_COMMAND", ROOT / "target" / "release" / "jurybox"))
    if not path.exists():
        pytest.fail(f"there is no {path}: build it with `cargo build --release`")
    return path


def run(*arguments: object) -> str:
    done = subprocess.run([str(command()), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def patiently(work: Callable[[], T]) -> T:
    """Calls something that starts Ray, up to three times if Ray's 30-second limit passes on a
    busy machine."""
    for left in (2, 1, 0):
        try:
            return work()
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise
            import ray

            ray.shutdown()
    raise AssertionError("there is a last time")


def made_up(rows: int, evaluators: int, seed: int = 0, missing: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Rewards, and scores that follow them with different weights and noise."""
    draws = np.random.default_rng(seed)
    reward = draws.uniform(size=rows)
    gains = np.linspace(0.3, 1.2, evaluators)
    noise = np.linspace(0.5, 0.1, evaluators)
    scores = reward[:, None] * gains + draws.normal(size=(rows, evaluators)) * noise
    scores[draws.uniform(size=scores.shape) < missing] = np.nan
    return np.round(scores, 6), np.round(reward, 6)
