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
SMALL = {"video_size": 40, "subtitle_size": 18, "query_size": 18, "hidden": 32, "heads": 4, "inner": 64}
SMALL |= {"clips": 20, "words": 12, "centres": 4, "narrow": 16}


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
    theirs = {our_name("conquer", name): tensor.shape for name, tensor in published.items()}
    assert theirs == {name: tensor.shape for name, tensor in model_of(score_videos=True).state_dict().items()}


def assert_equal(ours: Tensor, key: str, mask: Tensor | None = None) -> None:
    assert worst(ours, forward(f"neg0/{key}"), mask) < FORWARD, key


def test_queries_become_the_published_vectors() -> None:
    """Words are projected, placed, encoded and pooled."""
    model, sequences = model_of(), batch_of(0).queries
    with outputs_of(model, "query_position", "fusion.dropout") as outputs:
        queries = model.encode_queries(sequences)
    layout = Layout(sequences.lengths, torch.full_like(sequences.lengths, 12), 12, sequences.rows.device)
    projected = model.query_input.laid(sequences.rows, layout)
    assert_equal(layout.spread(projected), "encoder.queryEncoder.linear")
    assert_equal(layout.spread(outputs["query_position"]), "encoder.queryEncoder.transformer.embeddings")
    assert_equal(outputs["fusion.dropout"], "query_weight.text_pooling")
    assert_equal(queries.words, "encoder.queryEncoder")
    assert_equal(queries.weights[:, 0], "moe_weight_visual")
    assert_equal(queries.weights[:, 1], "moe_weight_sub")


def test_clips_become_the_published_rows_two_of_padding_among_them() -> None:
    model, batch = model_of(), batch_of(0)
    clips = model.encode_clips(batch.video, batch.subtitle)
    mask = torch.arange(20) < clips.layout.computed[:, None]
    assert mask.sum() > clips.layout.real.sum()
    assert_equal(clips.layout.spread(clips.seen), "video_repr_visual", mask)
    assert_equal(clips.layout.spread(clips.heard), "video_repr_sub", mask)
    layers = ((batch.video, model.visual_input, "img"), (batch.subtitle, model.subtitle_input, "text"))
    for sequences, layer, name in layers:
        layout = Layout(sequences.lengths, torch.full_like(sequences.lengths, 20), 20, sequences.rows.device)
        assert_equal(layout.spread(layer.laid(sequences.rows, layout)), f"encoder.videoEncoder.{name}_linear")


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


@pytest.mark.parametrize(("negatives", "score_videos"), [(0, False), (2, True)])
def test_boundaries_and_videos_get_the_published_scores(negatives: int, score_videos: bool) -> None:
    output = model_of(score_videos=score_videos)(batch_of(negatives))
    for ours, name in ((output.start, "begin"), (output.end, "end")):
        published = forward(f"neg{negatives}/{name}_logits").flatten(0, 1)
        assert worst(ours, published) < FORWARD, name  # padding, at -1e4, is equal too
    if score_videos:
        assert worst(output.videos.reshape(6, 3), forward("neg2/video_similarity")) < FORWARD


def test_losses_are_the_published_ones() -> None:
    losses, batch, sampled = arrays("conquer/losses.npz"), batch_of(0), batch_of(2)
    output = model_of()(batch)
    for side, logits, true in (("start", output.start, batch.start), ("end", output.end, batch.end)):
        ours = functional.cross_entropy(logits, true, reduction="none")
        assert worst(ours, tensor("conquer/losses.npz", f"neg0_simi_weighted/ce_{side}_per_sample")) < 1e-6
    unweighed = Objective(weigh_by_similarity=False)
    plain = conquer_loss(output, batch, unweighed)
    among_sampled = conquer_loss(model_of(score_videos=True)(sampled), sampled, unweighed)
    assert "videos" not in plain.terms and losses["neg0_unweighted/video_ce_loss"] == 0
    for ours, name in (
        (conquer_loss(output, batch, Objective()).total, "neg0_simi_weighted/loss_total"),
        (plain.total, "neg0_unweighted/loss_total"),
        (0.01 * plain.terms["spans"], "neg0_unweighted/moment_ce_loss"),
        (0.01 * among_sampled.terms["spans"], "neg2_exclusive_unweighted/moment_ce_loss"),
        (0.05 * among_sampled.terms["videos"], "neg2_exclusive_unweighted/video_ce_loss"),
        (among_sampled.total, "neg2_exclusive_unweighted/loss_total"),
    ):
        assert ours.item() == pytest.approx(losses[name], abs=1e-6), name


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
    published = meta("conquer")["grad_norms"]["neg2_exclusive_unweighted"]
    norms = {our_name("conquer", name): norm for name, norm in published.items()}
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
