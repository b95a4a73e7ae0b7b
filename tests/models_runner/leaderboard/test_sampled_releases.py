"""A project that draws its pairs from strata of ranks: batches, judged, released, scored, and brought back."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.urls import reverse

from accounts.models import Membership, Project
from annotation.models import Candidate, Moment, Query
from annotation.pools.services.poolings import Returned, Scope, pooling_create
from judging.imports.release import release_import
from judging.models import Batch, Pair, Release
from judging.releases import files, layout
from judging.releases.selectors import archive_opened, finished_queries, scope_of
from judging.review.selectors import candidates_beyond, second_batch_sizes
from judging.review.services import batch_review
from judging.studies.selectors import pool_report
from judging.studies.services import pool_open, pool_open_request, pool_plan
from judging.work.services.batches import batch_create, batch_extend, batches_extend
from models_runner.leaderboard.selectors.leaderboard import filters_for, filters_of_query, leaderboard
from models_runner.leaderboard.services.participants import leaderboard_change
from models_runner.leaderboard.services.scorings import truth_pool, truth_table
from models_runner.leaderboard.views import BY_RANK, SAMPLED, about_measures
from models_runner.models import Score
from moment_retrieval.formats.builder import SourceFile
from moment_retrieval.formats.trec import read_pool
from moment_retrieval.metrics.estimates import estimates
from moment_retrieval.metrics.ndcg_iou import Convention, Empty
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import Span
from moment_retrieval.tables import RunTable
from tests.factories import MembershipFactory, MomentFactory, ProjectFactory, QueryFactory, VideoFactory, lead
from tests.judging.play import judge_round
from tests.judging.views.acts import logged_in
from tests.models_runner.acts import bring, ready_release, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
STRATA = [[1, 4, 4], [5, 14, 3]]
LISTED = [{"first": 1, "last": 4, "sample": 4}, {"first": 5, "last": 14, "sample": 3}]
RANKS = 20  # of which those from 15 on lie behind the strata
RELEVANT = {1, 2, 4, 6, 9, 10, 13}
BARREN = 3  # the query to which nothing is relevant


class Sampled:
    """A project with one video and three queries, whose candidates are the same moments in the same order."""

    def __init__(self) -> None:
        self.project: Project = ProjectFactory(name="sampled", batch_size=7, strata=STRATA)
        video = VideoFactory(corpus=self.project.dataset.corpus, name="alpha", duration_s=600)
        self.moments: list[Moment] = [
            MomentFactory(video=video, start_s=10 * rank, end_s=10 * rank + 5) for rank in range(1, RANKS + 5)
        ]
        self.queries: list[Query] = [
            QueryFactory(project=self.project, number=number, split="val") for number in (1, 2, BARREN)
        ]
        for query in self.queries:
            rows = zip(range(1, RANKS + 1), self.moments, strict=False)
            Candidate.objects.bulk_create(Candidate(query=query, rank=rank, moment=moment) for rank, moment in rows)

    def judge(self, batch: Batch | None) -> Batch:
        """Two people grade each pair by what is relevant."""
        assert batch is not None
        is_barren = batch.query.number == BARREN
        grades = [3 if rank in RELEVANT and not is_barren else 0 for rank in ranks_of(batch)]
        judge_round(batch, grades, grades)
        return batch

    def close(self, query: Query, *, extend: bool = False) -> None:
        first = self.judge(batch_create(query=query, number=1))
        batch_review(batch=first, extend=extend, lead=lead(self.project))
        if extend:
            self.judge(batch_extend(batch_id=first.pk))

    def open_pool(self, ranks: list[int]) -> Batch:
        """A run returns these moments to the first query, and they are judged."""
        pooling = pooling_create(project=self.project, sources={"one": []}, scope=Scope())
        rows = [
            Returned(1, "alpha", self.moments[rank - 1].start_s, self.moments[rank - 1].end_s, "one", place)
            for place, rank in enumerate(ranks, start=1)
        ]
        pool_plan(pooling=pooling, returned=rows)
        n_to_judge = pool_report(pooling).union.to_judge
        pool_open_request(pooling=pooling, actor=None, wake=False)
        pool_open(pooling_id=pooling.pk)
        batch = Batch.objects.get(pooling=pooling)
        assert batch.pairs.count() == n_to_judge
        return self.judge(batch)


def ranks_of(batch: Batch) -> list[int]:
    return list(batch.pairs.order_by("candidate__rank").values_list("candidate__rank", flat=True))


def strata_in(pool_file: bytes, query: int) -> Counter[tuple[str, bool]]:
    """Return how many lines of the query each stratum has, with and without a relevance."""
    lines = [line.split() for line in pool_file.decode().splitlines()]
    return Counter((stratum, relevance != "-1") for number, _, _, stratum, relevance in lines if number == str(query))


def read_file(release: Release, name: str) -> bytes:
    with archive_opened(release) as source, ZipFile(source) as archive:
        return archive.read(name)


def test_batches_are_drawn_and_the_second_draws_from_the_rest() -> None:
    sampled = Sampled()
    query = sampled.queries[0]
    failed = query.candidates.get(rank=14).moment
    Moment.objects.filter(pk=failed.pk).update(preview_state="failed", preview_error="gone")
    first = batch_create(query=query, number=1)
    assert first is not None and batch_create(query=query, number=1) == first
    ranks = ranks_of(first)
    assert ranks[:4] == [1, 2, 3, 4] and len(ranks) == 7 and ranks[-1] < 14
    assert first.strata == STRATA
    assert second_batch_sizes([first]) == {first.pk: 3}
    beyond = candidates_beyond().filter(query=query).values_list("rank", flat=True)
    assert set(beyond) == set(range(5, 15)) - set(ranks)
    sampled.judge(first)
    batch_review(batch=first, extend=True, lead=lead(sampled.project))
    batches_extend()
    second = Batch.objects.get(query=query, number=2)
    assert len(ranks_of(second)) == 3 and not set(ranks_of(second)) & set(ranks)
    assert second_batch_sizes([first]) == {first.pk: 3}  # of ranks 5 to 13, six are drawn
    Pair.objects.filter(batch=second).delete()
    before = ranks_of(second)
    Batch.objects.filter(pk=second.pk).delete()
    assert before == [] and ranks_of(sampled.judge(batch_create(query=query, number=2))) != []
    other = batch_create(query=sampled.queries[1], number=1)
    assert other is not None
    assert list(finished_queries(sampled.project.pk)) == [query]


def test_a_release_scores_runs_by_the_strata_that_were_drawn_from() -> None:
    sampled = Sampled()
    sampled.close(sampled.queries[0], extend=True)
    sampled.close(sampled.queries[1])
    release = ready_release(sampled.project)
    pool_file = read_file(release, layout.POOL)
    assert strata_in(pool_file, 1) == {("ranks-1-4", True): 4, ("ranks-5-14", True): 6, ("ranks-5-14", False): 4}
    assert strata_in(pool_file, 2) == {("ranks-1-4", True): 4, ("ranks-5-14", True): 3, ("ranks-5-14", False): 7}
    assert release.manifest["strata"] == LISTED
    datasheet = read_file(release, layout.DATASHEET).decode()
    assert "4 of ranks 1 to 4, 3 of ranks 5 to 14; where a lead decided so, as many of what was left" in datasheet

    order = [9, 1, 17, 5, 2, 12, 6, 4, 3, 13, 10]
    spans = [["alpha", 10.0 * rank, 10.0 * rank + 5, 100.0 - place] for place, rank in enumerate(order)]
    member = MembershipFactory(project=sampled.project, role="participant")
    run = bring(member, release, run_json({1: spans, 2: spans}))
    assert run.state == "scored", run.error
    judged, pool = read_pool(SourceFile(pool_file))
    by_hand = estimates(table_of({1: spans, 2: spans}), judged, pool=pool)
    values = dict(Score.objects.filter(scoring__run=run).values_list("metric", "value"))
    for measure, value in by_hand.mean.items():
        assert values[str(measure)] == pytest.approx(value), measure
    assert len({name for name in values if name.startswith("xinfAP")}) == 3
    filters = filters_of_query(sampled.project, {"show": "estimates"})
    assert filters is not None and about_measures(filters).endswith(SAMPLED)
    release.manifest.pop("strata")
    filters.release.manifest.pop("strata")
    assert about_measures(filters).endswith(BY_RANK)


def table_of(answers: dict[int, list[Any]]) -> RunTable:
    return RunTable.from_moments({str(number): [Span(*row[:3]) for row in rows] for number, rows in answers.items()})


def test_an_empty_answer_where_nothing_is_relevant_counts_one_on_request() -> None:
    """One run answers the barren query with an empty list, one not at all, one with a moment. By the scorer's own
    convention the values are those of ``evaluate``, and the order on the leaderboard follows them."""
    sampled = Sampled()
    for query in (sampled.queries[0], sampled.queries[-1]):
        sampled.close(query)
    release = ready_release(sampled.project)
    member = MembershipFactory(project=sampled.project, role="participant")
    good, fair = ([["alpha", 10.0 * rank, 10.0 * rank + 5, 9.0 - rank] for rank in ranks] for ranks in ([1, 2], [3, 2]))
    answers = {"empty": {1: fair, BARREN: []}, "silent": {1: fair}, "busy": {1: good, BARREN: good}}
    for name, of_run in answers.items():
        assert bring(member, release, run_json(of_run), system=name).state == "scored"
    judged = truth_table(release=release, split="val")
    client = logged_in(lead(sampled.project))
    for convention in Convention:
        query = {"split": "val", "empty": "one", "convention": convention.value}
        filters = filters_for(member, query)
        assert filters is not None
        table = leaderboard(filters, member)
        for row in table.ranked:
            if row.run.source == "similarity":
                continue
            report = evaluate(table_of(answers[row.run.system]), judged, convention=convention, empty=Empty.ONE)
            for measure, value in report.mean.items():
                assert row.scores[str(measure)].value == pytest.approx(value), (row.run.system, convention, measure)
                assert row.scores[str(measure)].low <= value <= row.scores[str(measure)].high
        url = reverse("models_runner:runs", args=[sampled.project.uuid])
        page = client.get(url, query).content.decode()
        assert "1 judged query has no relevant moment." in page and "test against" not in page
    zero = client.get(url, {"split": "val"}).content.decode()
    assert "Whatever a run answers there scores 0." in zero and "test against" in zero
    systems = [re.findall(r'<th scope="row"><a[^>]*>(\w+)</a>', text) for text in (zero, page)]
    assert systems[0].index("busy") < systems[0].index("empty") and systems[1].index("empty") < systems[1].index("busy")
    exported = client.get(reverse("models_runner:export", args=[sampled.project.uuid, "json"]), query).json()["scores"]
    recall = client.get(url, query | {"show": "recall"}).content.decode()  # where it has no meaning, nothing is missing
    assert "test against" in recall and "Look at a query" in recall
    assert {entry["empty"] for entry in exported} == {"one", ""} and not any(entry["p"] for entry in exported)
    leaderboard_change(project=sampled.project, actor=None, hides_val=True, hides_test=True, least_queries=1)
    participant = logged_in(member.user)
    for parameters in (query, {"split": "val"}):
        page = participant.get(url, parameters).content.decode()
        assert "no relevant moment" not in page and 'name="empty"' not in page
    blind = filters_for(Membership.objects.get(pk=member.pk), query)
    assert blind is not None and not blind.counts_empty


def test_what_a_pool_returned_is_a_stratum_of_its_own() -> None:
    """A run returns three moments of a stratum, of which one was drawn, one behind the strata and one that is new: of
    what it returned all is judged, and the others of the stratum stay a random draw."""
    sampled = Sampled()
    sampled.close(sampled.queries[0], extend=True)
    batch_ranks = {rank for batch in sampled.queries[0].batches.all() for rank in ranks_of(batch)}
    free = sorted(set(range(5, 15)) - batch_ranks)
    returned = [min(batch_ranks - {1, 2, 3, 4}), *free[:2]]
    batch = sampled.open_pool([*returned, 16, RANKS + 2])
    assert ranks_of(batch) == [*free[:2], 16, RANKS + 1]
    release = ready_release(sampled.project)
    assert strata_in(read_file(release, layout.POOL), 1) == {
        ("ranks-1-4", True): 4,
        ("ranks-5-14", True): 5,
        ("ranks-5-14", False): 2,
        ("ranks-5-14-pool-1", True): 3,
        ("pooled", True): 2,
    }
    assert truth_pool(release=release, split="val") is not None


def test_what_a_pool_returned_is_judged_before_a_lead_decides() -> None:
    """Else a small stratum of its own would have no judged pair, and xinfAP would guess each of its moments."""
    sampled = Sampled()
    first = sampled.judge(batch_create(query=sampled.queries[0], number=1))
    free = sorted(set(range(5, 15)) - set(ranks_of(first)))
    assert ranks_of(sampled.open_pool(free[:2])) == free[:2]
    batch_review(batch=first, extend=True, lead=lead(sampled.project))
    second = sampled.judge(batch_extend(batch_id=first.pk))
    assert len(ranks_of(second)) == 3 and set(ranks_of(second)) <= set(free[2:])
    lines = strata_in(read_file(ready_release(sampled.project), layout.POOL), 1)
    assert lines["ranks-5-14-pool-1", True] == 2 and ("ranks-5-14-pool-1", False) not in lines


def test_nothing_is_drawn_while_a_preview_of_its_strata_is_to_be_cut() -> None:
    sampled = Sampled()
    query = sampled.queries[0]
    late = Moment.objects.filter(pk=query.candidates.get(rank=9).moment_id)
    late.update(preview_state="missing")
    assert batch_create(query=query, number=1) is None
    late.update(preview_state="ready")
    assert batch_create(query=query, number=1) is not None


def test_a_release_comes_back_with_its_strata(tmp_path: Path) -> None:
    sampled = Sampled()
    for query in sampled.queries[:2]:
        sampled.close(query)
    release = Release.objects.create(project=sampled.project, version=1)
    files.write_files(release, scope_of(release), tmp_path / "one")
    project, _ = release_import(path=tmp_path / "one", project_name="again", corpus_name="again")
    assert project.strata == STRATA
    assert [batch.strata for batch in project.batches.all()] == [STRATA, STRATA]
    again = Release.objects.create(project=project, version=1)
    files.write_files(again, scope_of(again), tmp_path / "two")
    for name in (layout.POOL, layout.BATCHES, layout.PAIRS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    described = json.loads((tmp_path / "two" / layout.SETTINGS).read_text())
    assert described["pooling"] == {"batch": 7, "batches": 2, "depth": 40, "strata": LISTED}
