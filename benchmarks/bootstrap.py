"""How long 10,000 bootstrap samples take for 10 runs x 9 measures x 2,781 queries, beside drawing query by query.

    python -m benchmarks.bootstrap [--queries 2781] [--runs 10] [--samples 10000] [--rounds 3] [--json]

Values are drawn at random. The plain way draws indices and takes means; it is timed on fewer samples and told for all.
Method and figures: docs/benchmarks/bootstrap.md. Exit status 1: the two ways differ, or it takes more than 10 s.
"""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import arguments, load_now, machine, peak_mb, show_lines
from moment_retrieval.statistics.significance import SAMPLES, bounds, draws, randomisation_test, resampled_means

QUERIES, RUNS, MEASURES = 2_781, 10, 9
MOST_S = 10.0
PLAIN = 100  # samples of the plain way


def plain_means(values: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    """Return the means from the same draws: the queries of each sample one by one, then the means."""
    means = []
    for counts in draws(len(values), samples):
        means += [values[np.repeat(np.arange(len(values)), row.astype(np.int64))].mean(axis=0) for row in counts]
    return np.array(means)


def clocked(call: Any) -> tuple[float, float, Any]:
    """Return seconds, seconds of processor time, and the call's result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def measured(queries: int, runs: int, samples: int, rounds: int) -> dict[str, Any]:
    values = np.random.default_rng(1).random((queries, runs * MEASURES))
    before = peak_mb()
    times = [clocked(lambda: bounds(resampled_means(values, samples)))[:2] for _ in range(rounds)]
    peak = peak_mb()
    tests = [clocked(lambda: randomisation_test(values[:, 1:runs] - values[:, :1]))[:2] for _ in range(rounds)]
    few = min(PLAIN, samples)
    _, plain_cpu, plain = clocked(lambda: plain_means(values, few))
    return {
        "queries": queries,
        "runs": runs,
        "measures": MEASURES,
        "samples": samples,
        "bootstrap_s": round(min(wall for wall, _ in times), 3),
        "bootstrap_worst_s": round(max(wall for wall, _ in times), 3),
        "bootstrap_cpu_s": round(min(cpu for _, cpu in times), 3),
        "plain_cpu_s": round(plain_cpu / few * samples, 1),
        "randomisation_s": round(min(wall for wall, _ in tests), 3),
        "peak_mb_before": before,
        "peak_mb": peak,
        "equal": bool(np.abs(plain - resampled_means(values, samples)[:few]).max() < 1e-12),
    }


def main() -> int:
    options = arguments(__doc__, queries=QUERIES, runs=RUNS, samples=SAMPLES, rounds=3).parse_args()
    figures = measured(options.queries, options.runs, options.samples, options.rounds)
    facts = {"machine": machine(), "load": load_now(), "numpy": np.__version__, **figures}
    show_lines(facts, as_json=options.json)
    return 0 if figures["equal"] and figures["bootstrap_s"] <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
