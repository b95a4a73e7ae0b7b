"""XML and ReLoCLNet against the vectors of the released code, within the tolerances of their specification."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from moment_retrieval.batches import NOTHING, Batch, Layout
from moment_retrieval.losses import boundary_loss, columns_at, diagonal, video_contrast
from moment_retrieval.models.reloclnet import Reloclnet, frame_losses, reloclnet_loss
from moment_retrieval.models.two_stream import TwoStream, best_clip, clip_scores
from moment_retrieval.models.xml import Xml, xml_loss
from moment_retrieval.optim import BertAdam, parameter_groups
from moment_retrieval.published import our_name, our_weights
from moment_retrieval.settings import Objective, Padding, ReloclnetConfig, XmlConfig
from tests.moment_retrieval.baselines.vectors import (
    Recorded,
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
SMALL = {"query_size": 18, "hidden": 32, "heads": 4, "clips": 20, "words": 12}
FOLDERS = {"xml": "xml", "reloclnet": "relocl"}
STEPS = {"xml": (2, 4), "reloclnet": (1, 2, 4)}
LOSSES = {"xml": xml_loss, "reloclnet": reloclnet_loss}
STREAMS = {"video": "video", "sub": "subtitle"}
QUERY_ENCODERS = {
    "xml": {"query_encoders.0": "encoder"},
    "reloclnet": {"query_encoders.0": "encoder", "query_encoders.1": "encoder1"},
}
FORWARD = 5e-6
PRODUCTS = 1e-5
BEHIND_THE_END = 2e-4  # logits of the last two clips, where rounded padding leaks in


@pytest.fixture(params=FOLDERS)
def baseline(request: pytest.FixtureRequest) -> str:
    return request.param


def model_of(baseline: str, padding: Padding = Padding.OFFICIAL) -> TwoStream:
    """The small model the vectors were made with."""
    if baseline == "xml":
        model: TwoStream = Xml(XmlConfig(video_size=26, subtitle_size=22, padding=padding, **SMALL))
    else:
        model = Reloclnet(ReloclnetConfig(video_size=24, subtitle_size=20, padding=padding, **SMALL))
    model.load_state_dict(our_weights(baseline, weights(f"{FOLDERS[baseline]}/weights.safetensors")))
    return model.eval()


def batch_of(baseline: str) -> Batch:
    inputs = {name: torch.from_numpy(array) for name, array in arrays(f"{FOLDERS[baseline]}/inputs.npz").items()}
    streams = {name: packed(inputs[f"{name}_feat"], inputs[f"{name}_mask"]) for name in ("query", "video", "sub")}
    start, end = inputs["st_ed_indices"].unbind(1)
    return Batch(streams["query"], streams["video"], streams["sub"], start, end, inputs["simi"])


def of(baseline: str, file: str, key: str) -> Tensor:
    return tensor(f"{FOLDERS[baseline]}/{file}.npz", key)


def test_every_published_weight_has_a_counterpart_and_the_same_ones_decay(baseline: str) -> None:
    published, model = weights(f"{FOLDERS[baseline]}/weights.safetensors"), model_of(baseline)
    theirs = {our_name(baseline, name): tensor.shape for name, tensor in published.items()}
    assert theirs == {name: tensor.shape for name, tensor in model.state_dict().items()}
    decayed = {our_name(baseline, name) for name in meta(FOLDERS[baseline])["weight_decayed_parameters"]}
    assert {name for name, _ in model.named_parameters() if not model.undecayed(name)} == decayed


def test_queries_become_the_published_vectors(baseline: str) -> None:
    """Words are weighed and encoded, one encoder after another; the hooked values are of the first two queries."""
    model, queries = model_of(baseline), batch_of(baseline).queries
    layout = Layout(queries.lengths, queries.lengths, 12, queries.rows.device)
    hooks = {"query_input": "input_proj", "query_position": "pos_embed", **QUERY_ENCODERS[baseline]}
    with outputs_of(model, *hooks, "query_split") as outputs:
        pictures, words = model.encode_queries(queries)
    cells = {name: layout.spread(rows) for name, rows in outputs.items()}
    for name, hook in hooks.items():
        assert worst(cells[name][:2], of(baseline, "forward", f"hook_query_{hook}"), layout.real[:2]) < FORWARD, name
    last = cells[list(hooks)[-1]]
    assert worst(last, of(baseline, "forward", "query_encoded"), layout.real) < FORWARD
    parts = cells["query_split"].masked_fill(~layout.real[..., None], NOTHING).softmax(1)
    assert worst(parts, of(baseline, "forward", "modular_attention")) < FORWARD
    assert worst(pictures, of(baseline, "forward", "video_query")) < FORWARD
    assert worst(words, of(baseline, "forward", "sub_query")) < FORWARD


@pytest.mark.parametrize("stream", ["video", "sub"])
def test_streams_are_projected_and_look_at_each_other_as_published(baseline: str, stream: str) -> None:
    model, batch = model_of(baseline), batch_of(baseline)
    sequences, meeting = getattr(batch, STREAMS[stream]), f"{STREAMS[stream]}.meeting"
    layout = Layout(sequences.lengths, torch.full_like(sequences.lengths, 20), 20, sequences.rows.device)
    ours = layout.spread(model.get_submodule(STREAMS[stream]).input.laid(sequences.rows, layout))
    assert worst(ours, of(baseline, "forward", f"hook_{stream}_input_proj")) < FORWARD  # padding too
    with outputs_of(model, f"{meeting}.attention", f"{meeting}.norm") as outputs:
        layout = model.encode_videos(batch.video, batch.subtitle).layouts[stream == "sub"]
    mask = torch.arange(20) < layout.computed[:, None]
    for module, hook in (("attention", "cross_att"), ("norm", "cross_layernorm")):
        cells, published = (
            layout.spread(outputs[f"{meeting}.{module}"]),
            of(baseline, "forward", f"hook_{stream}_{hook}"),
        )
        assert worst(cells, published, layout.real) < FORWARD, module
        assert worst(cells, published, mask) < 1e-3, module


def test_streams_alone_and_merged_get_the_published_scores(baseline: str) -> None:
    """Products of rows are as long as 6: the published ones themselves lie 8e-6 from those of float64."""
    model, batch = model_of(baseline), batch_of(baseline)
    queries, videos = model.encode_queries(batch.queries), model.encode_videos(batch.video, batch.subtitle)
    for number, stream in enumerate(STREAMS):
        rows, layout = videos.levels[model.score_level][number], videos.layouts[number]
        scores = best_clip(functional.normalize(queries[number], dim=1), functional.normalize(rows, dim=1), layout)
        assert worst(scores, of(baseline, "forward", f"{stream}_q2ctx")) < FORWARD
        if baseline == "xml":
            query = model.get_submodule(STREAMS[stream]).span_query(queries[number])
            similarity = clip_scores(query, videos.levels[model.span_level][number], layout)
            assert worst(similarity, of(baseline, "forward", f"{stream}_similarity"), layout.real) < PRODUCTS
    merged, output = model.similarity(queries, videos), model(batch)
    assert worst(merged, of(baseline, "forward", "merged_similarity"), videos.layouts[0].real) < PRODUCTS
    assert worst(output.scores, of(baseline, "forward", "q2ctx_scores")) < FORWARD
    if baseline == "reloclnet":
        assert worst(output.videos, of(baseline, "forward", "mid_q2ctx_unnormalized")) < PRODUCTS


def levels(baseline: str) -> list[tuple[str, str]]:
    if baseline == "xml":
        return [("video_feat1", "sub_feat1"), ("video_feat2", "sub_feat2")]
    return [(f"ctx_{level}_video", f"ctx_{level}_sub") for level in ("encoded", "mid", "final")]


def test_clips_become_the_published_rows_after_every_encoder(baseline: str) -> None:
    """Behind the end as far as rounding lets them."""
    batch = batch_of(baseline)
    videos = model_of(baseline).encode_videos(batch.video, batch.subtitle)
    mask = torch.arange(20) < videos.layouts[0].computed[:, None]
    assert mask.sum() > videos.layouts[0].real.sum()
    for pair, names in zip(videos.levels.values(), levels(baseline), strict=True):
        for rows, layout, name in zip(pair, videos.layouts, names, strict=True):
            assert worst(layout.spread(rows), of(baseline, "forward", name), layout.real) < FORWARD, name
            assert worst(layout.spread(rows), of(baseline, "forward", name), mask) < 1e-3, name


def test_boundaries_get_the_published_logits(baseline: str) -> None:
    batch = batch_of(baseline)
    output, real = model_of(baseline)(batch), torch.arange(20) < batch.video.lengths[:, None]
    for boundary, logits in (("start", output.start), ("end", output.end)):
        published = of(baseline, "forward", f"{boundary}_logits")
        torch.testing.assert_close(logits[real], published[real], atol=FORWARD, rtol=1e-6)  # logits are up to 15
        assert (logits[~real] == -1e10).all()


def test_all_pairs_of_queries_and_videos_get_the_published_logits(baseline: str) -> None:
    """As a search does: two queries, each asked of all six videos."""
    model, batch = model_of(baseline), batch_of(baseline)
    videos = model.encode_videos(batch.video, batch.subtitle)
    queries = model.encode_queries(batch.queries.taken(torch.tensor([0, 1])))
    assert worst(model.video_scores(queries, videos), of(baseline, "forward", "cross_q2ctx")) < FORWARD
    for number in range(2):
        same = tuple(part[number].expand(6, -1) for part in queries)
        start, end = model.span_logits(same, videos)
        real = videos.layouts[0].real
        assert worst(start, of(baseline, "forward", "cross_start_logits")[number], real) < BEHIND_THE_END
        assert worst(end, of(baseline, "forward", "cross_end_logits")[number], real) < BEHIND_THE_END


@pytest.mark.parametrize("case", ["random", "hard"])
def test_losses_are_the_published_ones(baseline: str, case: str) -> None:
    def published(name: str) -> Tensor:
        return of(baseline, "losses", f"{case}/{name}")

    batch, objective = batch_of(baseline), Objective()
    output = model_of(baseline)(batch)
    starts, ends = boundary_loss(output.start, output.end, batch.start, batch.end)
    assert worst(starts, published("ce_start_per_sample")) < BEHIND_THE_END
    assert worst(ends, published("ce_end_per_sample")) < BEHIND_THE_END
    own = diagonal(6, output.scores.device)
    negatives = [
        columns_at(scores, own, published(f"neg_{side}_rank"))
        for side, scores in (("ctx", output.scores), ("q", output.scores.T))
    ]
    assert negatives[0].tolist() == published("neg_ctx_index").tolist()
    assert negatives[1].tolist() == published("neg_q_index").tolist()
    loss = LOSSES[baseline](output, batch, objective, Recorded(*negatives))
    assert worst(loss.terms["videos"], published("loss_neg_ctx")) < 1e-6
    assert worst(loss.terms["queries"], published("loss_neg_q")) < 1e-6
    assert worst(loss.total, published("loss_total")) < 1e-6
    if baseline == "reloclnet":
        video_loss, heard = frame_losses(output, batch)
        torch.testing.assert_close(video_loss, published("fcl_video_per_sample"), atol=5e-6, rtol=1e-6)
        torch.testing.assert_close(heard, published("fcl_sub_per_sample"), atol=5e-6, rtol=1e-6)
        torch.testing.assert_close(video_contrast(output.videos), published("vcl_per_sample"), atol=5e-6, rtol=1e-6)


@pytest.mark.parametrize("case", ["random", "hard"])
def test_gradients_are_the_published_ones(baseline: str, case: str) -> None:
    model, batch = model_of(baseline), batch_of(baseline)
    negatives = (of(baseline, "losses", f"{case}/neg_{side}_index") for side in ("ctx", "q"))
    LOSSES[baseline](model(batch), batch, Objective(), Recorded(*negatives)).total.backward()
    published = our_weights(baseline, weights(f"{FOLDERS[baseline]}/grads_{case}.safetensors"))
    for name, parameter in model.named_parameters():
        assert_gradient(name, parameter.grad, published[name])


def test_four_steps_lead_to_the_published_weights(baseline: str) -> None:
    model, batch, about = model_of(baseline), batch_of(baseline), meta(FOLDERS[baseline])
    exempt = [name for name, _ in model.named_parameters() if model.undecayed(name)]
    optimiser = BertAdam(parameter_groups(model, exempt=exempt), lr=0.01, total=200)
    for n_steps, step in enumerate(about["optimizer_trace"], start=1):
        optimiser.zero_grad()
        negatives = Recorded(step["neg_ctx_index"], step["neg_q_index"])
        loss = LOSSES[baseline](model(batch), batch, Objective(), negatives).total
        assert loss.item() == pytest.approx(step["loss"], abs=1e-4)
        loss.backward()
        optimiser.step()
        if n_steps in STEPS[baseline]:
            published = weights(f"{FOLDERS[baseline]}/weights_after_step{n_steps}.safetensors")
            for name, tensor in our_weights(baseline, published).items():
                assert worst(model.state_dict()[name], tensor) < 1e-4, name
