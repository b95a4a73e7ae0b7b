"""Training material: drawn pairs, their grades, the tutorial's order."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Project, User
from core.models import AuditEvent, Job
from judging.exceptions import NotPossibleNow
from judging.models import GuidelineDraft, KnownPair
from judging.qualification.services.training import (
    DRAWINGS,
    JOB,
    training_draw,
    training_pair_as_example,
    training_pair_grade,
    training_request,
    tutorial_add,
    tutorial_move,
    tutorial_remove,
)
from tests.conftest import Messages
from tests.factories import CaptionFactory, MomentFactory, ProjectFactory, QueryFactory, VideoFactory, lead
from tests.judging.settings import drawn_pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    """Three training queries, a validation query, and twelve moments whose captions say what they show."""
    project: Project = ProjectFactory()
    video = VideoFactory(corpus=project.dataset.corpus)
    for index in range(12):
        moment = MomentFactory(video=video, start_s=index, end_s=index + 0.5)
        CaptionFactory(moment=moment, description__moment=moment, text=f"a person holds thing{index}")
    for index in range(3):
        QueryFactory(project=project, split="train", text=f"a person holds thing{index}")
    QueryFactory(project=project, split="val")
    return project


@pytest.fixture
def actor(project: Project) -> User:
    return lead(project)


def pairs_drawn(project: Project) -> set[tuple[str, int, int | None]]:
    return set(project.known_pairs.values_list("query__text", "moment", "rank"))


@pytest.mark.usefixtures("encoder")
class TestDrawing:
    def test_near_and_far_moments_of_training_queries(self, project: Project, actor: User, messages: Messages) -> None:
        with messages():
            training_request(project=project, actor=actor, queries=2, seed=7)
        pairs = list(project.known_pairs.select_related("query", "moment"))
        assert len(pairs) == 2 * 10
        assert {pair.query.split for pair in pairs} == {"train"}
        assert {(pair.source, pair.truth, pair.tutorial_position) for pair in pairs} == {("lead", None, None)}
        for query in {pair.query for pair in pairs}:
            ranks = [pair.rank for pair in pairs if pair.query == query]
            assert sorted(rank for rank in ranks if rank) == [1, 2, 3, 4, 5]
            assert ranks.count(None) == 5
            nearest = next(pair for pair in pairs if pair.query == query and pair.rank == 1)
            assert nearest.moment.captions.get().text == query.text
        job = Job.objects.get(project=project, kind=JOB)
        assert (job.state, job.title) == ("done", "20 pairs drawn")
        assert AuditEvent.objects.get(action="training.draw").data == {"queries": 2, "seed": 7}

    def test_queries_are_drawn_once_and_run_out(self, project: Project, actor: User, messages: Messages) -> None:
        for _ in range(2):
            with messages():
                training_request(project=project, actor=actor, queries=2, seed=1)
        assert len({text for text, _, _ in pairs_drawn(project)}) == 3
        with pytest.raises(NotPossibleNow, match="Every training query"):
            training_request(project=project, actor=actor, queries=1, seed=1)

    def test_a_repeated_message_draws_nothing_and_the_seed_decides(
        self, project: Project, actor: User, messages: Messages
    ) -> None:
        draws = []
        for _ in range(2):
            with messages():
                training_request(project=project, actor=actor, queries=1, seed=3)
            assert training_draw(project_id=project.pk, queries=1, seed=3) == 0
            draws.append(pairs_drawn(project))
            KnownPair.objects.all().delete()
        assert draws[0] == draws[1]
        assert len(draws[0]) == 10

    def test_one_drawing_at_a_time_and_a_lost_one_is_reported_as_failed(self, project: Project, actor: User) -> None:
        training_request(project=project, actor=actor, queries=1, seed=1)
        with pytest.raises(NotPossibleNow, match="already"):
            training_request(project=project, actor=actor, queries=1, seed=1)
        DRAWINGS.sweep(timezone.now())
        assert Job.objects.get(kind=JOB).state == "running"
        DRAWINGS.sweep(timezone.now() + DRAWINGS.late + timedelta(seconds=1))
        assert Job.objects.get(kind=JOB).state == "failed"


class TestTutorial:
    def order(self, project: Project) -> list[tuple[int, int | None]]:
        pairs = project.known_pairs.filter(tutorial_position__isnull=False).order_by("tutorial_position")
        return list(pairs.values_list("pk", "tutorial_position"))

    def test_pairs_are_added_moved_and_taken_out(self, project: Project, actor: User) -> None:
        a, b, c = (drawn_pair(project, truth=grade) for grade in (0, 2, 4))
        for pair in (a, b, c, b):
            tutorial_add(known_pair=pair, actor=actor)
        tutorial_move(known_pair=c, actor=actor, by=-1)
        assert self.order(project) == [(a.pk, 1), (c.pk, 2), (b.pk, 3)]
        tutorial_move(known_pair=b, actor=actor, by=1)
        tutorial_remove(known_pair=a, actor=actor)
        assert self.order(project) == [(c.pk, 1), (b.pk, 2)]
        with pytest.raises(NotPossibleNow):
            tutorial_move(known_pair=a, actor=actor, by=1)

    def test_only_graded_pairs_teach(self, project: Project, actor: User) -> None:
        pair = drawn_pair(project)
        for use in (tutorial_add, training_pair_as_example):
            with pytest.raises(NotPossibleNow, match="Grade the pair first"):
                use(known_pair=pair, actor=actor)  # type: ignore[operator]

    def test_a_graded_pair_becomes_the_drafts_example_of_its_grade(self, project: Project, actor: User) -> None:
        pair = training_pair_grade(known_pair=drawn_pair(project), actor=actor, grade=3, explanation="Nearly all.")
        training_pair_as_example(known_pair=pair, actor=actor)
        example = GuidelineDraft.objects.get(project=project).examples.get()
        assert (example.grade, example.query_text, example.moment) == (3, pair.query.text, pair.moment)
        assert not project.guidelines.get().examples.exists()
