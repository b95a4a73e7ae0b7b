"""Properties of all three, whatever the weights."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import padded
from moment_retrieval.baselines import BASELINES
from moment_retrieval.batches import Batch, Layout, Sample, Sequences, collate
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.models.blocks import Dropout
from moment_retrieval.models.conquer import ClipScore
from moment_retrieval.settings import Objective, Padding
from tests.moment_retrieval.baselines.small import batch_of, model_of, sample

PARAMETERS = {"xml": 2_550_034, "reloclnet": 6_973_578, "conquer": 47_672_640}


@pytest.fixture(params=BASELINES)
def baseline(request: pytest.FixtureRequest) -> str:
    return request.param


def loss_of(
    baseline: str, batch: Batch, objective: Objective | None = None, padding: Padding = Padding.OFFICIAL
) -> float:
    draw = RandomNegatives(torch.Generator().manual_seed(1))
    model = model_of(baseline, padding=padding).eval()
    return BASELINES[baseline].loss(model(batch), batch, objective or Objective(), draw).total.item()


def test_released_sizes_have_the_published_number_of_parameters(baseline: str) -> None:
    with torch.device("meta"):
        model = BASELINES[baseline].build()
    assert sum(parameter.numel() for parameter in model.parameters()) == PARAMETERS[baseline]


def test_the_plain_re_statement_is_equal(baseline: str) -> None:
    batch, objective = batch_of(), Objective()
    model = model_of(baseline).eval()
    words = 12 if baseline == "conquer" else None
    whole = padded.PaddedBatch.of(batch, clips=20, words=words)
    if baseline == "conquer":
        plain = padded.conquer_step_loss(model, whole, objective)
    else:
        draw = RandomNegatives(torch.Generator().manual_seed(1))
        plain = padded.two_stream_loss(model, whole, objective, draw)
    assert loss_of(baseline, batch) == pytest.approx(plain.item(), abs=1e-6)


@pytest.mark.parametrize("name", ["xml", "reloclnet"])
def test_attention_to_subtitles_that_are_empty_is_the_mean_of_all_padding(name: str) -> None:
    """The plain re-statement pads every stream to all clips; over a narrower rectangle logits were others."""
    batch = batch_of(clips=(3, 9))
    lengths = batch.subtitle.lengths.clone()
    lengths[0] = 0
    rows = batch.subtitle.rows[int(batch.subtitle.lengths[0]) :]
    batch = replace(batch, subtitle=Sequences(rows, lengths))
    model = model_of(name).eval()
    whole = padded.PaddedBatch.of(batch, clips=20)
    parts, levels = padded.ask(model, whole.queries), padded.levels(model, whole)
    span = (levels[0][model.span_level], levels[1][model.span_level])
    start, _ = padded.boundaries(model, parts, span, whole.video[1])
    result = model(batch).start
    real = torch.arange(result.shape[1]) < batch.video.lengths[:, None]
    torch.testing.assert_close(result[real], start[:, : result.shape[1]][real])


@pytest.mark.parametrize(
    ("name", "baselines"),
    [
        ("video.first.norm.weight", {"xml", "reloclnet", "conquer"}),
        ("video.meeting.norm.weight", {"conquer"}),
        ("video.meeting.norm.bias", {"xml", "reloclnet", "conquer"}),
        ("query_input.bias", {"xml", "reloclnet", "conquer"}),
        ("query_input.weight", set()),
    ],
)
def test_biases_and_norms_are_not_decayed(name: str, baselines: set[str]) -> None:
    assert {baseline for baseline in BASELINES if model_of(baseline).undecayed(name)} == baselines


def differences(baseline: str, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits of the start with official padding less those with compact padding [B, W], and the distance to the end."""
    official, compact = (model_of(baseline, padding=padding).eval()(batch).start for padding in Padding)
    width = compact.shape[1]
    return official[:, :width] - compact, batch.video.lengths[:, None] - torch.arange(width)


def test_compact_padding_changes_the_last_two_clips_alone_and_is_blind_to_other_videos(baseline: str) -> None:
    """Behind the end the released code computes with padding; its boundaries look two clips ahead."""
    difference, clips_left = differences(baseline, batch_of(8))
    assert difference[clips_left > 2].abs().max() < 1e-5
    assert difference[(clips_left > 0) & (clips_left <= 2)].abs().max() > 1e-5
    model = model_of(baseline, padding=Padding.COMPACT).eval()
    alone = collate([sample(0)])
    beside = collate([sample(0), sample(1, clips=(20, 20))])
    length = int(alone.video.lengths[0])
    torch.testing.assert_close(model(alone).start[0, :length], model(beside).start[0, :length], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["xml", "reloclnet"])
def test_compact_padding_changes_logits_by_what_the_kernel_sees_of_padding(name: str) -> None:
    model, batch = model_of(name).eval(), batch_of(8)
    difference, clips_left = differences(name, batch)
    official, compact = (model_of(name, padding=padding).eval()(batch).scores for padding in Padding)
    torch.testing.assert_close(official, compact)  # of the videos
    with torch.no_grad():
        queries, videos = model.encode_queries(batch.queries), model.encode_videos(batch.video, batch.subtitle)
        behind = model.similarity(queries, videos).masked_fill(videos.layouts[0].real, 0.0)
    kernel = model.span_head.start.weight.detach().flatten()
    bound = kernel[3:].abs().sum() * behind.abs().max()  # the two taps that look ahead
    assert 0 < difference[clips_left > 0].abs().max() <= bound
    kernel_sums = functional.conv1d(behind[:, None], kernel[None, None], padding=2).squeeze(1)[:, : difference.shape[1]]
    torch.testing.assert_close(difference[clips_left > 0], kernel_sums[clips_left > 0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("padding", Padding)
def test_the_similarity_weight_can_be_left_out(baseline: str, padding: Padding) -> None:
    batch = batch_of()
    alike = replace(batch, similarity=torch.ones(5))
    plain = Objective(weigh_by_similarity=False)
    assert loss_of(baseline, batch, plain, padding) == pytest.approx(loss_of(baseline, alike, None, padding))
    assert loss_of(baseline, batch, None, padding) < loss_of(baseline, batch, plain, padding)


@pytest.mark.parametrize("name", ["xml", "reloclnet"])
def test_the_mask_of_positives_leaves_them_out_of_the_negatives(name: str) -> None:
    samples, masked = [sample(number) for number in range(3)], Objective(mask_positives=True)
    everything = {f"q{number}": {"v0", "v1", "v2"} for number in range(3)}
    batch = collate(samples, positives_of=everything)
    output = model_of(name).eval()(batch)
    loss = BASELINES[name].loss(output, batch, masked, RandomNegatives(torch.Generator()))
    assert loss.terms["videos"].item() == loss.terms["queries"].item() == 0
    with pytest.raises(ValueError, match="know their positives"):
        BASELINES[name].loss(output, batch_of(3), masked, RandomNegatives(torch.Generator()))


def test_the_papers_mask_sums_positives_in_the_contrast_and_leaves_rankings_alone() -> None:
    """Where every video is a positive of every query, numerator and denominator are the same."""
    samples = [sample(number) for number in range(3)]
    batch = collate(samples, positives_of={f"q{number}": {"v0", "v1", "v2"} for number in range(3)})
    output = model_of("reloclnet").eval()(batch)
    draws = [RandomNegatives(torch.Generator().manual_seed(1)) for _ in range(2)]
    plain = BASELINES["reloclnet"].loss(output, batch, Objective(), draws[0]).terms
    summed = BASELINES["reloclnet"].loss(output, batch, Objective(sum_positives=True), draws[1]).terms
    assert summed["video_contrast"].item() == pytest.approx(0, abs=1e-6) and plain["video_contrast"].item() > 0.1
    assert torch.equal(summed["videos"], plain["videos"])


def test_hard_negatives_come_with_their_epoch() -> None:
    assert Objective().pool(19) is None
    assert Objective().pool(20) == 20
    assert Objective(hard_from_epoch=None).pool(99) is None


@pytest.mark.parametrize("padding", Padding)
@pytest.mark.parametrize("size", [1, 3])
def test_a_video_without_subtitles_or_clips_breaks_nothing(baseline: str, padding: Padding, size: int) -> None:
    """The batch of one keeps its axis; where nothing is real, all stays finite."""
    samples = [sample(number) for number in range(size)]
    samples[0] = replace(samples[0], subtitle=samples[0].subtitle[:0])
    samples[-1] = replace(samples[-1], video=samples[-1].video[:0], subtitle=samples[-1].subtitle[:0], start=0, end=0)
    batch, model = collate(samples), model_of(baseline, padding=padding)
    draw = RandomNegatives(torch.Generator())
    loss = BASELINES[baseline].loss(model(batch), batch, Objective(), draw).total
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(one.grad).all() for one in model.parameters() if one.grad is not None)


def test_subtitles_may_be_longer_than_the_video(baseline: str) -> None:
    one = sample(0, clips=(10, 10))
    longer = Sample(one.query, one.video[:6], one.subtitle, 1, 3)
    output = model_of(baseline).eval()(collate([longer]))
    assert (output.start[0] > -1e3).sum() == 6


def test_rows_come_back_from_the_rectangle_with_their_gradients_and_are_taken_in_any_order() -> None:
    layout = Layout(torch.tensor([2, 0, 3]), torch.tensor([3, 1, 4]), 4, torch.device("cpu"))
    rows = torch.randn(8, 4, dtype=torch.float64, requires_grad=True)
    assert layout.spread(rows).shape == (3, 4, 4)
    assert torch.equal(layout.collect(layout.spread(rows)), rows)
    assert torch.autograd.gradcheck(lambda values: layout.collect(layout.spread(values) ** 2), rows)
    sequences = Sequences(torch.arange(5.0)[:, None], torch.tensor([2, 0, 3]))
    subset = sequences.taken(torch.tensor([2, 0, 1]))
    assert (subset.rows.ravel().tolist(), subset.lengths.tolist()) == ([2, 3, 4, 0, 1], [3, 2, 0])


@pytest.mark.parametrize("width", [1, 2, 3, 9])
def test_a_clip_is_scored_as_by_a_convolution(width: int) -> None:
    torch.manual_seed(5)
    lengths = torch.tensor([width, max(1, width - 4), 1])
    layout = Layout(lengths, (lengths + 2).clamp(max=width), width, torch.device("cpu"))
    score = ClipScore(hidden=6, narrow=4, kernel_size=5)
    rows = torch.randn(int(layout.computed.sum()), 6, requires_grad=True)
    convolved = score.alone(functional.relu(score.around(layout.spread(rows).transpose(1, 2)))).squeeze(1)
    scored = score(rows, layout)
    torch.testing.assert_close(scored[layout.real], convolved[layout.real])
    of = [rows, score.around.weight, score.alone.weight]
    for ours, theirs in zip(
        torch.autograd.grad(scored[layout.real].square().sum(), of),
        torch.autograd.grad(convolved[layout.real].square().sum(), of),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


MANY = (41, 51, 101)  # no multiple of four, which come of one word


def dropped(share: float, shape: tuple[int, ...] = MANY, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(3)
    return Dropout(share)(torch.ones(shape, dtype=dtype))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_about_its_share_goes_and_the_rest_is_scaled_up(share: float) -> None:
    out = dropped(share)
    zero_share = (out == 0).double().mean().item()
    assert abs(zero_share - share) < 4 * (share * (1 - share) / out.numel()) ** 0.5  # four standard errors
    assert out[out != 0].unique().tolist() == [pytest.approx(1 / (1 - share))]


def test_positions_are_independent_of_their_neighbours_and_follow_from_the_seed() -> None:
    zeros = (dropped(0.5).flatten() == 0).double() - 0.5
    for apart in range(1, 9):  # four numbers share a word
        assert abs((zeros[:-apart] * zeros[apart:]).mean().item()) < 4 * 0.25 / len(zeros) ** 0.5
    assert torch.equal(dropped(0.1), dropped(0.1))
    layer = Dropout(0.1)
    assert not torch.equal(layer(torch.ones(MANY)), layer(torch.ones(MANY)))


def test_gradients_pass_where_values_did_and_shapes_and_types_stay() -> None:
    torch.manual_seed(3)
    values = torch.ones(MANY, requires_grad=True)
    out = Dropout(0.1)(values)
    out.sum().backward()
    assert values.grad is not None and torch.equal(values.grad, out.detach())
    shapes: list[tuple[int, ...]] = [(), (1,), (3,), (0, 4), (5, 7)]
    assert [dropped(0.5, shape).shape for shape in shapes] == shapes
    narrow = dropped(0.5, dtype=torch.bfloat16)
    assert narrow.dtype == torch.bfloat16 and set(narrow.unique().tolist()) == {0.0, 2.0}
    for layer in (Dropout(0.0), Dropout(0.9).eval()):
        assert torch.equal(layer(torch.ones(MANY)), torch.ones(MANY))
