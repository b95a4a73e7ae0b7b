"""Moments of a corpus and of candidates, and the index that is searched."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from moment_retrieval import index as index_module
from moment_retrieval.batches import Sequences
from moment_retrieval.checkpoints import BrokenCheckpoint
from moment_retrieval.index import Index
from moment_retrieval.metrics.iou import suppressed
from moment_retrieval.records import ScoredMoment
from moment_retrieval.search import (
    best_videos,
    by_logit,
    by_probability,
    candidate_recall,
    encode_corpus,
    largest,
    listed_candidates,
    search,
    search_candidates,
)
from moment_retrieval.settings import RELEASED, Decoding
from moment_retrieval.tables import RunTable
from tests.moment_retrieval.baselines.small import batch_of, corpus_of, model_of
from tests.moment_retrieval.baselines.vectors import arrays, needs_parity
from tests.mutations import mutated

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


def test_a_short_corpus_gives_what_it_has_and_no_probability_or_candidate_is_no_moment() -> None:
    real = torch.tensor([[[True, True, True, False]]])
    moments = by_logit(torch.zeros(1, 1, 4), torch.zeros(1, 1, 4), real, Decoding(alpha=0, shortest=2, longest=4))
    assert moments.real.sum() == 1
    assert (moments.start[moments.real].item(), moments.end[moments.real].item()) == (0, 2)
    start, end = torch.tensor([[[1.0, 0, 0, 0]]]), torch.tensor([[[0, 0, 0.5, 0]]])
    moments = by_probability(start, end, torch.ones(1, 1), Decoding(alpha=0))
    assert moments.score[moments.real].tolist() == [0.5]
    model = model_of("conquer").eval()
    clips = model.encode_clips(*corpus_of(4))
    queries: Sequences = batch_of(2).queries
    decoding = Decoding(alpha=0, shortest=0, longest=24, moments=5)
    moments = search_candidates(model, queries, clips, torch.tensor([[2, -1], [-1, -1]]), decoding)
    assert moments.real.sum(1).tolist() == [5, 0]
    assert set(moments.video[0].tolist()) == {2}


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


def test_candidates_are_the_best_videos_that_are_allowed_or_those_of_a_list() -> None:
    videos = listed_candidates({"q0": [4, 2, 1], "q1": []}, ["q1", "q0"], 2)
    assert videos.tolist() == [[-1, -1], [4, 2]]
    videos, _ = best_videos(torch.tensor([[0.9, 0.8, 0.7, 0.1]]), 3, torch.tensor([[False, True, False, True]]))
    assert videos.tolist() == [[1, 3, -1]]
    assert candidate_recall(torch.tensor([[3, 1], [2, -1]]), [[3, 3, 0], [1]]) == 0.5


BOTH = pytest.mark.parametrize("baseline", ["xml", "reloclnet"])


@BOTH
def test_videos_score_as_in_training_however_the_corpus_is_cut(baseline: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, (video, subtitle) = model_of(baseline).eval(), corpus_of(30)
    with torch.inference_mode():
        queries = model.encode_queries(batch_of(4).queries)
        plain = model.video_scores(queries, model.encode_videos(video, subtitle))
    for rows in (1, 40, 10_000):
        monkeypatch.setattr(index_module, "ROWS_ON_CPU", rows)
        torch.testing.assert_close(encode_corpus(model, [(video, subtitle)]).scores(queries), plain)


@BOTH
@pytest.mark.parametrize("rows", [1, 50, 10_000])
def test_some_videos_score_as_they_do_among_all(baseline: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "ROWS_ON_CPU", rows)  # each query by itself, or all at once
    model = model_of(baseline).eval()
    corpus = encode_corpus(model, [corpus_of(12)])
    with torch.inference_mode():
        queries = model.encode_queries(batch_of(3).queries)
        some = torch.tensor([[3, 1], [11, 0], [7, 7]])
        visual, subtitle = corpus.stream_scores(queries, some)
        torch.testing.assert_close((visual + subtitle) / 2, corpus.scores(queries).gather(1, some))


@BOTH
def test_scores_of_some_videos_are_exact_for_the_rows_in_the_index(baseline: str) -> None:
    """Against cosines in float64, video by video."""
    model = model_of(baseline).eval()
    corpus = encode_corpus(model, [corpus_of(12)])
    with torch.inference_mode():
        queries = model.encode_queries(batch_of(3).queries)
    some = torch.tensor([[3, 1, 5], [11, 0, 2], [7, 7, 4]])
    level = corpus.videos.levels[corpus.score_level]
    for stream, scores in enumerate(corpus.stream_scores(queries, some)):
        layout = corpus.videos.layouts[stream]
        cells = layout.spread(level[stream]).double()
        for query, row, videos in zip(queries[stream].double(), scores, some, strict=True):
            clips = [cells[video][: layout.lengths[video]] for video in videos]
            correct = torch.stack([functional.cosine_similarity(query[None], one).max() for one in clips])
            torch.testing.assert_close(row.double(), correct, atol=1e-6, rtol=0)


@BOTH
def test_an_index_is_saved_in_a_file(baseline: str, tmp_path: Path) -> None:
    model, decoding, queries = model_of(baseline).eval(), RELEASED[baseline].decoding, batch_of(5).queries
    corpus = encode_corpus(model, [corpus_of(20)])
    corpus.save(tmp_path / "index.safetensors")
    again = Index.load(tmp_path / "index.safetensors")
    assert len(again) == 20
    here, there = (vars(search(model, queries, index, decoding)) for index in (corpus, again))
    assert all(torch.equal(here[name], there[name]) for name in here)


def test_mutations_of_an_index_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.safetensors"
    encode_corpus(model_of("xml").eval(), [corpus_of(3)]).save(path)
    for content in mutated([path.read_bytes()], 200):
        path.write_bytes(content)
        with suppress(BrokenCheckpoint):
            Index.load(path)
    for content in (b"", b"no index", b"\x08\0\0\0\0\0\0\0{}      "):
        path.write_bytes(content)
        with pytest.raises(BrokenCheckpoint, match="no index can be read"):
            Index.load(path)


@pytest.mark.parametrize("change", [(b'"reciprocals.seen"', b'"recip.ocals.seen"'), (b'"0.seen"', b'"0.seem"')])
def test_an_index_without_a_part_is_refused(tmp_path: Path, change: tuple[bytes, bytes]) -> None:
    path = tmp_path / "index.safetensors"
    rows = {name: torch.ones(3, 4) for name in ("0.seen", "0.heard")}
    ones = {name: torch.ones(3) for name in ("reciprocals.seen", "reciprocals.heard")}
    counts = {name: torch.tensor([2, 1]) for name in ("lengths.seen", "lengths.heard", "kept")}
    save_file({**rows, **ones, **counts}, path, metadata={"score_level": "0"})
    assert len(Index.load(path)) == 2
    path.write_bytes(path.read_bytes().replace(*change))
    with pytest.raises(BrokenCheckpoint, match="no index can be read"):
        Index.load(path)
