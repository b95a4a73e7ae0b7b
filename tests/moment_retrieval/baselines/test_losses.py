from dataclasses import replace

import pytest
import torch
from torch import Tensor

from moment_retrieval.batches import collate
from moment_retrieval.losses import (
    RandomNegatives,
    both_hinges,
    columns_at,
    diagonal,
    hinge,
    masked_video_contrast,
    video_contrast,
)
from tests.moment_retrieval.baselines.small import sample
from tests.moment_retrieval.baselines.vectors import arrays, needs_parity


def unit(name: str) -> Tensor:
    return torch.from_numpy(arrays("units/posmask_losses.npz")[name])


@needs_parity
def test_video_contrasts_are_the_published_ones() -> None:
    scores, positives = unit("scores"), unit("pos_mask").bool()
    torch.testing.assert_close(video_contrast(scores), unit("milnce_diagonal_per_sample"))
    masked = masked_video_contrast(scores, positives)
    torch.testing.assert_close(masked, unit("milnce_rvmr_per_sample"))
    torch.testing.assert_close(masked.mean(), unit("milnce_rvmr_mean"))


def test_contrasts_and_hinges_by_hand() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    positives = torch.tensor([[1, 1, 0], [0, 1, 0], [0, 0, 1]]).bool()
    denominators = torch.tensor([[1.0, 3.0, 4.0, 7.0], [4.0, 5.0, 6.0, 8.0]]).logsumexp(1)  # own, row, column
    torch.testing.assert_close(masked_video_contrast(scores, positives)[:2], denominators - torch.tensor([1.0, 5.0]))
    scores = torch.tensor([[0.9, 0.85], [0.2, 0.5]])
    costs = hinge(scores, diagonal(2, scores.device), torch.tensor([1, 0]), 0.1)
    torch.testing.assert_close(costs, torch.tensor([0.05, 0.0]))


@needs_parity
def test_known_positives_are_the_published_mask() -> None:
    names = [[str(number) for number in unit(f"{kind}_id").tolist()] for kind in ("query", "video")]
    samples = [replace(sample(0), query_id=query, video_id=video) for query, video in zip(*names, strict=True)]
    suited: dict[str, set[str]] = {query: set() for query in names[0]}
    for query, video in zip(*names, strict=True):
        suited[query].add(video)
    assert torch.equal(collate(samples, positives_of=suited).positives, unit("pos_mask").bool())


@needs_parity
@pytest.mark.parametrize("case", ["posmask_hinge_random", "posmask_hinge_hard"])
def test_hinges_without_positives_are_the_published_ones(case: str) -> None:
    scores, positives = unit("cos_scores"), unit("pos_mask").bool()
    for side, matrix, among in (("ctx", scores, positives), ("q", scores.T, positives.T)):
        negatives = columns_at(matrix, among, unit(f"{case}/rank_draws_{side}"))
        torch.testing.assert_close(hinge(matrix, among, negatives, 0.1), unit(f"{case}/neg_{side}_per_sample"))


def test_no_positive_is_ever_drawn_and_hard_negatives_are_the_best_of_the_others() -> None:
    draw = RandomNegatives(torch.Generator().manual_seed(3))
    positives = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]).bool()
    negatives = torch.stack([draw(torch.randn(4, 4, generator=draw.generator), positives) for _ in range(200)])
    assert [set(column.tolist()) for column in negatives.T] == [{2, 3}, {2}, {0, 1, 3}, {0, 1, 2}]
    hard, scores = RandomNegatives(torch.Generator().manual_seed(3), pool=2), torch.arange(8.0).repeat(8, 1)
    negatives = torch.stack([hard(scores, diagonal(8, scores.device)) for _ in range(100)])
    assert [set(column.tolist()) for column in negatives.T] == [{6, 7}] * 6 + [{5, 7}, {5, 6}]


@pytest.mark.parametrize("size", [1, 3])
def test_where_all_are_positives_nothing_is_lost(size: int) -> None:
    scores = torch.randn(size, size, requires_grad=True)
    everything = torch.ones(size, size, dtype=torch.bool)
    losses = both_hinges(scores, everything, RandomNegatives(torch.Generator()), 0.1)
    assert [loss.item() for loss in losses] == [0.0, 0.0]
