"""A new project, its versions of policy and guideline, its first batches, and work whose message was lost."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Project
from annotation.models import Corpus, ProjectCorpus
from annotation.similarity.base import SimilarityMissing
from core.exceptions import NotPossible
from core.models import Job
from judging.guidelines.selectors import BODY, LEVELS, guideline_in_force, policy_in_force
from judging.guidelines.services import guideline_publish, policy_publish
from judging.projects import services
from tests.conftest import Messages
from tests.factories import CaptionFactory, MomentFactory, ProjectFactory, UserFactory, lead

pytestmark = pytest.mark.django_db
SIZES = {"val": 1, "test": 2}


@pytest.fixture
def corpus() -> Corpus:
    """Five ready moments with a caption each."""
    first = MomentFactory(start_s=0, end_s=1)
    for index, moment in enumerate(
        [first, *(MomentFactory(video=first.video, start_s=n, end_s=9) for n in range(1, 5))]
    ):
        CaptionFactory(moment=moment, text=f"text {index}")
    return first.video.corpus  # type: ignore[no-any-return]


def create(corpus: Corpus, **values: object) -> Project:
    fields = {"name": "new", "corpus": corpus, "sizes": SIZES, "seed": 1, **values}
    project, _ = services.project_create(**fields)  # type: ignore[arg-type]
    return project


class TestCreate:
    def test_ready_for_judging(self, corpus: Corpus) -> None:
        person = UserFactory()
        project = create(corpus, leads=[person])
        assert project.queries.count() == 5
        assert policy_in_force(project.pk).version == guideline_in_force(project.pk).version == 1
        assert (guideline_in_force(project.pk).body, guideline_in_force(project.pk).levels) == (BODY, list(LEVELS))
        assert project.memberships.get().user == person
        actions = set(project.audit_events.values_list("action", flat=True))
        assert {"project.create", "member.add", "policy.publish", "guideline.publish", "queries.draw"} <= actions

    def test_all_or_nothing(self, corpus: Corpus) -> None:
        with pytest.raises(NotPossible):
            create(corpus, sizes={"val": 99})
        assert not Project.objects.exists()
        create(corpus)
        with pytest.raises(NotPossible, match="already"):
            create(corpus)

    def test_command(self, corpus: Corpus) -> None:
        out = StringIO()
        arguments = ["new", "--corpus", corpus.name, "--val", "1", "--test", "1"]
        call_command("create_project", *arguments, stdout=out)
        assert json.loads(out.getvalue().splitlines()[-1])["train"] == 3
        with pytest.raises(CommandError, match="already"):
            call_command("create_project", *arguments, stdout=StringIO())
        with pytest.raises(CommandError, match=corpus.name):
            call_command("create_project", "other", "--corpus", "unknown")
        with pytest.raises(CommandError, match="'nobody'"):
            call_command("create_project", "other", "--corpus", corpus.name, "--lead", "nobody")

    def test_queries_may_come_later(self, corpus: Corpus) -> None:
        assert not create(corpus, sizes=None).queries.exists()
        out = StringIO()
        call_command("create_project", "later", "--corpus", corpus.name, "--no-queries", stdout=out)
        assert json.loads(out.getvalue()) == {}
        with pytest.raises(CommandError, match="leave out --val"):
            call_command("create_project", "x", "--corpus", corpus.name, "--no-queries", "--val", "5%")


class TestVersions:
    def test_the_newest_is_in_force_and_the_rest_stays(self) -> None:
        project, actor = ProjectFactory(), UserFactory()
        policy_publish(project=project, actor=actor, lease_minutes=5, extend_from_mean=1.5)
        policy = policy_publish(project=project, actor=actor, extend_automatically=True)
        event = project.audit_events.filter(action="policy.publish").earliest("pk")
        data = {"version": 2, "lease_minutes": 5, "extend_from_mean": 1.5}
        assert (event.actor, event.data) == (actor, data)
        assert policy_in_force(project.pk) == policy
        assert (policy.version, policy.lease_minutes, policy.extend_from_mean) == (3, 5, 1.5)
        assert project.policies.get(version=1).lease_minutes == 20
        guideline = guideline_publish(project=project, actor=actor, body="new", levels=["x"] * 5)
        assert guideline_in_force(project.pk) == guideline
        assert guideline.version == 2


@pytest.mark.usefixtures("encoder")
class TestPrepare:
    def test_ranked_and_opened(self, corpus: Corpus, messages: Messages) -> None:
        project = create(corpus)
        with messages():
            services.batches_request(project=project, actor=lead(project))
        assert services.batches_prepare(project_id=project.pk) == 0
        assert project.batches.count() == 3
        assert {batch.pairs.count() for batch in project.batches.all()} == {5}
        assert set(Job.objects.values_list("state", flat=True)) == {"done"}
        assert project.audit_events.filter(action="batches.open").count() == 1

    def test_failure_is_shown(self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(**values: object) -> int:
            raise RuntimeError("no model")

        project = create(corpus)
        monkeypatch.setattr(services, "candidates_rank", broken)
        services.batches_request(project=project, actor=lead(project))
        with pytest.raises(RuntimeError):
            services.batches_prepare(project_id=project.pk)
        job = Job.objects.get()
        assert (job.state, job.error) == ("failed", "RuntimeError: no model")

    def test_a_lost_message_is_sent_again(self, corpus: Corpus, messages: Messages) -> None:
        project = create(corpus)
        services.batches_request(project=project, actor=lead(project))
        with messages() as callbacks:
            services.PREPARATIONS.sweep(timezone.now())
        assert callbacks == []
        with messages():
            services.PREPARATIONS.sweep(timezone.now() + timedelta(minutes=10))
        assert project.batches.count() == 3


def test_a_missing_model_is_reported_before_and_during(corpus: Corpus) -> None:
    project, other = create(corpus), create(corpus, name="other")
    services.batches_request(project=other, actor=lead(other))
    ProjectCorpus.objects.update(similarity="/no/model")
    project.refresh_from_db()
    with pytest.raises(SimilarityMissing, match="No model of this name can be used"):
        services.batches_request(project=project, actor=lead(project))
    assert not project.jobs.exists()
    assert services.batches_prepare(project_id=other.pk) == 0
    job = Job.objects.get()
    assert job.state == "failed"
    assert job.error.startswith("No model of this name can be used. Name one on the Hugging Face hub,")
