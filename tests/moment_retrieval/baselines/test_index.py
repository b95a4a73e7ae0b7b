from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional

from moment_retrieval import index as index_module
from moment_retrieval.checkpoints import BrokenCheckpoint
from moment_retrieval.index import Index
from moment_retrieval.search import encode_corpus, search
from moment_retrieval.settings import RELEASED
from tests.moment_retrieval.baselines.small import batch_of, corpus_of, model_of
from tests.mutations import mutated

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
    for one, other in zip(
        vars(search(model, queries, corpus, decoding)).values(),
        vars(search(model, queries, again, decoding)).values(),
        strict=True,
    ):
        assert torch.equal(one, other)


@pytest.mark.parametrize("content", [b"", b"no index", b"\x08\0\0\0\0\0\0\0{}      "])
def test_what_is_no_index_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "index.safetensors"
    path.write_bytes(content)
    with pytest.raises(BrokenCheckpoint, match="no index can be read"):
        Index.load(path)


def test_a_corpus_whose_videos_are_one_row_longer_than_a_block_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "ROWS_ON_CPU", 4)
    model = model_of("xml").eval()
    corpus = encode_corpus(model, [corpus_of(9)])
    moments = search(model, batch_of(2).queries, corpus, RELEASED["xml"].decoding)
    assert set(moments.video[moments.real].tolist()) <= set(range(9))
    assert moments.real.any()


def test_mutations_of_an_index_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.safetensors"
    encode_corpus(model_of("xml").eval(), [corpus_of(3)]).save(path)
    for content in mutated([path.read_bytes()], 200):
        path.write_bytes(content)
        with suppress(BrokenCheckpoint):
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
