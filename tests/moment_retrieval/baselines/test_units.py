"""Losses, optimisers and what is done to features: by hand, and equal to the published vectors of each."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from moment_retrieval.batches import collate
from moment_retrieval.errors import ZeroLengthMoment
from moment_retrieval.losses import (
    RandomNegatives,
    both_hinges,
    columns_at,
    diagonal,
    hinge,
    masked_video_contrast,
    summed_video_contrast,
    video_contrast,
)
from moment_retrieval.optim import BertAdam, CorrectedAdam, warmed_up
from moment_retrieval.preprocessing import (
    Boundary,
    boundary_clips,
    clip_rows,
    l2_normalised,
    sampled,
    with_endpoints,
    word_rows,
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


@needs_parity
def test_the_contrast_of_all_positives_with_a_hard_negative_is_the_published_one() -> None:
    scores, positives = unit("scores"), unit("pos_mask").bool()
    loss = summed_video_contrast(scores, positives, unit("hard_neg_scores"))
    torch.testing.assert_close(loss, unit("milnce_rvmr_hardneg_multipos_per_sample"))


def test_contrasts_and_hinges_by_hand() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    positives = torch.tensor([[1, 1, 0], [0, 1, 0], [0, 0, 1]]).bool()
    denominators = torch.tensor([[1.0, 3.0, 4.0, 7.0], [4.0, 5.0, 6.0, 8.0]]).logsumexp(1)  # own, row, column
    torch.testing.assert_close(masked_video_contrast(scores, positives)[:2], denominators - torch.tensor([1.0, 5.0]))
    everything = torch.tensor([[1.0, 2.0, 3.0, 4.0, 7.0], [4.0, 5.0, 6.0, 2.0, 8.0]]).logsumexp(1)  # row, column
    own = torch.stack([torch.tensor([1.0, 2.0]).logsumexp(0), torch.tensor([5.0, 2.0]).logsumexp(0)])
    torch.testing.assert_close(summed_video_contrast(scores, positives)[:2], everything - own)
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


BERTADAM = "units/bertadam.npz"
PARAMETERS = {"w_decay": 0.01, "w_no_decay": 0.0, "big": 0.01}
SETTINGS = {"warmup": {"total": 40, "warm_up": 0.1}, "const": {}, "noclip": {"max_norm": 0.0}}


@needs_parity
@pytest.mark.parametrize("case", SETTINGS)
def test_six_steps_of_bertadam_lead_where_the_published_ones_lead(case: str) -> None:
    start = {name: torch.from_numpy(arrays(BERTADAM)[f"{case}/{name}/step0"].copy()) for name in PARAMETERS}
    groups = [{"params": [start[name]], "weight_decay": decay} for name, decay in PARAMETERS.items()]
    optimiser = BertAdam(groups, lr=0.05, **SETTINGS[case])
    for step in range(1, 7):
        for name, parameter in start.items():
            parameter.grad = torch.from_numpy(arrays(BERTADAM)[f"{case}/{name}/grad{step}"].copy())
        optimiser.step()
        for name, parameter in start.items():
            np.testing.assert_allclose(parameter.numpy(), arrays(BERTADAM)[f"{case}/{name}/step{step}"], atol=1e-6)


@needs_parity
def test_the_warm_up_is_the_published_one() -> None:
    for step, multiplier in zip(
        arrays(BERTADAM)["schedule/step"], arrays(BERTADAM)["schedule/multiplier"], strict=True
    ):
        assert warmed_up(int(step), 1000) == pytest.approx(multiplier, abs=1e-12)


def test_clipping_leaves_the_gradient_as_it_was() -> None:
    parameter = torch.zeros(2)
    parameter.grad = torch.tensor([3.0, 4.0])
    BertAdam([{"params": [parameter]}], lr=0.1).step()
    assert parameter.grad.tolist() == [3.0, 4.0]


def test_corrected_adam_is_its_formula() -> None:
    generator = np.random.default_rng(1)
    correct = generator.normal(size=5)
    parameter = torch.from_numpy(correct.copy())
    optimiser = CorrectedAdam([{"params": [parameter], "weight_decay": 0.01}], lr=0.1)
    first, second = np.zeros(5), np.zeros(5)
    for step in range(1, 5):
        gradient = generator.normal(size=5) * 1e-3  # small: epsilon counts
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        correct -= rate * first / (np.sqrt(second) + 1e-6)
        correct -= 0.1 * 0.01 * correct
        parameter.grad = torch.from_numpy(gradient)
        optimiser.step()
        np.testing.assert_allclose(parameter.numpy(), correct, rtol=1e-10)
        assert optimiser.param_groups[0]["lr"] == 0.1  # what is told and kept is what was asked for


PREPROCESS = "units/preprocess.npz"
SAMPLINGS = ("1_20", "20_20", "21_20", "33_20", "39_20", "40_20", "200_20", "129_128", "182_128")


@needs_parity
@pytest.mark.parametrize("case", SAMPLINGS)
def test_long_videos_are_sampled_as_published(case: str) -> None:
    limit = int(case.split("_")[1])
    np.testing.assert_allclose(
        sampled(arrays(PREPROCESS)[f"sampling/{case}/in"], limit), arrays(PREPROCESS)[f"sampling/{case}/out"], atol=1e-6
    )


@needs_parity
def test_rows_get_length_one_as_published() -> None:
    np.testing.assert_allclose(l2_normalised(arrays(PREPROCESS)["l2/in"]), arrays(PREPROCESS)["l2/out"], atol=1e-7)


@needs_parity
@pytest.mark.parametrize(("code", "how"), [("tvrr", {}), ("conquer", {"boundary": Boundary.LAST})])
def test_moments_fall_on_the_published_clips_or_are_refused_where_the_code_refuses(code: str, how: Any) -> None:
    for start_s, end_s, clips, *correct in arrays(PREPROCESS)[f"labels_{code}/start_end_nclips_st_ed"]:
        if correct == [-1, -1]:
            with pytest.raises(ZeroLengthMoment, match="holds no clip"):
                boundary_clips(start_s, end_s, int(clips), **how)
        else:
            assert list(boundary_clips(start_s, end_s, int(clips), **how)) == correct


def test_rows_of_clips_and_words_by_hand() -> None:
    """A clip is normalised before its endpoints come; CONQUER cuts long videos instead of sampling them."""
    rows = with_endpoints(np.zeros((4, 1), np.float32))
    np.testing.assert_array_equal(rows[:, 1:], [[0, 0.25], [0.25, 0.5], [0.5, 0.75], [0.75, 1]])
    rows = clip_rows(np.full((2, 4), 3, np.float32), limit=128, endpoints=True)
    np.testing.assert_allclose(rows, [[0.5, 0.5, 0.5, 0.5, 0, 0.5], [0.5, 0.5, 0.5, 0.5, 0.5, 1]], atol=1e-5)
    rows = clip_rows(np.arange(6, dtype=np.float32)[:, None], limit=4, endpoints=False, sample=False, normalise=False)
    assert rows.ravel().tolist() == [0, 1, 2, 3]
    assert word_rows(np.ones((40, 2), np.float32)).shape == (30, 2)
    assert not l2_normalised(np.zeros((1, 3), np.float32)).any()
