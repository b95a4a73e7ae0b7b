"""The demo as `make run` leaves it: one of everything, and answers for the person who tries it."""

import re
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage
from django.test import Client, TestCase
from django.urls import reverse

from accounts.models import Project, User
from annotation.models import Video
from annotation.previews import services
from annotation.previews.cutting import Preview
from annotation.similarity import sentences
from core.models import Job
from judging.demo import services as demo_services
from judging.demo.services import demo_advance, demo_render
from judging.demo.simulation import truth_for, visitors_answer
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from judging.review.selectors import review_queue
from judging.work import rules
from judging.work.services.assignments import assignment_take
from models_runner.models import Run
from tests.conftest import Messages, hashed
from tests.factories import GIF, NOW, MembershipFactory
from tests.judging.demo_site import everything, seeded
from tests.judging.play import finish, give, ungraded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder", "one_clip")]


def fake_cut(path: Path, spans: Sequence[object]) -> list[Preview]:
    return [Preview(index, GIF, 1, 1) for index in range(len(spans))]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> FileSystemStorage:
    return FileSystemStorage(tmp_path_factory.mktemp("ready"))


@pytest.fixture(scope="module")
def ready_once(module_database: None, long_clip: Path, files: FileSystemStorage) -> Project:
    """Nothing is drawn, embedded or cut: every episode is the same clip, every preview is one pixel."""
    with pytest.MonkeyPatch.context() as patch, TestCase.captureOnCommitCallbacks(execute=True):
        patch.setattr(demo_services, "video_path", lambda episode: long_clip)
        patch.setattr(sentences, "encode", lambda texts, **settings: hashed(texts))
        patch.setattr(services, "cut_previews", fake_cut)
        patch.setattr(Video._meta.get_field("file"), "storage", files)
        project = seeded(5)
    return project


@pytest.fixture
def ready(ready_once: Project, files: FileSystemStorage, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The demo as `make run` leaves it: every message was delivered."""
    monkeypatch.setattr(services, "cut_previews", fake_cut)
    monkeypatch.setattr(Video._meta.get_field("file"), "storage", files)
    assert Job.objects.get(project=ready_once).state == "done"
    return deepcopy(ready_once)


class TestReady:
    def test_one_of_everything(self, ready: Project) -> None:
        self.states(ready)
        self.grades(ready)
        self.release(ready)
        examples = ready.guidelines.latest("version").examples.all()
        assert len(examples) >= 3
        assert len({example.query_text for example in examples}) == 1

    def states(self, ready: Project) -> None:
        """Finished, waiting for the lead, escalated, begun, and nothing that only time could end."""
        batches = Batch.objects.filter(project=ready, number=1)
        assert Counter(BatchReview.objects.values_list("decision", flat=True)) == {"close": 4, "extend": 1}
        assert review_queue(ready).count() >= 3
        begun = batches.filter(state="open", round=1, assignments__isnull=False).distinct()
        assert begun.exists()
        assert all(batch.assignments.count() == 1 for batch in begun)
        assert batches.filter(state="open", round=2).exists()
        assert Pair.objects.filter(state="escalated").exists()
        assert not Assignment.objects.filter(state="open").exists()

    def grades(self, ready: Project) -> None:
        """Simulated annotators know the truth but not exactly; what they agreed on is near it."""
        assert set(Judgment.objects.values_list("source", flat=True)) == {"simulated"}
        pairs = Pair.objects.select_related("batch__query__caption__moment__video", "candidate__moment__video")
        off = []
        for pair in pairs.filter(state__in=["settled", "dropped"]).prefetch_related("judgments"):
            outcome = rules.settle([judgment.grade for judgment in pair.judgments.all()])
            assert (pair.state, pair.relevance) == outcome
            if pair.relevance is not None:
                off.append(abs(pair.relevance - truth_for(pair.batch.query, pair.candidate.moment)))
        assert len(off) > 50
        assert 0 < sum(off) / len(off) < 1

    def release(self, ready: Project) -> None:
        release = Release.objects.get(project=ready)
        assert release.state == "ready"
        assert release.manifest["counts"]["simulated_judgments"] == release.manifest["counts"]["judgments"] > 0
        assert set(Run.objects.values_list("split", "state")) == {("val", "scored"), ("test", "scored")}

    def test_participants_see_scores_of_val_and_why_there_are_none_of_test(self, ready: Project) -> None:
        """The demo shows both pages on purpose: an open split, and one with too few queries."""
        browser = Client()
        browser.force_login(MembershipFactory(project=ready, role="participant").user)
        pages = {
            split: browser.get(reverse("models_runner:runs", args=[ready.uuid]), {"split": split}).content.decode()
            for split in ("val", "test")
        }
        assert "Too few queries to show scores" not in pages["val"] and "similarity" in pages["val"]
        assert "Too few queries to show scores" in pages["test"]
        scores = {split: re.findall(r"0\.\d{4}", page) for split, page in pages.items()}
        assert scores["val"] and not scores["test"]

    def test_a_repeat_changes_nothing_even_after_a_crash(self, ready: Project, messages: Messages) -> None:
        before = everything()
        with messages():
            for video in Video.objects.all():
                demo_render(video_id=video.pk)
            demo_advance()
            visitors_answer(ready)  # nobody came
        assert everything() == before
        Job.objects.update(state="running")  # as if it had ended before its last step
        with messages():
            demo_advance()
        assert Job.objects.get().state == "done"
        assert everything() == before


class TestVisitor:
    def judge_as_person(self, project: Project) -> Batch:
        """The demo's annotator takes what is due, grades the truth and finishes."""
        person = User.objects.get(username="annotator")
        assignment = assignment_take(project=project, annotator=person, now=NOW)
        assert assignment is not None
        for pair in ungraded(assignment):
            give(assignment, pair, truth_for(pair.batch.query, pair.candidate.moment))
        assert finish(assignment)
        return assignment.batch

    def test_escalated_pairs_come_first_and_settle_at_once(self, ready: Project, messages: Messages) -> None:
        with messages():
            batch = self.judge_as_person(ready)
        batch.refresh_from_db()
        assert batch.round == 2
        assert batch.state == "done"
        assert not batch.pairs.filter(state__in=["open", "escalated"]).exists()

    def test_a_begun_batch_is_answered_until_it_settles(self, ready: Project, messages: Messages) -> None:
        Batch.objects.filter(round=2, state="open").update(round=2, state="done", done_at=NOW)  # out of the way
        with messages():
            batch = self.judge_as_person(ready)
        for _ in range(3):
            with messages():
                demo_advance()
        batch.refresh_from_db()
        assert batch.state == "done"
        assert set(batch.pairs.values_list("state", flat=True)) <= {"settled", "dropped"}
        assert Counter(batch.assignments.filter(round=1).values_list("annotator__is_simulated", flat=True)) == {
            True: 1,
            False: 1,
        }
        assert batch in review_queue(ready)
