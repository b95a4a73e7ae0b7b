"""XML with parts exchanged or left out: by hand, against recorded windows, and properties whatever the weights."""

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from moment_retrieval.baselines import BASELINES
from moment_retrieval.batches import Batch, Layout, Sequences, collate
from moment_retrieval.checkpoints import About, load, save
from moment_retrieval.losses import RandomNegatives, clip_loss
from moment_retrieval.models.xml import Xml
from moment_retrieval.models.xml_ablations import AblatedXml, ConvolutionalEncoder, RecurrentEncoder
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.proposals import UNIT, Proposals, watershed_groups
from moment_retrieval.search import by_mean, encode_corpus, search
from moment_retrieval.settings import Decoding, Objective, config_from
from moment_retrieval.windows import sliding_windows
from tests.moment_retrieval.baselines.small import batch_of, corpus_of, model_of, sample
from tests.moment_retrieval.baselines.vectors import PARITY, needs_parity
from tests.moment_retrieval.shared_data import SHARED

DURATIONS = SHARED / "data" / "tvr" / "tvr_video2dur_idx.json"
OPTIONS: list[dict[str, Any]] = [
    {"encoder": "lstm"},
    {"encoder": "cnn"},
    {"modular": False},
    {"streams": "video"},
    {"streams": "subtitle"},
    {"boundaries": "windows"},
    {"boundaries": "groups"},
    {"encoder": "lstm", "streams": "subtitle", "modular": False, "boundaries": "groups"},
    {"encoder": "cnn", "streams": "video", "boundaries": "windows"},
]


def named(options: dict[str, Any]) -> str:
    return "-".join(map(str, options.values()))


@pytest.fixture(params=OPTIONS, ids=named)
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


def loss_of(model: Any, batch: Batch, objective: Objective | None = None) -> Tensor:
    draw = RandomNegatives(torch.Generator().manual_seed(1))
    return BASELINES["xml"].loss(model(batch), batch, objective or Objective(), draw).total


@needs_parity
def test_windows_are_those_of_the_released_code() -> None:
    """In seconds, and in clips, whose number is a video's length rounded up."""
    examples = json.loads((PARITY / "tvr_baselines" / "proposals_oracle.json").read_text())["examples"]
    for duration, windows in examples.items():
        length = float(duration)
        seconds, clips = sliding_windows(length, UNIT * CLIP_S), sliding_windows(math.ceil(length / CLIP_S), UNIT)
        np.testing.assert_allclose(seconds, windows, rtol=1e-6)  # which were recorded in 32 bits
        in_seconds = [[first * CLIP_S, min(end * CLIP_S, length)] for first, end in clips]
        np.testing.assert_allclose(in_seconds, windows, rtol=1e-6)


@pytest.mark.skipif(not DURATIONS.is_file(), reason=f"no shared data at {SHARED}; set MOMENTJUDGE_SHARED")
@pytest.mark.parametrize(("split", "count"), [("val", 186_786), ("test_public", 94_521), ("train", 1_504_995)])
def test_there_are_as_many_windows_as_published(split: str, count: int) -> None:
    """187K, 95K and 1.5M in the paper; as many in clips as in seconds."""
    durations = [duration for duration, _ in json.loads(DURATIONS.read_text())[split].values()]
    lengths = Counter(math.ceil(duration / CLIP_S) for duration in durations)
    assert sum(times * len(sliding_windows(length, UNIT)) for length, times in lengths.items()) == count
    if split == "test_public":
        assert sum(len(sliding_windows(duration, UNIT * CLIP_S)) for duration in durations) == count


def test_windows_of_a_short_video_by_hand() -> None:
    """Lengths 2, 4, 8 and 16 clips from clips 0, 2 and 4; the last window of 16 would begin at clip 4."""
    assert sliding_windows(5, UNIT) == [(0, 2), (0, 4), (0, 5), (2, 4), (2, 5), (4, 5)]
    assert sliding_windows(0, UNIT) == []


def test_a_falling_flood_joins_the_clips_above_it() -> None:
    """Peaks of 3 and 2 clips with a dip between them: alone at high water, one group where 5 of 6 lie above."""
    scores = np.array([0.0, 1.0, 1.0, 1.0, 0.1, 0.6, 0.6, 0.0])
    assert watershed_groups(scores) == [(1, 4), (1, 7), (5, 7)]
    far = np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    assert watershed_groups(far) == [(0, 1), (4, 5)]
    assert watershed_groups(np.array([0.5, 0.5])) == [(0, 2)]


def test_a_group_takes_in_the_next_run_while_enough_of_it_lies_above_the_flood() -> None:
    """Of 3 clips two are above, 0.67: too few. Of 4 three are, 0.75."""
    assert (0, 3) not in watershed_groups(np.array([1.0, 0.0, 1.0]))
    assert (0, 4) in watershed_groups(np.array([1.0, 1.0, 0.0, 1.0]))


def test_proposals_are_ranked_by_the_mean_of_their_clips_and_the_score_of_their_video() -> None:
    scores = torch.tensor([[[0.2, 0.8, 0.6, 0.0], [0.9, 0.1, 0.0, 0.0]]])  # a query, two videos
    spans = [[(0, 2), (1, 3), (0, 3)], [(0, 1), (0, 2)]]
    proposals = Proposals.of(spans).rows(torch.tensor([[0, 1]]))
    moments = by_mean(scores, proposals, torch.tensor([[1.0, 0.5]]), Decoding(alpha=1.0, moments=9))
    count = int(moments.real.sum())
    rows = zip(*(column[0, :count].tolist() for column in (moments.video, moments.start, moments.end)), strict=True)
    assert list(rows) == [(0, 1, 2), (0, 0, 2), (0, 0, 1), (1, 0, 0), (1, 0, 1)]
    assert moments.score[0, :count].tolist() == pytest.approx([0.7, 1.6 / 3, 0.5, 0.45, 0.25])


def test_the_loss_of_clips_by_hand() -> None:
    """Logits of 0 cost ln 2 each, whatever the label; the third clip is none."""
    logits, real = torch.tensor([[0.0, 2.0, 9.0]]), torch.tensor([[True, True, False]])
    value = clip_loss(logits, torch.tensor([1]), torch.tensor([1]), real)
    assert value.item() == pytest.approx((math.log(2) + math.log(1 + math.exp(-2))) / 2)


@pytest.mark.parametrize("name", ["lstm", "cnn"])
def test_an_encoder_reads_nothing_but_real_rows_and_sees_both_neighbours(name: str) -> None:
    torch.manual_seed(4)
    encoder = RecurrentEncoder(16) if name == "lstm" else ConvolutionalEncoder(16, 0.0)
    lengths, counts = torch.tensor([3, 0, 5]), torch.tensor([5, 2, 5])
    layout, rows = Layout(lengths, counts, 7, torch.device("cpu")), torch.randn(12, 16)
    real = layout.position < lengths[layout.owner]
    before = encoder(rows, layout)
    assert before.shape == rows.shape
    other = torch.where(real[:, None], rows, torch.randn(12, 16))
    torch.testing.assert_close(encoder(other, layout)[real], before[real])
    tight = Layout.of(torch.tensor([3]), torch.device("cpu"))
    torch.testing.assert_close(encoder(rows[:3], tight), before[:3])
    changed = rows.clone()
    changed[1] = torch.randn(16)
    moved = (encoder(changed, layout) - before).abs().amax(1) > 1e-6
    assert moved[:3].all() and not moved[7:].any()


def test_released_choices_are_the_released_model() -> None:
    assert type(model_of("xml")) is Xml
    assert type(model_of("xml", encoder="transformer", streams="both", boundaries="convolution")) is Xml
    assert type(model_of("xml", modular=False)) is AblatedXml


def test_an_option_has_finite_losses_and_every_weight_learns(options: dict[str, Any]) -> None:
    """A weight without a gradient would keep several processes waiting for it."""
    model, batch = model_of("xml", **options), batch_of()
    loss = loss_of(model, batch)
    loss.backward()
    assert loss.isfinite()
    assert [name for name, one in model.named_parameters() if one.grad is None] == []


def test_an_option_is_restored_with_its_weights(options: dict[str, Any], tmp_path: Any) -> None:
    model = model_of("xml", **options).eval()
    config = {name: getattr(model.config, name) for name in vars(model.config)}
    save(tmp_path / "best", About(baseline="xml", config=config), model)
    checkpoint = load(tmp_path / "best")
    other = BASELINES["xml"].model(config_from("xml", checkpoint.about.config)).eval()
    checkpoint.restore(other)
    assert loss_of(other, batch_of()).item() == loss_of(model, batch_of()).item()


def test_other_videos_and_their_padding_change_nothing(options: dict[str, Any]) -> None:
    model = model_of("xml", padding="compact", **options).eval()
    beside = collate([sample(0), sample(1, clips=(20, 20))])
    alone = collate([sample(0)])
    length = int(alone.video.lengths[0])
    one, other = model(alone), model(beside)
    torch.testing.assert_close(one.start[0, :length], other.start[0, :length], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(one.scores[0, 0], other.scores[0, 0])


@pytest.mark.parametrize("streams", ["video", "subtitle"])
@pytest.mark.parametrize("padding", ["official", "compact"])
def test_one_stream_is_blind_to_the_other(streams: str, padding: str) -> None:
    model, batch = model_of("xml", streams=streams, padding=padding).eval(), batch_of()
    other = "subtitle" if streams == "video" else "video"

    def with_other_rows(name: str) -> Batch:
        sequences = getattr(batch, name)
        return replace(batch, **{name: Sequences(torch.randn(sequences.rows.shape), sequences.lengths)})

    assert loss_of(model, with_other_rows(other)).item() == loss_of(model, batch).item()
    assert loss_of(model, with_other_rows(streams)).item() != loss_of(model, batch).item()
    assert not [name for name in model.state_dict() if name.startswith(f"{other}.") or ".meeting." in name]


@pytest.mark.parametrize("streams", ["both", "video"])
def test_without_modules_both_streams_get_the_largest_of_each_feature(streams: str) -> None:
    model = model_of("xml", modular=False, streams=streams).eval()
    rows = torch.randn(7, 16)
    layout = Layout.of(torch.tensor([3, 4]), torch.device("cpu"))
    pictures, words = model.split_queries(rows, layout)
    assert torch.equal(pictures, words)
    assert torch.equal(pictures, torch.stack([rows[:3].amax(0), rows[3:].amax(0)]))


@pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])
def test_a_boundary_is_judged_from_the_clips_that_its_kernel_sees(kernel_size: int) -> None:
    model, batch = model_of("xml", kernel_size=kernel_size).eval(), batch_of()
    assert model.span_head.start.weight.shape == (1, 1, kernel_size)
    similarity = torch.zeros(1, 20)
    real = torch.ones(1, 20, dtype=torch.bool)
    before, _ = model.span_head(similarity, real)
    similarity[0, 10] = 1.0
    after, _ = model.span_head(similarity, real)
    assert int((after != before).sum()) == kernel_size
    assert loss_of(model, batch).isfinite()


@pytest.mark.parametrize("count", [1, 3])
def test_moments_are_looked_for_in_as_many_videos_as_the_first_stage_keeps(count: int) -> None:
    model = model_of("xml").eval()
    corpus = encode_corpus(model, [corpus_of(8)])
    moments = search(model, batch_of().queries, corpus, Decoding(alpha=20.0, videos=count, moments=2000))
    videos = [row[real].tolist() for row, real in zip(moments.video, moments.real, strict=True)]
    assert {len(set(row)) for row in videos} == {count}


@pytest.mark.parametrize("boundaries", ["windows", "groups"])
def test_a_search_returns_proposals_with_the_mean_score_of_their_clips(boundaries: str) -> None:
    model, (video, subtitle) = model_of("xml", boundaries=boundaries).eval(), corpus_of(8)
    corpus = encode_corpus(model, [(video, subtitle)])
    decoding = Decoding(alpha=20.0, videos=3)
    queries = batch_of().queries
    moments = search(model, queries, corpus, decoding)
    with torch.inference_mode():
        encoded = model.encode_queries(queries)
        weights = (decoding.alpha * corpus.scores(encoded)).exp()
        for query, rows in enumerate(moments.video):
            for rank, number in enumerate(rows[moments.real[query]].tolist()):
                first, last = int(moments.start[query, rank]), int(moments.end[query, rank])
                length = int(video.lengths[number])
                pair = encoded[0][query : query + 1], encoded[1][query : query + 1]
                inside, _ = model.curves(pair, corpus.taken(torch.tensor([number])))
                spans = (
                    sliding_windows(length, UNIT)
                    if boundaries == "windows"
                    else watershed_groups(inside[0, :length].double().numpy())
                )
                assert (first, last + 1) in spans
                score = weights[query, number] * inside[0, first : last + 1].mean()
                assert moments.score[query, rank].item() == pytest.approx(score.item(), rel=1e-4)


def test_the_biases_of_an_lstm_are_not_decayed() -> None:
    model = model_of("xml", encoder="lstm")
    biases = {name for name, one in model.named_parameters() if one.dim() == 1 and ".norm." not in name}
    assert biases and all(model.undecayed(name) for name in biases)
