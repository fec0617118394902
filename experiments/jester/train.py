"""Train the seven evaluators of the paper's Jester experiment and write their predictions.

    python train.py --data DIR --out FILE.csv

DIR holds jester40.csv.gz: one row per user, with ratings of 40 jokes from -10 to 10. FILE.csv gets one
row per (user, joke) pair: the transformed rating, then one column per evaluator. It is read by
`jurybox reproduce jester --jester FILE.csv`.

The paper fixes a factorisation of the rating matrix of rank 36, the features of a pair (user factors
and joke factors, 72 numbers), normalised ratings with a logarithm, and seven scikit-learn models.
Choices made here:

- ratings are mapped to [0, 1] and then through log2(1 + x), which keeps that range;
- `rf5-s18` has 18 features, as its name says (the text says 5), and `rf` is a forest of 20 trees on
  all features;
- pairs are drawn at random. Models are trained on them and predict the same pairs, because only then
  can a forest reach the paper's R2 of 0.936. R2 on held-out pairs is printed beside it.
"""

import argparse
import csv
import gzip
import pathlib
import sys
import time

import numpy as np
from sklearn.ensemble import AdaBoostRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

RANK = 36


def read_ratings(path):
    with gzip.open(path, "rt", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return np.array([[float(value) for value in row[1:]] for row in rows])


def features(ratings):
    """Truncated singular value decomposition: user factors and joke factors, scaled alike."""
    centred = ratings - ratings.mean()
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    root = np.sqrt(s[:RANK])
    return u[:, :RANK] * root, vt[:RANK].T * root


def models(rng):
    def some(count):
        return np.sort(rng.choice(2 * RANK, size=count, replace=False))

    every = np.arange(2 * RANK)
    return [
        ("rf5-s18", RandomForestRegressor(n_estimators=5, random_state=1), some(18)),
        ("dt-s50", DecisionTreeRegressor(max_depth=10, random_state=2), some(50)),
        ("linear", LinearRegression(), every),
        ("adaboost", AdaBoostRegressor(n_estimators=20, random_state=3), every),
        ("mlp", MLPRegressor(hidden_layer_sizes=(512, 128), max_iter=60, random_state=4), every),
        ("rf", RandomForestRegressor(n_estimators=20, random_state=5), every),
        ("adaboost20-s60", AdaBoostRegressor(n_estimators=20, random_state=6), some(60)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=pathlib.Path, help="folder with jester40.csv.gz")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="CSV to write")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs to draw (default 20000)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    source = arguments.data / "jester40.csv.gz"
    if not source.is_file():
        sys.exit(f"error: {source}: no such file")
    ratings = read_ratings(source)
    users, jokes = features(ratings)
    rng = np.random.default_rng(arguments.seed)
    drawn = rng.choice(ratings.size, size=arguments.pairs + 5_000, replace=False)
    row, column = np.divmod(drawn, ratings.shape[1])
    x = np.hstack([users[row], jokes[column]])
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
    y = np.log2(1.0 + (ratings[row, column] + 10.0) / 20.0)
    used, held = slice(0, arguments.pairs), slice(arguments.pairs, None)

    predictions = []
    print(f"{'evaluator':16} {'R2':>6} {'held out':>9} {'seconds':>8}", file=sys.stderr)
    for name, model, columns in models(rng):
        start = time.perf_counter()
        model.fit(x[used][:, columns], y[used])
        predicted = model.predict(x[used][:, columns])
        r2 = r2_score(y[used], predicted)
        r2_held = r2_score(y[held], model.predict(x[held][:, columns]))
        seconds = time.perf_counter() - start
        print(f"{name:16} {r2:6.3f} {r2_held:9.3f} {seconds:8.1f}", file=sys.stderr, flush=True)
        predictions.append((name, predicted))

    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rating", *(name for name, _ in predictions)])
        for i in range(arguments.pairs):
            writer.writerow([f"{y[i]:.6f}", *(f"{values[i]:.6f}" for _, values in predictions)])
    print(f"{arguments.pairs} pairs written to {arguments.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
