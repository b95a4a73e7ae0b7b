import torch

from moment_retrieval.batches import Sequences
from moment_retrieval.search import best_videos, candidate_recall, listed_candidates, search_candidates
from moment_retrieval.settings import Decoding
from tests.moment_retrieval.baselines.small import batch_of, corpus_of, model_of


def test_candidates_stay_within_what_is_allowed() -> None:
    scores = torch.tensor([[0.9, 0.8, 0.7, 0.1]])
    videos, _ = best_videos(scores, 3, torch.tensor([[False, True, False, True]]))
    assert videos.tolist() == [[1, 3, -1]]


def test_a_list_of_somebody_else_is_taken_as_it_is() -> None:
    videos = listed_candidates({"q0": [4, 2, 1], "q1": []}, ["q1", "q0"], 2)
    assert videos.tolist() == [[-1, -1], [4, 2]]


def test_recall_counts_moments_not_videos() -> None:
    assert candidate_recall(torch.tensor([[3, 1], [2, -1]]), [[3, 3, 0], [1]]) == 0.5


def test_conquer_finds_nothing_where_it_has_no_candidate() -> None:
    model = model_of("conquer").eval()
    clips = model.encode_clips(*corpus_of(4))
    queries: Sequences = batch_of(2).queries
    decoding = Decoding(alpha=0, shortest=0, longest=24, moments=5)
    moments = search_candidates(model, queries, clips, torch.tensor([[2, -1], [-1, -1]]), decoding)
    assert moments.real.sum(1).tolist() == [5, 0]
    assert set(moments.video[0].tolist()) == {2}
