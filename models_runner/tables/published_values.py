"""Values of the papers, beside which ours are shown: NDCG@K with the exponential gain under the convention `released`.
Facts, each table with its source. "arXiv" is arXiv:2407.06597, "SIGIR-AP" the paper of 2025 under the same title."""

from typing import NamedTuple

from moment_retrieval.settings import EPOCHS, RELEASED

MUS, KS, NS = (0.3, 0.5, 0.7), (10, 20, 40), tuple(EPOCHS)
SPLITS = ("val", "test")
BASELINES = tuple(RELEASED)
SCORES_SOURCE = "arXiv Table 6, SIGIR-AP Table 5"
SPREAD_SOURCE = "arXiv Table 7, ReLoCLNet with N = 40, 3 seeds"
SIMILARITY_SOURCE = "SIGIR-AP Table 6"
# by baseline and N, then by K: (val, test) at each of MUS
SCORES: dict[tuple[str, int], dict[int, tuple[tuple[float, float], ...]]] = {
    ("xml", 1): {
        10: ((0.1016, 0.0917), (0.0747, 0.0660), (0.0244, 0.0268)),
        20: ((0.1010, 0.0923), (0.0737, 0.0662), (0.0258, 0.0269)),
        40: ((0.1077, 0.1016), (0.0775, 0.0727), (0.0273, 0.0294)),
    },
    ("xml", 20): {
        10: ((0.2226, 0.2135), (0.1623, 0.1567), (0.0580, 0.0627)),
        20: ((0.2331, 0.2243), (0.1700, 0.1650), (0.0627, 0.0664)),
        40: ((0.2580, 0.2512), (0.1874, 0.1853), (0.0705, 0.0753)),
    },
    ("xml", 40): {
        10: ((0.2002, 0.2044), (0.1461, 0.1502), (0.0541, 0.0589)),
        20: ((0.2114, 0.2167), (0.1530, 0.1590), (0.0583, 0.0635)),
        40: ((0.2408, 0.2432), (0.1740, 0.1791), (0.0666, 0.0720)),
    },
    ("reloclnet", 1): {
        10: ((0.1575, 0.1525), (0.1358, 0.1349), (0.0908, 0.0916)),
        20: ((0.1504, 0.1439), (0.1303, 0.1269), (0.0866, 0.0849)),
        40: ((0.1533, 0.1489), (0.1321, 0.1304), (0.0878, 0.0869)),
    },
    ("reloclnet", 20): {
        10: ((0.3751, 0.3751), (0.3407, 0.3397), (0.2316, 0.2338)),
        20: ((0.3815, 0.3792), (0.3462, 0.3427), (0.2381, 0.2386)),
        40: ((0.4039, 0.4031), (0.3656, 0.3648), (0.2542, 0.2567)),
    },
    ("reloclnet", 40): {
        10: ((0.4339, 0.4353), (0.3984, 0.3986), (0.2693, 0.2807)),
        20: ((0.4418, 0.4439), (0.4060, 0.4059), (0.2787, 0.2877)),
        40: ((0.4725, 0.4735), (0.4337, 0.4337), (0.3015, 0.3079)),
    },
    ("conquer", 1): {
        10: ((0.0999, 0.0859), (0.0844, 0.0709), (0.0530, 0.0512)),
        20: ((0.0952, 0.0835), (0.0808, 0.0687), (0.0526, 0.0484)),
        40: ((0.0974, 0.0866), (0.0832, 0.0718), (0.0557, 0.0510)),
    },
    ("conquer", 20): {
        10: ((0.2406, 0.2249), (0.2222, 0.2104), (0.1672, 0.1517)),
        20: ((0.2130, 0.1995), (0.1976, 0.1867), (0.1527, 0.1368)),
        40: ((0.2029, 0.1906), (0.1891, 0.1788), (0.1476, 0.1326)),
    },
    ("conquer", 40): {
        10: ((0.2450, 0.2219), (0.2262, 0.2085), (0.1670, 0.1515)),
        20: ((0.2183, 0.1968), (0.2022, 0.1851), (0.1524, 0.1365)),
        40: ((0.2080, 0.1885), (0.1934, 0.1775), (0.1473, 0.1323)),
    },
}
SPREAD_OF = ("reloclnet", 40)
# moments ranked by similarity, scored by judgments; by K, at each of MUS
SIMILARITY = {10: (0.759, 0.758, 0.758), 20: (0.808, 0.808, 0.808), 40: (0.891, 0.891, 0.891)}


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
    (10, "val"): (Spread(0.4287, 0.0048), Spread(0.3943, 0.0038), Spread(0.2696, 0.0029)),
    (10, "test"): (Spread(0.4347, 0.0008), Spread(0.3982, 0.0009), None),
    (20, "val"): (Spread(0.4359, 0.0053), Spread(0.4010, 0.0045), Spread(0.2761, 0.0033)),
    (20, "test"): (Spread(0.4425, 0.0010), Spread(0.4050, 0.0008), Spread(0.2871)),
    (40, "val"): (Spread(0.4668, 0.0050), Spread(0.4290, 0.0041), Spread(0.2983, 0.0041)),
    (40, "test"): (Spread(0.4724, 0.0008), Spread(0.4326, 0.0008), None),
}


def score_of(baseline: str, top_n: int, k: int, mu: float, split: str) -> float:
    """One value of the main table."""
    return SCORES[baseline, top_n][k][MUS.index(mu)][SPLITS.index(split)]


def spread_of(baseline: str, top_n: int, k: int, mu: float, split: str) -> Spread | None:
    """Over seeds; None where nothing is published."""
    return SPREAD[k, split][MUS.index(mu)] if (baseline, top_n) == SPREAD_OF else None
