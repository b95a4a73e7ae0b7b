"""A project that begins with another's settings: what comes along, and what stays."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Project
from annotation.models import NamedQuerySet, Query
from core.exceptions import NotPossible
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import BODY, guideline_in_force, policy_in_force
from judging.guidelines.services import Example, guideline_publish, policy_publish
from judging.projects.services import project_create
from tests.factories import (
    BatchFactory,
    CaptionFactory,
    CorpusFactory,
    MembershipFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    UserFactory,
)
from tests.judging.settings import drawn_pair, screening_question

pytestmark = pytest.mark.django_db


@pytest.fixture
def source() -> Project:
    """A project with everything that leads set, and somebody at work in it."""
    project = ProjectFactory(similarity="bow", registration_is_open=True)
    MembershipFactory(project=project)
    for _ in range(2):
        screening_question(project)
    screening_question(project, is_retired=True)
    policy_publish(
        project=project, actor=None, screening_is_open=True, screening_questions=2, screening_passing=1, pay_rate=20
    )
    moment = MomentFactory(video__corpus=project.dataset.corpus)
    examples = [Example(3, "A man sits", moment.pk)]
    guideline_publish(project=project, actor=None, body="# Ours", levels=["a"] * 5, examples=examples)
    first = NamedQuerySet.objects.create(project=project, name="first", priority=1, is_paused=True, is_pilot=True)
    caption = CaptionFactory(moment__video__corpus=project.dataset.corpus)
    judged = QueryFactory(project=project, number=1_000_005, text="A man sits", caption=caption, query_set=first)
    QueryFactory(project=project, number=1_000_006, text="A man sits", split="test", judged_as=judged)
    BatchFactory(query=judged)
    drawn_pair(project, truth=2, explanation="half of it", tutorial_position=1)
    drawn_pair(project, is_retired=True)
    return project  # type: ignore[no-any-return]


def copied(source: Project, **values: object) -> Project:
    fields = {"name": "copy", "corpus": source.dataset.corpus, "settings_of": source, **values}
    project, _ = project_create(**fields)  # type: ignore[arg-type]
    return Project.objects.get(pk=project.pk)


def policy_values(project: Project) -> dict[str, object]:
    return {name: getattr(policy_in_force(project.pk), name) for name in POLICY_VALUES}


class TestOverTheSameCorpus:
    def test_what_is_set_comes_along(self, source: Project) -> None:
        project = copied(source)
        assert policy_values(project) == policy_values(source)
        guideline = guideline_in_force(project.pk)
        assert (guideline.version, guideline.body) == (1, "# Ours")
        assert list(guideline.examples.values_list("grade", "query_text")) == [(3, "A man sits")]
        assert project.screening_questions.count() == 2
        assert (project.dataset.similarity, project.registration_is_open) == ("bow", False)
        assert not (project.queries.exists() or project.query_sets.exists() or project.known_pairs.exists())

    def test_queries_with_their_sets_and_the_tutorial(self, source: Project) -> None:
        person = UserFactory()
        project = copied(source, with_queries=True, actor=person, leads=[person])
        assert [(member.user, member.roles) for member in project.memberships.all()] == [(person, ["lead", "admin"])]
        assert not (project.batches.exists() or project.queries.filter(candidates__isnull=False).exists())
        fields = ("number", "text", "split", "caption", "query_set__name", "judged_as__number")
        assert set(project.queries.values_list(*fields)) == set(source.queries.values_list(*fields))
        assert not project.queries.exclude(judged_as__project=project).filter(judged_as__isnull=False).exists()
        (query_set,) = project.query_sets.values_list("name", "priority", "is_pilot", "is_paused")
        assert query_set == ("first", 1, True, False)
        pair = project.known_pairs.get()
        assert (pair.query.project, pair.truth) == (project, 2)
        assert (pair.explanation, pair.tutorial_position) == ("half of it", 1)
        event = project.audit_events.get(action="project.copy")
        assert (event.actor, event.data["source"]) == (person, str(source.uuid))
        texts = ["policy version 2", "guideline version 2", "screening questions 2", "queries 4", "training pairs 1"]
        assert event.data["copied"] == texts


class TestOverAnotherCorpus:
    def test_what_shows_moments_stays_and_the_screening_is_closed(self, source: Project) -> None:
        project = copied(source, corpus=CorpusFactory())
        assert policy_values(project) == {**policy_values(source), "screening_is_open": False}
        guideline = guideline_in_force(project.pk)
        assert (guideline.body, guideline.examples.count(), project.screening_questions.count()) == ("# Ours", 0, 0)

    def test_queries_cannot_come_along(self, source: Project) -> None:
        with pytest.raises(NotPossible, match="same corpus"):
            copied(source, corpus=CorpusFactory(), with_queries=True)
        assert not Project.objects.filter(name="copy").exists()


def test_of_a_project_without_guideline_and_queries() -> None:
    source = ProjectFactory(guideline=None)
    project = copied(source)
    assert guideline_in_force(project.pk).body == BODY
    with pytest.raises(NotPossible, match="no queries"):
        copied(source, name="other", with_queries=True)


class TestCommand:
    def test_copy(self, source: Project) -> None:
        out = StringIO()
        call_command("create_project", "copy", "--settings-of", source.name, "--with-queries", stdout=out)
        assert json.loads(out.getvalue()) == {"val": 1, "test": 1, "train": 2}
        assert Project.objects.get(name="copy").dataset.corpus == source.dataset.corpus
        call_command("create_project", "plain", "--settings-of", source.name, "--no-queries", stdout=StringIO())
        assert not Query.objects.filter(project__name="plain").exists()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--with-queries", "--corpus", "c"], "without --settings-of"),
            (["--settings-of", "unknown"], "no project named 'unknown'"),
            (["--settings-of", "held", "--with-queries", "--val", "3"], "leave out --val"),
            ([], "Name the corpus; there are"),
        ],
    )
    def test_refused(self, arguments: list[str], words: str) -> None:
        ProjectFactory(name="held")
        with pytest.raises(CommandError, match=words):
            call_command("create_project", "copy", *arguments)
