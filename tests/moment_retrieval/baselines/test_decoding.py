import numpy as np
import pytest
import torch
from torch import Tensor

from moment_retrieval.metrics.iou import suppressed
from moment_retrieval.records import ScoredMoment
from moment_retrieval.search import by_logit, by_probability, largest
from moment_retrieval.settings import Decoding
from moment_retrieval.tables import RunTable
from tests.moment_retrieval.baselines.vectors import arrays, needs_parity

Moment = tuple[float, int, int, int]


def whole_map(start: Tensor, end: Tensor, decoding: Decoding, join: str) -> list[Moment]:
    """Every allowed cell of one query's map, best first, equals by place: the plain way."""
    cells = []
    for video, first, last in np.ndindex(len(start), start.shape[1], start.shape[1]):
        if decoding.shortest <= last - first < decoding.longest:
            one, other = start[video, first], end[video, last]
            cells.append((float(one * other if join == "product" else one + other), video, first, last))
    return sorted(cells, key=lambda cell: (-cell[0], *cell[1:]))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("join", ["product", "sum"])
def test_the_band_ranks_as_the_whole_map_does(seed: int, join: str) -> None:
    """With few different values, so that equals abound."""
    draw = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 6, (2, 3, 5, 9), generator=draw) / 8
    decoding = Decoding(alpha=0, shortest=seed % 3, longest=seed % 3 + 1 + seed % 5, moments=1 + seed)
    if join == "product":
        moments = by_probability(values[0], values[1], torch.ones(3, 5), decoding)
    else:
        moments = by_logit(values[0], values[1], torch.ones(3, 5, 9, dtype=torch.bool), decoding)
    for query in range(3):
        correct = whole_map(values[0, query], values[1, query], decoding, join)[: decoding.moments]
        columns = (moments.score, moments.video, moments.start, moments.end)
        ours = list(zip(*(column[query].tolist() for column in columns), strict=True))
        assert [moment for moment in ours if moment[0] > -torch.inf] == correct


def test_a_short_corpus_gives_what_it_has() -> None:
    real = torch.tensor([[[True, True, True, False]]])
    moments = by_logit(torch.zeros(1, 1, 4), torch.zeros(1, 1, 4), real, Decoding(alpha=0, shortest=2, longest=4))
    assert moments.real.sum() == 1
    assert (moments.start[moments.real].item(), moments.end[moments.real].item()) == (0, 2)


def test_no_probability_is_no_moment() -> None:
    start, end = torch.tensor([[[1.0, 0, 0, 0]]]), torch.tensor([[[0, 0, 0.5, 0]]])
    moments = by_probability(start, end, torch.ones(1, 1), Decoding(alpha=0))
    assert moments.score[moments.real].tolist() == [0.5]


@needs_parity
def test_largest_finds_the_published_cells() -> None:
    cells = torch.from_numpy(arrays("units/preprocess.npz")["topk3d/in"])
    indices = largest(cells.flatten()[None], 12)[0]
    coordinates = np.stack(np.unravel_index(indices.numpy(), cells.shape), axis=1)
    np.testing.assert_array_equal(coordinates, arrays("units/preprocess.npz")["topk3d/index_vse"])
    np.testing.assert_array_equal(cells.flatten()[indices], arrays("units/preprocess.npz")["topk3d/values"])


@needs_parity
@pytest.mark.parametrize(
    ("mask", "shortest", "longest"), [("mask_min2_max16_L24", 2, 16), ("mask_min0_max24_L30", 0, 24)]
)
def test_moments_are_as_long_as_the_published_mask_lets_them(mask: str, shortest: int, longest: int) -> None:
    allowed = arrays("units/preprocess.npz")[mask]
    flat, decoding = torch.ones(1, 1, len(allowed)), Decoding(alpha=0, shortest=shortest, longest=longest, moments=900)
    moments = by_probability(flat, flat, torch.ones(1, 1), decoding)
    cells = zip(moments.start[moments.real].tolist(), moments.end[moments.real].tolist(), strict=True)
    assert set(cells) == set(zip(*(axis.tolist() for axis in allowed.nonzero()), strict=True))


@needs_parity
@pytest.mark.parametrize("threshold", ["0.3", "0.5", "0.7"])
def test_suppression_keeps_the_published_moments(threshold: str) -> None:
    """No published run used it; it is TVR's, and stands with the measures."""
    rows = arrays("units/preprocess.npz")["nms/in"]
    run = RunTable.from_moments({"q": [ScoredMoment("v", *row) for row in rows.tolist()]})
    moments = suppressed(run, float(threshold))["q"]
    published = arrays("units/preprocess.npz")[f"nms/out_{threshold}"]
    np.testing.assert_array_equal([[moment.start_s, moment.end_s, moment.score] for moment in moments], published)
