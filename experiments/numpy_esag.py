"""Benchmark of ESAG in vectorised numpy, in the paper's linear setting: prints rounds per second.

The Rust benchmark `rounds` runs it for comparison. As there, rounds are drawn beforehand, and only
picking and learning are timed.
"""

import sys
import time

import numpy as np


def main(rounds=20_000, items=60, evaluators=10, k=10):
    rng = np.random.default_rng(1)
    alpha, sigma = rng.uniform(0.5, 1.5, evaluators), rng.uniform(0.5, 1.5, evaluators)
    some = 500
    rewards = np.abs(rng.standard_normal((some, items, 1)))
    scores = rewards * alpha + sigma * rng.standard_normal((some, items, evaluators))
    mean, seen, precision = np.zeros(evaluators), 0, 1.0 / sigma**2
    start = time.perf_counter()
    for t in range(rounds):
        phi = scores[t % some]
        weights = mean * precision
        norm = mean @ weights
        values = phi @ (weights / norm if norm > 0 else weights)
        picks = np.argpartition(-values, k)[:k]
        mean = (seen * mean + phi.sum(axis=0)) / (seen + items)
        seen += items
    seconds = time.perf_counter() - start
    assert len(picks) == k
    print(rounds / seconds)


if __name__ == "__main__":
    sys.exit(main())
