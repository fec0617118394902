"""Benchmark against other libraries on the same rounds: rewards found, and processor time.

    pip install -r benchmarks/requirements.txt && python benchmarks/others.py [--runs N] [ROUNDS
    ...] python benchmarks/others.py --tune    results of every setting, on queues that the table
    does not use

The simulation is the paper's: the reward r of an item is uniform on [0, 1], and evaluator j's score
is alpha_j * r plus noise, equal or unequal between evaluators. Of 60 items, 10 are picked each
round, and their rewards are learnt. All libraries see the same items, scores and rewards.

The other libraries choose one of a few arms. Here their linear model of the reward is used, and the
ten items with the highest prediction (or upper bound) are picked. Each has an intercept, its best
setting of `SETTINGS` (chosen by `--tune` on other queues), and ranks by the plain mean in the first
round. Jurybox has its defaults, and nothing was tuned.

The table shows (reward - chance) / (best possible - chance) over the first rounds and over all, and
processor time per round. Libraries that cannot be imported are listed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

import jurybox as jb

ITEMS, EVALUATORS, K = 60, 10, 10
#: Simulated queues on which settings are chosen: their number, rounds, and first seed.
TUNED_ON, TUNED_ROUNDS, TUNED_FROM = 6, 400, 1000


def best(values: np.ndarray) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:K]


def with_one(scores: np.ndarray) -> np.ndarray:
    """The scores after a column of ones, the intercept."""
    return np.column_stack([np.ones(len(scores)), scores])


class Jurybox:
    def __init__(self, seed: int, policy: str) -> None:
        self.jury = jb.Jury([f"e{j}" for j in range(EVALUATORS)], policy, seed=seed)

    def round(self, scores: np.ndarray) -> np.ndarray:
        self.picks = self.jury.round(scores, K)
        return self.picks.items

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        self.jury.learn(self.picks, rewards)


class Other:
    """Another library's model; it ranks by the plain mean until it has learnt something."""

    begun = False

    def round(self, scores: np.ndarray) -> np.ndarray:
        return best(self.values(scores) if self.begun else scores.mean(axis=1))

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        self.teach(scores, rewards)
        self.begun = True

    def values(self, scores: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def teach(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        raise NotImplementedError


class MabWiser(Other):
    """A linear policy with one arm, whose expectations rank the items."""

    def __init__(self, seed: int, policy: str, **options: float) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(arms=["look"], learning_policy=getattr(LearningPolicy, policy)(**options), seed=seed)

    def values(self, scores: np.ndarray) -> np.ndarray:
        return np.array([told["look"] for told in self.mab.predict_expectations(with_one(scores))])

    def teach(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        learn = self.mab.partial_fit if self.begun else self.mab.fit
        learn(decisions=["look"] * len(rewards), rewards=rewards, contexts=with_one(scores))


class VowpalWabbit(Other):
    """Its online regression with its own intercept; items are ranked by prediction."""

    def __init__(self, seed: int, options: str) -> None:
        import vowpalwabbit

        self.vw = vowpalwabbit.Workspace(f"--quiet --random_seed {seed} {options}")

    @staticmethod
    def line(row: np.ndarray, reward: float | None = None) -> str:
        features = " ".join(f"e{j}:{x:.6f}" for j, x in enumerate(row))
        return f"{'' if reward is None else reward} |s {features}"

    def values(self, scores: np.ndarray) -> np.ndarray:
        return np.array([self.vw.predict(self.line(row)) for row in scores])

    def teach(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        for row, reward in zip(scores, rewards, strict=True):
            self.vw.learn(self.line(row, reward))


class BayesianBandits(Other):
    """Its Bayesian linear regression, ranked by prediction (`predict`) or Thompson sampling
    (`sample`)."""

    def __init__(self, seed: int, way: str, **options: float) -> None:
        from bayesianbandits import NormalInverseGammaRegressor

        self.model, self.way = NormalInverseGammaRegressor(random_state=seed, **options), way

    def values(self, scores: np.ndarray) -> np.ndarray:
        return np.ravel(getattr(self.model, self.way)(with_one(scores)))

    def teach(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        (self.model.partial_fit if self.begun else self.model.fit)(with_one(scores), rewards)


class ContextualBandits(Other):
    """Its online linear regression with its own intercept, ranked by prediction or upper bound."""

    def __init__(self, seed: int, alpha: float, **options: Any) -> None:
        from contextualbandits.linreg import LinearRegression

        self.model, self.alpha = LinearRegression(use_float=False, **options), alpha

    def values(self, scores: np.ndarray) -> np.ndarray:
        return np.ravel(self.model.predict_ucb(scores, alpha=self.alpha) if self.alpha else self.model.predict(scores))

    def teach(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        self.model.partial_fit(scores, rewards)


#: The settings that were tried for each library.
SETTINGS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "MABWiser": (
        MabWiser,
        [
            *({"policy": "LinGreedy", "epsilon": 0.0, "l2_lambda": l2} for l2 in (0.1, 1.0, 10.0)),
            *({"policy": "LinUCB", "alpha": alpha, "l2_lambda": l2} for alpha in (0.1, 0.3, 1.0) for l2 in (0.1, 1.0, 10.0)),
            *({"policy": "LinTS", "alpha": alpha} for alpha in (0.1, 0.3)),
        ],
    ),
    "Vowpal Wabbit": (
        VowpalWabbit,
        [{"options": options} for options in ("", "-l 0.1", "-l 2", "-l 10", "--power_t 0", "--power_t 0 -l 0.1", "--coin", "--freegrad")],
    ),
    "bayesianbandits": (BayesianBandits, [{"way": way, "lam": lam} for way in ("predict", "sample") for lam in (0.1, 1.0, 10.0)]),
    "contextualbandits": (ContextualBandits, [{"alpha": alpha, "lambda_": l2} for alpha in (0.0, 0.1, 0.3) for l2 in (0.01, 0.1, 0.3, 1.0, 10.0)]),
}
#: The best setting of each library.
BEST = {"MABWiser": 4, "Vowpal Wabbit": 6, "bayesianbandits": 1, "contextualbandits": 1}


def desk(rounds: int, equal: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed)
    rewards = draws.uniform(size=(rounds, ITEMS))
    gains = draws.uniform(0.2, 1.0, size=EVALUATORS)
    noise = np.full(EVALUATORS, 0.3) if equal else draws.uniform(0.05, 1.0, size=EVALUATORS)
    return rewards[..., None] * gains + draws.normal(size=(rounds, ITEMS, EVALUATORS)) * noise, rewards


def play(make: Callable[[int], Any], marks: tuple[int, ...], equal: bool, seed: int) -> tuple[list[float], float]:
    """The share of the possible gain over chance up to each mark, and seconds per round."""
    scores, rewards = desk(max(marks), equal, seed)
    player = make(seed)
    earned = np.empty(max(marks))
    begun = time.process_time()
    for at in range(max(marks)):
        picks = np.asarray(player.round(scores[at]))
        player.learn(scores[at][picks], rewards[at][picks])
        earned[at] = rewards[at][picks].sum()
    seconds = (time.process_time() - begun) / max(marks)
    possible = np.sort(rewards, axis=1)[:, -K:].sum(axis=1)
    chance = K * rewards.mean(axis=1)
    share = [float((earned[:mark] - chance[:mark]).sum() / (possible[:mark] - chance[:mark]).sum()) for mark in marks]
    return share, seconds


def told(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())


def tune() -> None:
    """The mean result of every setting: over equal and unequal noise, and over the first 50
    rounds and all."""
    marks = (50, TUNED_ROUNDS)
    for name, (make, settings) in SETTINGS.items():
        for at, setting in enumerate(settings):
            runs = [
                play(lambda seed, setting=setting: make(seed, **setting), marks, equal, TUNED_FROM + run)[0]
                for equal in (True, False)
                for run in range(TUNED_ON)
            ]
            mean = np.mean(runs, axis=0)
            print(f"{name:17} {at:2} {mean.mean():.4f} ({mean[0]:.4f} of {marks[0]}, {mean[1]:.4f} of {marks[1]})  {told(setting)}", flush=True)


def players() -> dict[str, Callable[[int], Any]]:
    made: dict[str, Callable[[int], Any]] = {
        f"jurybox {policy}": lambda seed, policy=policy: Jurybox(seed, policy) for policy in ("adaptive", "lin-ucb", "esag", "average")
    }
    for name, (make, settings) in SETTINGS.items():
        made[name] = lambda seed, make=make, setting=settings[BEST[name]]: make(seed, **setting)
    return made


def compare(runs: int, marks: tuple[int, ...]) -> None:
    #: Standard errors of an interval; more than two, because there are few runs.
    t = float(scipy.stats.t.ppf(0.975, runs - 1))
    ways = [f"{noise} noise, {mark}" for noise in ("equal", "unequal") for mark in marks]
    print(f"{ITEMS} items, {EVALUATORS} evaluators, {K} picks a round; {runs} runs of {max(marks)} rounds.")
    print("The share of what could be earned; in brackets what it is more or less than the first line, with the 95% interval of Student's t over runs.\n")
    print(f"| {'':17} | " + " | ".join(f"{way:^26}" for way in ways) + " | us a round | times the first |")
    print(f"|{'-' * 19}|" + "|".join("-" * 28 for _ in ways) + "|" + "-" * 12 + "|" + "-" * 17 + "|")
    first: np.ndarray | None = None
    first_pace = 1.0
    for name, make in players().items():
        try:
            found = [[play(make, marks, equal, seed) for seed in range(runs)] for equal in (True, False)]
        except ImportError as error:
            print(f"| {name:17} | cannot be imported here: {error} |")
            continue
        shares = np.array([[share for share, _ in runs] for runs in found])  # by noise, run and mark
        pace = float(1e6 * np.median([seconds for runs in found for _, seconds in runs]))
        if first is None:
            first, first_pace = shares, pace
        more = shares - first
        means, errors = more.mean(axis=1), t * more.std(axis=1, ddof=1) / np.sqrt(runs)
        cells = [
            f"{share:.3f}" + (f" ({mean:+.4f} ± {error:.4f})" if shares is not first else "")
            for share, mean, error in zip(shares.mean(axis=1).ravel(), means.ravel(), errors.ravel(), strict=True)
        ]
        print(f"| {name:17} | " + " | ".join(f"{cell:26}" for cell in cells) + f" | {pace:10.0f} | {pace / first_pace:15.2f} |", flush=True)
    print()
    for name, (_, settings) in SETTINGS.items():
        print(f"{name}: {told(settings[BEST[name]])}")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("rounds", nargs="*", type=int, default=[50, 2000])
    asked.add_argument("--runs", type=int, default=8)
    asked.add_argument("--tune", action="store_true")
    said = asked.parse_args()
    tune() if said.tune else compare(said.runs, tuple(sorted(said.rounds)))


if __name__ == "__main__":
    main()
