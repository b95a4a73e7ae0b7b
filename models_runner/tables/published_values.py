"""Values of the papers, beside which ours are shown: NDCG@K with the exponential gain under the convention `released`.
Facts, each table with its source. "arXiv" is arXiv:2407.06597, "SIGIR-AP" the paper of 2025 under the same title."""

import tomllib
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from moment_retrieval.settings import EPOCHS, RELEASED

MUS, KS, NS = (0.3, 0.5, 0.7), (10, 20, 40), tuple(EPOCHS)
SPLITS = ("val", "test")
BASELINES = tuple(RELEASED)
SCORES_SOURCE = "arXiv Table 6, SIGIR-AP Table 5"
SPREAD_SOURCE = "arXiv Table 7, ReLoCLNet with N = 40, 3 seeds"
SIMILARITY_SOURCE = "SIGIR-AP Table 6"
_FIGURES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
# by baseline and N, then by K: (val, test) at each of MUS
SCORES: dict[tuple[str, int], dict[int, tuple[tuple[float, float], ...]]] = {
    (baseline, int(n)): {int(k): tuple(map(tuple, pairs)) for k, pairs in by_k.items()}
    for baseline, by_n in _FIGURES["scores"].items()
    for n, by_k in by_n.items()
}
SPREAD_OF = ("reloclnet", 40)
SIMILARITY_SPLIT = "test"
# moments ranked by similarity, scored by judgments; by K, at each of MUS
SIMILARITY = {int(k): tuple(values) for k, values in _FIGURES["similarity"].items()}


VCMR_SOURCE = "arXiv Table 8, on TVR's own test-public split"
VCMR_KS, VCMR_MUS = (1, 10, 100), (0.5, 0.7)
# recall in per cent by baseline: each K at each of VCMR_MUS; None where the paper prints none
VCMR: dict[str, list[float | None]] = {
    baseline: [value for values in by_mu for value in values or [None] * len(VCMR_KS)]
    for baseline, by_mu in _FIGURES["vcmr"].items()
}


def vcmr_of_systems(measures: Sequence[tuple[int, float | None]]) -> list[tuple[str, list[float | None]]]:
    """Return every published system with its recall, a share, at each K and mu; None where the paper prints none."""
    positions = {(k, mu): index for index, (mu, k) in enumerate(product(VCMR_MUS, VCMR_KS))}
    rows = []
    for baseline, values in VCMR.items():
        printed = [values[positions[one]] if one in positions else None for one in measures]
        rows.append((LABELS[baseline], [None if value is None else value / 100 for value in printed]))
    return rows


# TVR-Ranking, and the features that baselines were trained on
VIDEOS = 19_614
QUERIES = {"val": 500, "test": 2_781}
VIDEO_FEATURES = {"xml": "I3D", "reloclnet": "I3D", "conquer": "ResNet-152 and SlowFast"}
VIDEO_WIDTHS = {name: one.config.video_size - 2 * one.reading.endpoints for name, one in RELEASED.items()}
TEXT_FEATURES = "RoBERTa for subtitles and BERT for queries"
TEXT_WIDTH = RELEASED["xml"].config.query_size


class Spread(NamedTuple):
    """Mean and standard deviation over seeds; None where the paper prints none."""

    mean: float
    deviation: float | None = None


# by K and split: at each of MUS
SPREAD: dict[tuple[int, str], tuple[Spread | None, ...]] = {
    (int(k), split): tuple(Spread(*values) if values else None for values in by_mu)
    for k, by_split in _FIGURES["spread"].items()
    for split, by_mu in by_split.items()
}


SPR = 0.442  # SIGIR-AP, section 5.3: NDCG@40,IoU>=0.7; the split is not stated


def systems_at(k: int, split: str) -> list[tuple[str, list[float | None]]]:
    """Return every published system with its scores at each mu; None where the papers print none."""
    rows: list[tuple[str, list[float | None]]] = [
        (f"{LABELS[baseline]}, N = {n}", [score_of(baseline, n, k, mu, split) for mu in MUS]) for baseline, n in SCORES
    ]
    return [*rows, *([("SPR (split not stated)", [None, None, SPR])] if k == max(KS) else [])]


LABELS = {"xml": "XML", "conquer": "CONQUER", "reloclnet": "ReLoCLNet"}


def score_of(baseline: str, top_n: int, k: int, mu: float, split: str) -> float | None:
    """Return one value of the main table; None for another N than the papers'."""
    scores = SCORES.get((baseline, top_n))
    return scores[k][MUS.index(mu)][SPLITS.index(split)] if scores else None


def spread_of(baseline: str, top_n: int, k: int, mu: float, split: str) -> Spread | None:
    """Over seeds; None where nothing is published."""
    return SPREAD[k, split][MUS.index(mu)] if (baseline, top_n) == SPREAD_OF else None
