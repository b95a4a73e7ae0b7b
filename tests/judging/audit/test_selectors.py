"""Decisions before a project existed, about its corpus or the file it was made of, are in its audit, too."""

import pytest

from accounts.models import Project
from annotation.models import Corpus, CorpusImport
from core.audit import audit_record
from core.models import AuditEvent
from judging.audit.selectors import audit_all, audit_page
from judging.models import JudgmentImport
from tests.factories import CorpusFactory, ProjectFactory, UserFactory

pytestmark = pytest.mark.django_db
Subject = Corpus | CorpusImport | JudgmentImport | Project


@pytest.fixture
def project() -> Project:
    """Its audit: three events of the corpus and its files, one of its own, one of another file; and one more."""
    corpus = CorpusFactory()
    new_project: Project = ProjectFactory(corpus=corpus)
    record_event("corpus.confirm", of_corpus(corpus), skip_bad=True)
    record_event("corpus.import", corpus, videos=3)
    record_event("queries.draw", new_project, new_project, seed=7)
    record_event("cast.import", corpus, names=9)
    record_event("judgments.confirm", of_judgments(new_project), skip_bad=False)
    return new_project


def record_event(action: str, of: Subject, project: Project | None = None, **data: object) -> None:
    audit_record(project=project, actor=None, action=action, subject=of.uuid, **data)


def of_corpus(corpus: Corpus, state: str = "done") -> CorpusImport:
    return CorpusImport.objects.create(
        owner=UserFactory(), corpus_name=corpus.name, format="tvr", state=state, file_name="a.jsonl"
    )


def of_judgments(project: Project) -> JudgmentImport:
    return JudgmentImport.objects.create(
        owner=UserFactory(), project_name=project.name, project=project, state="done", mapping={}
    )


ALL = ["judgments.confirm", "cast.import", "queries.draw", "corpus.import", "corpus.confirm"]


def actions_on_page(project: Project, words: str = "", **conditions: object) -> list[str]:
    page = audit_page(project, conditions, words, size=50)
    return [event.action for event in page.events]


def test_the_newest_come_first_wherever_they_are_from(project: Project) -> None:
    assert actions_on_page(project) == ALL
    assert [event.action for event in audit_all(project, {})] == ALL
    first = audit_page(project, {}, size=2)
    second = audit_page(project, {}, size=2, after=first.events[-1].uuid)
    assert [event.action for event in second.events] == ALL[2:4]
    assert (first.is_older, second.is_newer, second.is_older) == (True, True, True)
    back = audit_page(project, {}, size=2, before=second.events[0].uuid)
    assert (back.events, back.is_newer) == (first.events, False)
    assert actions_on_page(project, action__in=["corpus.import"]) == ["corpus.import"]
    assert actions_on_page(project, words="9") == ["cast.import"]
    assert [event.action for event in audit_all(project, {}, "9")] == ["cast.import"]


def test_events_of_other_projects_are_absent(project: Project) -> None:
    assert actions_on_page(ProjectFactory()) == []
    before = AuditEvent.objects.count()
    record_event("corpus.confirm", of_corpus(CorpusFactory()))
    record_event("corpus.discard", of_corpus(project.dataset.corpus, "discarded"))
    record_event("queries.draw", project.dataset.corpus, ProjectFactory())
    assert (AuditEvent.objects.count(), actions_on_page(project)) == (before + 3, ALL)
