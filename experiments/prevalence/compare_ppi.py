"""Prints ppi-python's estimates of two synthetic samples, which Jurybox's tests expect.

The tests are in `crates/jurybox-lab/src/prevalence/tests.rs`.

    python -m venv ppi && ppi/bin/pip install ppi-python==0.2.3
    ppi/bin/python compare_ppi.py                      # prints the numbers of the tests
    ppi/bin/python compare_ppi.py target/debug/jurybox # compares them with those of the command

The samples are computed by plain arithmetic, so that the tests in Rust can make the same ones.
"""

import csv
import json
import subprocess
import sys
import tempfile

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate


def sample(kind, rows=400, every=5):
    """Predictions and rewards of all rows, and which of them were reviewed."""
    i = np.arange(rows)
    prediction = (i * 37 % 101) / 100
    noise = (i * 53 % 97) / 97
    reward = (noise < prediction).astype(float) if kind == "yes or no" else 0.2 + 0.5 * prediction + 0.3 * noise
    return prediction, reward, i * 7 % every == 0


def expected(kind):
    prediction, reward, seen = sample(kind)
    known = reward[seen], prediction[seen], prediction[~seen]
    mean = np.ravel(ppi_mean_pointestimate(*known))[0]
    low, high = (np.ravel(end)[0] for end in ppi_mean_ci(*known, alpha=0.05))
    return mean, low, high


def by_command(jurybox, kind):
    prediction, reward, seen = sample(kind)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["prediction", "reward", "p"])
        for row in zip(prediction, reward, seen):
            lines.writerow([repr(float(row[0])), repr(float(row[1])) if row[2] else "", 0.2])
        file.flush()
        command = [jurybox, "prevalence", file.name, "--reward", "reward", "--probability", "p", "--prediction", "prediction",
                   "--reward-range", "0,1", "--json", "-q"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["all"]
    half = 1.959963984540054 * found["standard_error"]
    return found["mean"], found["mean"] - half, found["mean"] + half


for kind in ["yes or no", "marks"]:
    theirs = expected(kind)
    print(kind, *(f"{x:.15f}" for x in theirs))
    if len(sys.argv) > 1:
        ours = by_command(sys.argv[1], kind)
        print("  the command differs by", max(abs(a - b) for a, b in zip(theirs, ours)))
