"""CONQUER trained among sampled videos, as by its authors: which are drawn, in which order, and how it is searched."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from moment_retrieval.checkpoints import open_trained
from moment_retrieval.data import read_dataset
from moment_retrieval.distributed import Team
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.models.conquer import conquer_loss
from moment_retrieval.search import search_candidates
from moment_retrieval.searchers import CandidateSearcher, CorpusSearcher
from moment_retrieval.settings import Decoding, Objective, Ranking
from moment_retrieval.train import DONE, STOPPED
from moment_retrieval.training.events import curves, read_events
from moment_retrieval.training.feature_rows import FeatureCache
from moment_retrieval.training.plan import BadPlan
from moment_retrieval.training.sampled_videos import LAST_RANK, VideoSampler, list_length
from moment_retrieval.training.steps import Loader
from tests.moment_retrieval.baselines.small import batch_of, corpus_of, model_of
from tests.moment_retrieval.searching.test_searchers import Spoken
from tests.moment_retrieval.training.test_resuming import (  # noqa: F401
    AtStep,
    ask_to_stop,
    assert_goes_on_like,
    at_step,
    refused,
)
from tests.moment_retrieval.training.test_train import last, train
from tests.moment_retrieval.training.tiny import experiment, plan_of, write_json

LISTS = {"source": "listed", "path": "../lists.json"}
ORIGINAL: dict[str, Any] = {
    "sizes": {"score_videos": True},
    "objective": {"sampled_videos": 2, "sampled_pool": 4},
    "decoding": {"ranking": "exclusive"},
}


def sampler_of(*lists: list[int], count: int = 1, pool: int = 0, seed: int = 1) -> VideoSampler:
    return VideoSampler(torch.tensor(lists), count, pool, seed)


def drawn_from(sampler: VideoSampler, video: int, steps: int = 60) -> set[int]:
    """Every video that is drawn for the first query at some step."""
    one, own = torch.tensor([0]), torch.tensor([video])
    return {number for step in range(steps) for number in sampler(one, own, step).flatten().tolist()}


def whole_lists(root: Path) -> list[str]:
    """Write lists of all videos for all queries; returns the videos, best first."""
    names = sorted(json.loads((root / "video_corpus.json").read_text()))
    queries = [
        query for split in ("train", "val", "test") for query in json.loads((root / f"{split}.json").read_text())
    ]
    write_json(root / "lists.json", {str(query["query_id"]): names for query in queries})
    return names


def test_videos_are_those_above_the_own_one_and_as_many_more_as_the_pool_says() -> None:
    videos = [7, 3, 9, 4, 8, 2]
    assert drawn_from(sampler_of(videos), video=9) == {7, 3}
    assert drawn_from(sampler_of(videos, pool=2), video=9) == {7, 3, 4, 8}
    assert drawn_from(sampler_of(videos, pool=2), video=7) == {3, 9}
    assert drawn_from(sampler_of(videos, pool=9), video=9) == {7, 3, 4, 8, 2}
    assert drawn_from(sampler_of([*videos, -1, -1], pool=9), video=9) == {7, 3, 4, 8, 2}


def test_an_own_video_beyond_the_first_hundred_ranks_at_one_hundred() -> None:
    videos = list(range(1, LAST_RANK + 30))
    for own in (0, LAST_RANK + 20):  # one that is not listed, and one that lies deep
        sampler = sampler_of(videos, pool=5)
        others = [video for video in videos if video != own]
        allowed = sampler.allowed(sampler.lists, torch.tensor([own]))
        assert sampler.lists[allowed].tolist() == others[: LAST_RANK + 5]
    assert list_length(Objective()) == 0
    assert list_length(Objective(sampled_videos=3)) == LAST_RANK + 1001


def test_a_video_is_drawn_once_and_by_seed_and_step_alone() -> None:
    sampler = sampler_of(list(range(20)), list(range(19, -1, -1)), count=6, pool=9)
    query, video = torch.tensor([0, 1, 0]), torch.tensor([3, 3, 5])
    rows = sampler(query, video, 4)
    assert all(len(set(row)) == 6 and own not in row for row, own in zip(rows.tolist(), video.tolist(), strict=True))
    assert torch.equal(rows, sampler(query, video, 4))
    assert not torch.equal(rows, sampler(query, video, 5))
    assert not torch.equal(rows, sampler_of(*sampler.lists.tolist(), count=6, pool=9, seed=2)(query, video, 4))


def test_every_video_of_the_pool_is_drawn_as_often() -> None:
    sampler, steps = sampler_of(list(range(10)), count=3, pool=9), 3000
    rows = torch.cat([sampler(torch.tensor([0]), torch.tensor([0]), step) for step in range(steps)])
    counts = rows.flatten().bincount(minlength=10)
    assert counts[0] == 0
    assert (counts[1:] - steps / 3).abs().max() < 4 * (steps / 3 * 2 / 3) ** 0.5  # four standard errors


def test_a_batch_holds_the_own_video_of_each_query_before_its_sampled_ones(tmp_path: Path) -> None:
    folder = experiment(tmp_path, "conquer", candidates=LISTS)
    whole_lists(tmp_path)
    dataset = read_dataset(plan_of("conquer", candidates=LISTS).located(folder), FeatureCache(folder))
    samples, rows = dataset.samples, torch.tensor([5, 60])
    sampler = VideoSampler(torch.arange(12).expand(len(dataset.query_ids), -1), 2, 20, seed=1)
    team = Team(torch.device("cpu"))
    whole = Loader(samples, team, sampler).load(rows, step=7)
    sampled = sampler(samples.query[rows], samples.video[rows], 7)
    videos = torch.cat([samples.video[rows][:, None], sampled], dim=1).flatten()
    (batch,) = whole.batches
    assert (len(batch), len(batch.queries), len(batch.video), len(batch.subtitle)) == (2, 2, 6, 6)
    assert torch.equal(batch.video.rows, dataset.clips.seen.taken(videos).rows)
    assert torch.equal(batch.subtitle.rows, dataset.clips.heard.taken(videos).rows)
    halves = Loader(samples, team, sampler).load(rows, 2, step=7).batches
    assert torch.equal(torch.cat([half.video.rows for half in halves]), batch.video.rows)
    assert len(Loader(samples, team).load(rows).batches[0].video) == 2


@pytest.mark.parametrize("options", [ORIGINAL, {"objective": {"sampled_videos": 2}}], ids=["exclusive", "disjoint"])
def test_a_training_among_sampled_videos_goes_on_bit_for_bit(
    options: dict[str, Any],
    tmp_path: Path,
    at_step: AtStep,  # noqa: F811
) -> None:
    whole, in_parts = (
        experiment(tmp_path, "conquer", name=name, epochs=3, candidates=LISTS, **options) for name in ("whole", "cut")
    )
    whole_lists(tmp_path)
    assert train(whole) == DONE
    at_step(8, ask_to_stop)
    assert train(in_parts) == STOPPED
    assert_goes_on_like(whole, in_parts, step=8)
    history = curves(read_events(whole))
    assert ("videos" in last(whole, "step")["terms"]) == (options is ORIGINAL)
    assert len(history["val_loss"]) == 3


@pytest.mark.parametrize("ranking", ["general", "exclusive"])
def test_videos_are_ranked_by_the_first_stage_or_by_conquer_itself(ranking: str, tmp_path: Path) -> None:
    xml = experiment(tmp_path, "xml", epochs=1, test=None)
    assert train(xml) == DONE
    how = {**ORIGINAL, "decoding": {"ranking": ranking}}
    candidates = {"source": "checkpoint", "path": "../xml"}
    folder = experiment(tmp_path, "conquer", candidates=candidates, epochs=1, test=None, **how)
    assert train(folder) == DONE
    trained = open_trained(folder)
    assert trained.decoding.ranking == ranking and trained.model.config.score_videos
    assert last(folder, "done")["candidates"]["name"] == "xml, top 10"
    rows = json.loads((folder / "predictions.val.json").read_text())
    assert all(0 < row["predictions"][0][3] < 1 for row in rows)  # products of probabilities
    words = Spoken(tmp_path)
    searcher = CandidateSearcher.open(folder, words, CorpusSearcher.open(xml, words))
    answer = searcher.answer(str(rows[3]["query_id"]), 100, every=True)
    moments = [[hit.video, hit.start_s, hit.end_s] for hit in answer.hits]
    assert moments == [row[:3] for row in rows[3]["predictions"]]
    assert [hit.score for hit in answer.hits] == pytest.approx([row[3] for row in rows[3]["predictions"]], rel=1e-4)


def test_a_moment_is_worth_its_videos_share_and_the_probabilities_of_its_boundaries() -> None:
    """Exclusive: shares are of the candidates alone, and -1 is none."""
    model, (video, subtitle) = model_of("conquer", score_videos=True).eval(), corpus_of(4)
    query = batch_of(1).queries
    candidates, how = torch.tensor([[2, 0, -1]]), {"alpha": 0.0, "shortest": 0, "longest": 24}
    with torch.inference_mode():
        clips = model.encode_clips(video, subtitle)
        moments = search_candidates(
            model, query, clips, candidates, Decoding(**how, ranking=Ranking.EXCLUSIVE, moments=1000)
        )
        output = model.locate(
            model.encode_queries(query).taken(torch.tensor([0, 0])), clips.taken(torch.tensor([2, 0]))
        )
    shares = output.videos.softmax(0)
    assert set(moments.video[moments.real].tolist()) == {0, 2}
    rows = zip(*(column[0].tolist() for column in (moments.video, moments.start, moments.end)), strict=True)
    for (number, first, last_clip), score in list(zip(rows, moments.score[0].tolist(), strict=True))[:50]:
        row = [2, 0].index(number)
        value = shares[row] * output.start[row].softmax(0)[first] * output.end[row].softmax(0)[last_clip]
        assert score == pytest.approx(value.item(), rel=1e-4)
    with pytest.raises(ValueError, match="ranking general needs scores of videos"):
        search_candidates(model, query, clips, candidates, Decoding(**how, ranking=Ranking.GENERAL))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"objective": {"sampled_videos": 3}}, ORIGINAL], ids=["disjoint", "exclusive"])
def test_conquer_learns_among_sampled_videos(options: dict[str, Any], tmp_path: Path) -> None:
    how = {"epochs": 16, "evaluations_per_epoch": 0.25, "candidates": LISTS, "test": None}
    folder = experiment(tmp_path, "conquer", **how, **options)
    whole_lists(tmp_path)
    assert train(folder) == DONE
    values = [value for _, value in curves(read_events(folder))["ndcg@20_0.5"]]
    assert values[0] < max(values) and max(values) > 0.5


def test_the_loss_of_sampled_videos_is_over_all_their_clips(tmp_path: Path) -> None:
    """With k videos beside it the own one starts with a share of 1 / (1 + k)."""
    folder = experiment(tmp_path, "conquer", epochs=1, candidates=LISTS, test=None, **ORIGINAL)
    whole_lists(tmp_path)
    assert train(folder) == DONE
    model = open_trained(folder).model
    dataset = read_dataset(plan_of("conquer", candidates=LISTS).located(folder), FeatureCache(folder))
    sampler = VideoSampler(torch.arange(12).expand(len(dataset.query_ids), -1), 2, 20, seed=1)
    (batch,) = Loader(dataset.samples, Team(torch.device("cpu")), sampler).load(torch.arange(8)).batches
    output = model(batch)
    assert output.start.shape[0] == output.videos.shape[0] == 24
    loss = conquer_loss(output, batch, Objective(), RandomNegatives(torch.Generator()))
    own = output.videos.view(8, 3).log_softmax(1)[:, 0]
    assert loss.terms["videos"].item() == pytest.approx(-own.mean().item(), rel=1e-5)


def test_a_list_that_is_too_short_is_refused_with_its_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = experiment(tmp_path, "conquer", epochs=1, candidates=LISTS, test=None, objective={"sampled_videos": 3})
    names = whole_lists(tmp_path)
    lists = json.loads((tmp_path / "lists.json").read_text())
    write_json(tmp_path / "lists.json", {**lists, "2": names[:3]})  # the own video and two others
    words = (
        "candidates: 2 videos can be sampled for training query 2, and sampled_videos of objective is 3: name longer"
    )
    assert words in refused(folder, capsys)
    with pytest.raises(BadPlan, match="0 videos can be sampled for training query a"):
        sampler_of([4, 5], pool=0).check(torch.tensor([0]), torch.tensor([4]), ("a",))
