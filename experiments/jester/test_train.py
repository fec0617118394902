"""Tests train.py on a synthetic rating matrix, and `jurybox reproduce jester` on its output.

    python test_train.py PATH/TO/jurybox
"""

import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent


def main():
    jurybox = sys.argv[1]
    rng = np.random.default_rng(1)
    ratings = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 40)) + 0.3 * rng.normal(size=(200, 40))
    ratings = np.clip(3.0 * ratings, -10.0, 10.0)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with gzip.open(folder / "jester40.csv.gz", "wt", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["user", *(f"joke{j}" for j in range(40))])
            writer.writerows([i, *(f"{value:.2f}" for value in row)] for i, row in enumerate(ratings))
        predictions = folder / "predictions.csv"
        train = [sys.executable, str(HERE / "train.py"), "--data", str(folder), "--out", str(predictions)]
        subprocess.run([*train, "--pairs", "1500"], check=True)
        with predictions.open() as file:
            rows = list(csv.reader(file))
        assert rows[0][0] == "rating" and len(rows[0]) == 8, rows[0]
        assert len(rows) == 1501, len(rows)
        values = np.array(rows[1:], dtype=float)
        assert np.isfinite(values).all()
        best = max(np.corrcoef(values[:, 0], values[:, j])[0, 1] for j in range(1, 8))
        assert best > 0.9, f"the best evaluator correlates {best:.2f} with the rating it was trained on"
        reproduce = [jurybox, "reproduce", "jester", "--quick", "--jester", str(predictions), "--json"]
        result = subprocess.run([*reproduce, "--out", str(folder / "out")], check=True, capture_output=True)
        claims = json.loads(result.stdout)
        claims = claims["claims"] if isinstance(claims, dict) else claims
        assert any(claim["id"].startswith("jester-") for claim in claims), claims
        assert (folder / "out" / "report.html").is_file()
    print("jester: 1 passed, 0 failed")


if __name__ == "__main__":
    main()
