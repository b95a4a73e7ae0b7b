"""Top-40 moments against those of the released code: the very same, in the same order."""

import pytest
import torch
from torch import Tensor

from moment_retrieval.batches import Sequences
from moment_retrieval.models.conquer import Conquer, EncodedClips
from moment_retrieval.search import (
    RankedMoments,
    encode_corpus,
    largest,
    search,
    search_candidates,
    seconds,
)
from moment_retrieval.settings import Decoding, Ranking
from tests.moment_retrieval.baselines import test_conquer_parity as conquer
from tests.moment_retrieval.baselines.test_two_stream_parity import (  # noqa: F401
    BEHIND_THE_END,
    FOLDERS,
    baseline,
    model_of,
    of,
)
from tests.moment_retrieval.baselines.vectors import needs_parity, packed, tensor, worst

pytestmark = needs_parity
ALPHA = {"xml": 20.0, "reloclnet": 30.0}
INFERENCE = "conquer/inference.npz"


def corpus_of(baseline: str) -> list[tuple[Sequences, Sequences]]:  # noqa: F811
    """120 videos, 50 at a time; XML's come without their temporal endpoints."""
    lengths = of(baseline, "inference", "corpus_len" if baseline == "xml" else "corpus_video_len")
    suffix = "_no_tef" if baseline == "xml" else ""
    streams = [of(baseline, "inference", f"corpus_{name}_feat{suffix}") for name in ("video", "sub")]
    if baseline == "xml":
        clip = torch.arange(21) / lengths[:, None]
        ends = torch.stack([clip[:, :-1], clip[:, 1:]], dim=2)
        streams = [torch.cat([stream, ends], dim=2) for stream in streams]
    mask = torch.arange(20) < lengths[:, None]
    return [
        (packed(streams[0][some], mask[some]), packed(streams[1][some], mask[some]))
        for some in torch.arange(120).split(50)
    ]


def queries_of(baseline: str) -> Sequences:  # noqa: F811
    lengths = of(baseline, "inference", "query_len")
    return packed(of(baseline, "inference", "query_feat"), torch.arange(12) < lengths[:, None])


def times(moments: RankedMoments, decoding: Decoding) -> Tensor:
    return torch.stack(seconds(moments, decoding), dim=2)


def test_videos_get_the_published_scores_and_the_hundred_best_are_the_published_ones(baseline: str) -> None:  # noqa: F811
    model = model_of(baseline)
    corpus = encode_corpus(model, corpus_of(baseline))
    with torch.inference_mode():
        scores = corpus.scores(model.encode_queries(queries_of(baseline)))
    assert worst(scores, of(baseline, "inference", "video_score")) < 5e-6
    best = largest(scores, 100)
    assert torch.equal(best, of(baseline, "inference", "top100_video"))
    weights = (ALPHA[baseline] * scores.gather(1, best)).exp()
    torch.testing.assert_close(weights, of(baseline, "inference", "top100_exp_score"), rtol=1e-3, atol=0)


def test_boundaries_of_a_query_in_all_videos_get_the_published_logits(baseline: str) -> None:  # noqa: F811
    model = model_of(baseline)
    videos = encode_corpus(model, corpus_of(baseline)).videos
    with torch.inference_mode():
        one, other = (part[:1].expand(120, -1) for part in model.encode_queries(queries_of(baseline)))
        logits = model.span_logits((one, other), videos)
    for boundary, ours in zip(("start", "end"), logits, strict=True):
        published = of(baseline, "inference", f"{boundary}_logits_query0")
        assert worst(ours, published, videos.layouts[0].real) < BEHIND_THE_END


def test_reloclnets_corpus_has_the_published_rows_and_published_xml_ends_a_clip_later() -> None:
    corpus = encode_corpus(model_of("reloclnet"), corpus_of("reloclnet")).videos.taken(torch.arange(3))
    cells, layout = corpus.layouts[0].spread(corpus.levels[2][0]), corpus.layouts[0]
    published = of("reloclnet", "inference", "corpus_final_video_feat_0_3")[:, : layout.width]
    assert worst(cells, published, layout.real) < 5e-6
    model, decoding = model_of("xml"), Decoding(alpha=20, end_offset_s=1.5)
    moments = search(model, queries_of("xml"), encode_corpus(model, corpus_of("xml")), decoding)
    assert torch.equal(times(moments, decoding), of("xml", "inference", "moment_time_tvretrieval_lineage"))


def test_the_forty_best_moments_are_the_published_ones(baseline: str) -> None:  # noqa: F811
    model, decoding = model_of(baseline), Decoding(alpha=ALPHA[baseline])
    moments = search(model, queries_of(baseline), encode_corpus(model, corpus_of(baseline)), decoding)
    time = "moment_time_tvrr_lineage" if baseline == "xml" else "moment_time"
    assert torch.equal(moments.video, of(baseline, "inference", "moment_video"))
    assert torch.equal(times(moments, decoding), of(baseline, "inference", time))
    torch.testing.assert_close(moments.score, of(baseline, "inference", "moment_score"), rtol=1e-3, atol=0)


def conquer_inputs() -> tuple[Conquer, Sequences, EncodedClips]:
    """Four queries, and the clips of ten candidates each: copies of its own, behind its true video."""
    names = ("query", "visual", "sub")
    parts = {name: [tensor(INFERENCE, f"in/{name}_{part}") for part in ("feat", "mask")] for name in names}
    model = conquer.model_of()
    streams = [packed(*(part[:, 1:].flatten(0, 1) for part in parts[name])) for name in ("visual", "sub")]
    return model, packed(*parts["query"]), model.encode_clips(*streams)


@pytest.mark.parametrize(("case", "longest"), [("disjoint", 24), ("disjoint_maxl8", 8)])
def test_conquers_forty_best_moments_are_the_published_ones(case: str, longest: int) -> None:
    model, queries, clips = conquer_inputs()
    decoding = Decoding(alpha=0, shortest=0, longest=longest, end_offset_s=1.5)
    moments = search_candidates(model, queries, clips, torch.arange(40).view(4, 10), decoding)
    videos = tensor(INFERENCE, "in/candidate_video").flatten()[moments.video]
    assert torch.equal(videos, tensor(INFERENCE, f"{case}/moment_video"))
    assert torch.equal(times(moments, decoding), tensor(INFERENCE, f"{case}/moment_time"))
    torch.testing.assert_close(moments.score, tensor(INFERENCE, f"{case}/moment_score"), rtol=1e-3, atol=0)


def test_conquers_forty_likeliest_moments_are_the_published_ones() -> None:
    """The "general" alternative of the released code, which no published run used."""
    model, queries, clips = conquer_inputs()
    decoding = Decoding(alpha=0, shortest=0, longest=24, end_offset_s=1.5, ranking=Ranking.GENERAL)
    scores, indexes = tensor(INFERENCE, "in/vr_scores"), torch.arange(40).view(4, 10)
    moments = search_candidates(model, queries, clips, indexes, decoding, scores=scores)
    videos = tensor(INFERENCE, "in/candidate_video").flatten()[moments.video]
    assert torch.equal(videos, tensor(INFERENCE, "general/moment_video"))
    assert torch.equal(times(moments, decoding), tensor(INFERENCE, "general/moment_time"))
    torch.testing.assert_close(moments.score, tensor(INFERENCE, "general/moment_score"), rtol=1e-3, atol=0)
