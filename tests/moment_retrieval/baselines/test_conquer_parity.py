"""CONQUER against the vectors of the released code, within the tolerances of its specification."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from moment_retrieval.batches import Batch, Layout
from moment_retrieval.models.conquer import Conquer, conquer_loss
from moment_retrieval.optim import CorrectedAdam, parameter_groups
from moment_retrieval.published import our_name, our_weights
from moment_retrieval.settings import ConquerConfig, Objective, Padding
from tests.moment_retrieval.baselines.vectors import (
    arrays,
    assert_gradient,
    meta,
    needs_parity,
    outputs_of,
    packed,
    tensor,
    weights,
    worst,
)

pytestmark = needs_parity
FORWARD = 5e-6
SMALL = {
    "video_size": 40,
    "subtitle_size": 18,
    "query_size": 18,
    "hidden": 32,
    "heads": 4,
    "inner": 64,
    "clips": 20,
    "words": 12,
    "centres": 4,
    "narrow": 16,
}


def model_of(*, score_videos: bool = False, padding: Padding = Padding.OFFICIAL) -> Conquer:
    model = Conquer(ConquerConfig(score_videos=score_videos, padding=padding, **SMALL))
    published = our_weights("conquer", weights("conquer/weights.safetensors"))
    model.load_state_dict({name: published[name] for name in model.state_dict()})
    return model.eval()


def batch_of(negatives: int) -> Batch:
    inputs = {name: torch.from_numpy(array) for name, array in arrays(f"conquer/inputs_neg{negatives}.npz").items()}
    streams = [
        packed(inputs[f"{name}.feat"].flatten(0, -3), inputs[f"{name}.feat_mask"].flatten(0, -2))
        for name in ("query", "visual", "sub")
    ]
    start, end = inputs["st_ed_indices"].unbind(1)
    return Batch(*streams, start, end, inputs.get("simi", torch.ones(6)))


def forward(key: str) -> Tensor:
    return tensor("conquer/forward.npz", key)


def test_every_published_weight_has_a_counterpart() -> None:
    published = weights("conquer/weights.safetensors")
    assert {our_name("conquer", name): tensor.shape for name, tensor in published.items()} == {
        name: tensor.shape for name, tensor in model_of(score_videos=True).state_dict().items()
    }


def test_queries_become_the_published_vectors() -> None:
    queries = model_of().encode_queries(batch_of(0).queries)
    assert worst(queries.words, forward("neg0/encoder.queryEncoder")) < FORWARD
    assert worst(queries.weights[:, 0], forward("neg0/moe_weight_visual")) < FORWARD
    assert worst(queries.weights[:, 1], forward("neg0/moe_weight_sub")) < FORWARD


def test_words_are_projected_placed_and_pooled_as_published() -> None:
    model, queries = model_of(), batch_of(0).queries
    layout = Layout(queries.lengths, torch.full_like(queries.lengths, 12), 12, queries.rows.device)
    projected = model.query_input.laid(queries.rows, layout)
    assert worst(layout.spread(projected), forward("neg0/encoder.queryEncoder.linear")) < FORWARD
    with outputs_of(model, "query_position", "fusion.dropout") as outputs:
        model.encode_queries(queries)
    placed = layout.spread(outputs["query_position"])
    assert worst(placed, forward("neg0/encoder.queryEncoder.transformer.embeddings")) < FORWARD
    assert worst(outputs["fusion.dropout"], forward("neg0/query_weight.text_pooling")) < FORWARD


def test_clips_are_projected_as_published() -> None:
    model, batch = model_of(), batch_of(0)
    for sequences, layer, name in (
        (batch.video, model.visual_input, "img_linear"),
        (batch.subtitle, model.subtitle_input, "text_linear"),
    ):
        layout = Layout(sequences.lengths, torch.full_like(sequences.lengths, 20), 20, sequences.rows.device)
        ours = layout.spread(layer.laid(sequences.rows, layout))
        assert worst(ours, forward(f"neg0/encoder.videoEncoder.{name}")) < FORWARD, name


@pytest.mark.parametrize("negatives", [0, 2])
def test_clips_read_with_the_query_in_mind_become_the_published_rows(negatives: int) -> None:
    """Weighed (QDF), with the words they are like (QAL), among each other, and as starts and ends."""
    model, batch = model_of(score_videos=negatives > 0), batch_of(negatives)
    aware: list[Tensor] = []
    model.context.register_forward_pre_hook(lambda _, tensors: aware.append(tensors[0]))
    with outputs_of(model, "context", "start", "end") as tensors:
        model(batch)
    layout = model.encode_clips(batch.video, batch.subtitle).layout
    ours = {
        "QDF": aware[0][:, :32],
        "query_aware_feature_learning_layer": aware[0],
        "contextual_QAL_feature_learning": tensors["context"],
        "moment_localization_head.begin_feature_modeling": tensors["start"],
        "moment_localization_head.end_feature_modeling": tensors["end"],
    }
    mask = torch.arange(20) < layout.computed[:, None]
    names = [name for name in ours if f"neg{negatives}/{name}" in arrays("conquer/forward.npz")]
    assert len(names) == (2 if negatives else 5)
    for name in names:
        assert worst(layout.spread(ours[name]), forward(f"neg{negatives}/{name}"), mask) < FORWARD, name


def test_clips_become_the_published_rows_two_of_padding_among_them() -> None:
    batch = batch_of(0)
    clips = model_of().encode_clips(batch.video, batch.subtitle)
    mask = torch.arange(20) < clips.layout.computed[:, None]
    assert mask.sum() > clips.layout.real.sum()
    assert worst(clips.layout.spread(clips.seen), forward("neg0/video_repr_visual"), mask) < FORWARD
    assert worst(clips.layout.spread(clips.heard), forward("neg0/video_repr_sub"), mask) < FORWARD


@pytest.mark.parametrize(("negatives", "score_videos"), [(0, False), (2, True)])
@pytest.mark.parametrize("boundary", ["start", "end"])
def test_boundaries_get_the_published_logits(negatives: int, score_videos: bool, boundary: str) -> None:
    logits = getattr(model_of(score_videos=score_videos)(batch_of(negatives)), boundary)
    published = forward(f"neg{negatives}/{boundary.replace('start', 'begin')}_logits").flatten(0, 1)
    assert worst(logits, published) < FORWARD  # padding, at -1e4, is equal too


def test_videos_get_the_published_scores() -> None:
    videos = model_of(score_videos=True)(batch_of(2)).videos
    assert videos is not None
    assert worst(videos.reshape(6, 3), forward("neg2/video_similarity")) < FORWARD


def test_losses_are_the_published_ones() -> None:
    losses, unweighed = arrays("conquer/losses.npz"), Objective(weigh_by_similarity=False)
    batch = batch_of(0)
    output = model_of()(batch)
    starts = functional.cross_entropy(output.start, batch.start, reduction="none")
    assert worst(starts, tensor("conquer/losses.npz", "neg0_simi_weighted/ce_start_per_sample")) < 1e-6
    ends = functional.cross_entropy(output.end, batch.end, reduction="none")
    assert worst(ends, tensor("conquer/losses.npz", "neg0_simi_weighted/ce_end_per_sample")) < 1e-6
    weighed = conquer_loss(output, batch, Objective()).total.item()
    assert weighed == pytest.approx(losses["neg0_simi_weighted/loss_total"], abs=1e-6)
    plain = conquer_loss(output, batch, unweighed).total.item()
    assert plain == pytest.approx(losses["neg0_unweighted/loss_total"], abs=1e-6)
    terms = conquer_loss(output, batch, unweighed).terms
    assert 0.01 * terms["spans"].item() == pytest.approx(losses["neg0_unweighted/moment_ce_loss"], abs=1e-6)
    assert "videos" not in terms and losses["neg0_unweighted/video_ce_loss"] == 0


def test_losses_among_sampled_videos_are_the_published_ones() -> None:
    losses = arrays("conquer/losses.npz")
    batch = batch_of(2)
    loss = conquer_loss(model_of(score_videos=True)(batch), batch, Objective(weigh_by_similarity=False))
    assert 0.01 * loss.terms["spans"].item() == pytest.approx(
        losses["neg2_exclusive_unweighted/moment_ce_loss"], abs=1e-6
    )
    assert 0.05 * loss.terms["videos"].item() == pytest.approx(
        losses["neg2_exclusive_unweighted/video_ce_loss"], abs=1e-6
    )
    assert loss.total.item() == pytest.approx(losses["neg2_exclusive_unweighted/loss_total"], abs=1e-6)


@pytest.mark.parametrize("case", ["simi_weighted", "unweighted"])
def test_gradients_are_the_published_ones(case: str) -> None:
    model, batch = model_of(), batch_of(0)
    conquer_loss(model(batch), batch, Objective(weigh_by_similarity=case == "simi_weighted")).total.backward()
    published = our_weights("conquer", weights(f"conquer/grads_neg0_{case}.safetensors"))
    for name, parameter in model.named_parameters():
        assert_gradient(name, parameter.grad, published[name])


def test_gradients_among_sampled_videos_are_as_long_as_the_published_ones() -> None:
    model, batch = model_of(score_videos=True), batch_of(2)
    conquer_loss(model(batch), batch, Objective(weigh_by_similarity=False)).total.backward()
    norms = {
        our_name("conquer", name): norm
        for name, norm in meta("conquer")["grad_norms"]["neg2_exclusive_unweighted"].items()
    }
    for name, parameter in model.named_parameters():
        assert parameter.grad.norm().item() == pytest.approx(norms[name], rel=1e-4, abs=1e-6), name


def test_three_steps_lead_to_the_published_weights() -> None:
    model, batch = model_of(), batch_of(0)
    exempt = [name for name, _ in model.named_parameters() if model.undecayed(name)]
    optimiser = CorrectedAdam(parameter_groups(model, exempt=exempt), lr=0.01)
    for n_steps, step in enumerate(meta("conquer")["optimizer_trace"], start=1):
        optimiser.zero_grad()
        loss = conquer_loss(model(batch), batch, Objective()).total
        assert loss.item() == pytest.approx(step["loss"], abs=1e-5)
        loss.backward()
        optimiser.step()
        if n_steps in (1, 3):
            published = weights(f"conquer/weights_after_step{n_steps}.safetensors")
            for name, weight in our_weights("conquer", published).items():
                assert worst(model.state_dict()[name], weight) < 1e-4, name
