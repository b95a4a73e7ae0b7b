"""Coverage studies: what is judged for them, in which batches, and what they say."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.http import QueryDict

from annotation.models import Candidate, Moment, PoolEntry, Pooling
from annotation.pools.services.candidates import pool_of, similarity_of, vectors_of
from annotation.pools.services.poolings import RANDOM, SIMILAR, Draw
from annotation.similarity import registry
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.figures.charts import DrawnFigure
from judging.figures.selectors import FigureFilters, Scope, relevance_counted
from judging.figures.views import BY_NAME
from judging.models import Batch, Pair
from judging.releases.selectors import finished_queries
from judging.review.services import batch_review
from judging.studies.selectors import moments_drawn_from, pool_report, study_coverage
from judging.studies.services import STUDIES, coverage_prepare, coverage_request, queries_to_study
from judging.work.rules import TVR_RANKING
from tests.conftest import Messages
from tests.factories import MINUTES, NOW, BatchFactory, MeasureFactory, QueryFactory
from tests.judging.covering import MOMENTS, Covering
from tests.judging.play import judge_round, pairs_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


def returned(study: Pooling, source: str) -> list[int]:
    """The moments that a source of the study returned, best first."""
    entries = PoolEntry.objects.filter(answer__source__pooling=study, answer__source__name=source)
    return list(entries.order_by("rank").values_list("moment", flat=True))


class TestPlan:
    def test_the_frozen_then_the_most_similar_then_others_by_the_seed(self, collection: Covering) -> None:
        study, same, other = (collection.planned(top=4, others=3, seed=seed) for seed in (7, 7, 8))
        best, others = returned(study, SIMILAR), returned(study, RANDOM)
        assert best[:2] == [moment.pk for moment in collection.moments[:2]]
        assert (len(best), len(others), len({*best, *others})) == (4, 3, 7)
        assert moments_drawn_from(study) == {collection.query.pk: MOMENTS - 4}
        assert Candidate.objects.filter(source="pooled").count() == 0
        assert others == returned(same, RANDOM) != returned(other, RANDOM)
        assert best == returned(other, SIMILAR)
        whole = collection.planned(top=60, others=60)
        assert (len(returned(whole, SIMILAR)), returned(whole, RANDOM)) == (MOMENTS, [])
        assert moments_drawn_from(whole) == {collection.query.pk: 0}

    def test_what_is_drawn_keeps_its_similarity_and_its_rank_among_all(self, collection: Covering) -> None:
        study = collection.planned(top=4, others=3)
        entries = PoolEntry.objects.filter(answer__source__pooling=study)
        pool = pool_of(project=collection.project)
        name = similarity_of(collection.project)
        (moments,) = pool.rank([collection.query.text], similarity=name, depth=MOMENTS)
        likeness = registry.similarity(name, embed=vectors_of)
        captions = {moment.pk: moment.captions.get().text for moment in collection.moments}
        similarities = [likeness.pairs([captions[pk]], [collection.query.text])[0].round(6) for pk in moments]
        measured = {moment: (moments.index(moment) + 1, similarities[at]) for at, moment in enumerate(moments)}
        assert len(measured) == MOMENTS
        for moment, rank, value in entries.values_list("moment", "similarity_rank", "similarity"):
            assert (rank, value) == measured[moment]
        assert Candidate.objects.filter(source="pooled").count() == 0  # data of the study, no candidates

    def test_only_queries_judged_to_their_end(self, collection: Covering) -> None:
        waiting = BatchFactory(query=QueryFactory(project=collection.project)).query
        assert list(queries_to_study(collection.project)) == [collection.query]
        for queries in ([waiting], [collection.query, waiting]):
            with pytest.raises(NotPossible, match="judged to their end"):
                coverage_request(project=collection.project, queries=queries, draw=Draw(1), actor=None)
        with pytest.raises(NotPossible, match="at least one query"):
            coverage_request(project=collection.project, queries=[], draw=Draw(1), actor=None)

    @pytest.mark.parametrize("draw", [{"seed": -1}, {"seed": 1, "top": 0}, {"seed": 1, "others": 1001}])
    def test_numbers_out_of_range(self, draw: dict[str, int]) -> None:
        with pytest.raises(NotPossible):
            Draw(**draw)

    def test_what_stands_against_it_is_reported(self, collection: Covering) -> None:
        Moment.objects.update(preview_state="failed", preview_error="gone", preview="")
        study = collection.planned()
        assert (study.state, "none with a preview" in study.error) == ("failed", True)

    def test_a_lost_message_is_sent_again(self, collection: Covering, messages: Messages) -> None:
        study = coverage_request(project=collection.project, queries=[collection.query], draw=Draw(1, 4, 3), actor=None)
        with messages():
            STUDIES.sweep(study.created_at + 2 * MINUTES)
        study.refresh_from_db()
        assert study.state == "ready"
        before = list(PoolEntry.objects.values_list())
        coverage_prepare(pooling_id=study.pk)
        assert list(PoolEntry.objects.values_list()) == before
        with messages() as callbacks:
            STUDIES.sweep(NOW)
        assert callbacks == []


class TestOpen:
    def test_what_is_new_is_judged_in_further_batches(self, collection: Covering) -> None:
        """Candidates join in one order; batches take them in another, of the seed."""
        study = collection.planned(top=7, others=5)
        (batch,) = collection.open(study)
        assert (batch.number, batch.pairs.count(), batch.is_pooled) == (3, 10, True)
        moment_ids = {pair.candidate.moment_id for pair in pairs_of(batch)}
        assert moment_ids == {*returned(study, SIMILAR)[2:], *returned(study, RANDOM)}
        assert {pair.candidate.pooling for pair in pairs_of(batch)} == {study}
        by_row = list(batch.pairs.order_by("pk").values_list("candidate__rank", flat=True))
        assert sorted(by_row) == list(range(3, 13))
        assert by_row != sorted(by_row)
        assert collection.query not in finished_queries(collection.project.pk)
        event = AuditEvent.objects.get(action="coverage.open")
        assert event.data == {"top": 7, "others": 5, "seed": 1, "queries": [10]}

    def test_what_another_study_judged_is_not_judged_again(self, collection: Covering) -> None:
        (batch,) = collection.open(collection.planned(top=4, others=3, seed=1))
        judge_round(batch, [0] * 5, [0] * 5)
        again = collection.planned(top=4, others=3, seed=1)
        assert pool_report(again).union.to_judge == 0
        assert collection.open(again) == []
        assert sum(band.moments for band in study_coverage(again).total) == 7
        counts = [
            relevance_counted(Scope(collection.project.pk, pooled=pooled), TVR_RANKING).n for pooled in (False, True)
        ]
        assert counts == [2, 7]  # figures leave it out unless requested

    def test_ranks_that_closing_left_out_are_judged(self, collection: Covering) -> None:
        """A candidate by similarity without a pair, as ranks 21 to 40 of a closed query have none."""
        query = QueryFactory(project=collection.project, number=20)
        for rank, moment in enumerate(collection.moments[:3], start=1):
            Candidate.objects.create(query=query, moment=moment, rank=rank, similarity=0.5, measure=MeasureFactory())
        batch = BatchFactory(query=query, pairs=0)
        for candidate in query.candidates.filter(rank__lt=3):
            Pair.objects.create(batch=batch, candidate=candidate)
        judge_round(batch, [1, 1], [1, 1])
        batch_review(batch=batch, extend=False, lead=collection.lead)
        study = collection.planned(query, top=3, others=1)
        (new_batch,) = collection.open(study)
        sources = new_batch.pairs.order_by("candidate__rank").values_list("candidate__rank", "candidate__source")
        assert list(sources) == [(3, "similarity"), (4, "pooled")]


class TestReport:
    def test_as_it_is_judged(self, collection: Covering) -> None:
        study = collection.planned(top=4, others=4)
        (batch,) = collection.open(study)
        result = study_coverage(study)
        near, others = result.total
        assert (near.settled, near.open, near.relevant) == (2, 2, 2)
        assert (others.settled, others.open) == (0, 4)
        best = set(returned(study, SIMILAR))
        grades = [2 if pair.candidate.moment_id in best else 0 for pair in pairs_of(batch)]
        judge_round(batch, grades, grades)
        near, others = study_coverage(study).total
        assert (near.settled, near.open, near.relevant, near.highly) == (4, 0, 4, 2)
        assert (others.settled, others.relevant) == (4, 0)


class TestFigures:
    """Figures 4 a and 4 b take in what studies judged, where they are asked to (paper, appendix B.3)."""

    @pytest.fixture
    def draw(self, collection: Covering) -> Callable[..., DrawnFigure]:
        study = collection.planned(top=4, others=4)
        (batch,) = collection.open(study)
        best = set(returned(study, SIMILAR))
        grades = [2 if pair.candidate.moment_id in best else 0 for pair in pairs_of(batch)]
        judge_round(batch, grades, grades)

        def draw(name: str, query: str) -> DrawnFigure:
            return BY_NAME[name].draw(FigureFilters(collection.project, QueryDict(query)))

        return draw

    def test_ranks_beyond_the_candidates_are_drawn_on_request(self, draw: Callable[..., DrawnFigure]) -> None:
        assert [row[0] for row in draw("rank", "").rows] == [1, 2]
        drawing = draw("rank", "pooled")
        ranks = [row[0] for row in drawing.rows]
        assert ranks[:2] == [1, 2] and len(ranks) > 2 and sum(int(row[1]) for row in drawing.rows) == 4
        assert "Drawn by chance from all other moments: 4 pairs, mean 0.00." in drawing.notes
        dots = drawing.charts[-1].svg
        assert drawing.charts[-1].heading == "Queries of coverage studies"
        assert dots.count("<circle") == 4 and "relevance 2" in dots and "drawn by chance" not in dots

    def test_similarities_of_what_was_drawn_are_drawn_on_request(self, draw: Callable[..., DrawnFigure]) -> None:
        before, drawing = draw("similarity", ""), draw("similarity", "pooled")
        assert sum(int(row[2]) for row in drawing.rows) == 8 > sum(int(row[2]) for row in before.rows)
        dots = drawing.charts[-1].svg
        assert dots.count("<circle") == 8 and dots.count("drawn by chance") == 4
        assert not any("planned before" in note for note in drawing.notes)
        PoolEntry.objects.update(similarity=None, similarity_rank=None)  # as of a study from before
        assert any("planned before" in note for note in draw("similarity", "pooled").notes)
        assert [chart.heading for chart in before.charts] == [chart.heading for chart in drawing.charts[:-1]]


class TestCommand:
    def run(self, scenario: Covering, *words: str) -> dict[str, object]:
        out = StringIO()
        call_command("coverage_study", scenario.project.name, *words, stdout=out)
        report: dict[str, object] = json.loads(out.getvalue().splitlines()[-1])
        return report

    def test_dry_run_then_study_then_report(self, collection: Covering, tmp_path: Path) -> None:
        options = ("--query", "10", "--top", "4", "--others", "3", "--seed", "5")
        assert self.run(collection, *options, "--dry-run") == {"seed": 5, "moments": 7, "pairs": 5, "batches": 0}
        assert Batch.objects.count() == 1
        assert self.run(collection, *options) == {"seed": 5, "moments": 7, "pairs": 5, "batches": 1}
        batch = Batch.objects.get(number=3)
        judge_round(batch, [1] * 5, [1] * 5)
        report = self.run(collection, "--report", "--csv", str(tmp_path / "coverage.csv"))
        assert report["bands"] == {"1–4": {"settled": 4, "relevant": 4}, "others": {"settled": 3, "relevant": 3}}
        assert report["estimated_beyond"] == {"4": MOMENTS - 4}
        lines = (tmp_path / "coverage.csv").read_text().splitlines()
        assert lines[0].startswith('"query","text","band","moments","settled"')
        assert lines[1].startswith('10,"A man sings song 10","1–4",4,4,0,0,')

    def test_refused_in_words(self, collection: Covering) -> None:
        for words, message in (
            (["--query", "99"], "not there: 99"),
            (["--query-set", "none"], "no query set"),
            (["--split", "test"], "at least one query"),
            (["--top", "0"], "at most"),
            (["--report"], "No coverage study"),
        ):
            with pytest.raises(CommandError, match=message):
                self.run(collection, *words)
        assert not Pooling.objects.exclude(state="discarded").exists()
