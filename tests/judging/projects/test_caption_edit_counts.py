"""A caption edited after queries and candidates were made of it is reported, and changes nothing."""

import pytest

from accounts.models import Project, User
from annotation.captions.services.captions import caption_accept, caption_edit, caption_undo
from annotation.models import Candidate, Caption, Query
from annotation.pools.services.candidates import candidates_rank
from core.models import AuditEvent
from judging.projects.selectors import caption_edits, edit_counts
from judging.projects.services import candidates_request
from judging.work.services.batches import batches_open
from tests.conftest import Messages
from tests.factories import CaptionFactory, DescriptionFactory, MomentFactory, ProjectFactory, QueryFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def person(project: Project) -> User:
    return lead(project)


def caption(project: Project, text: str, **values: object) -> Caption:
    moment = MomentFactory(video__corpus=project.dataset.corpus)
    description = DescriptionFactory(moment=moment)
    return CaptionFactory(description=description, moment=moment, text=text, **values)  # type: ignore[no-any-return]


def reviewed(project: Project, person: User, text: str) -> Caption:
    """A caption that failed a check, and serves because a person accepted it."""
    row = caption(project, text, state="in_review", failed=["name"])
    caption_accept(project=project, caption=row, actor=person)
    return row


def edit(project: Project, person: User, row: Caption, text: str) -> None:
    """The person thinks better of the caption accepted last."""
    caption_undo(project=project, actor=person)
    caption_edit(project=project, caption=row, text=text, actor=person)


def rows() -> list[tuple[object, ...]]:
    return list(Candidate.objects.order_by("pk").values_list("query", "moment", "rank", "similarity", "wordings"))


class TestCandidates:
    def test_an_edit_after_freezing_is_reported_and_not_applied(self, project: Project, person: User) -> None:
        caption_row = reviewed(project, person, "Ross waves")
        caption(project, "A dog barks")
        queries = [QueryFactory(project=project, number=number) for number in (7, 3)]
        candidates_rank(project_id=project.pk)
        batches_open(project_id=project.pk)
        before, texts = rows(), [query.text for query in queries]
        edit(project, person, caption_row, "A man waves")
        (change,) = caption_edits(project)
        caption_row.refresh_from_db()
        assert (change.kind, change.frozen, change.before, change.after, change.serves, change.queries) == (
            *("candidate", True, "Ross waves", "A man waves", True),
            [3, 7],
        )
        assert change.changed_at == caption_row.text_changed_at is not None
        assert edit_counts(project)._asdict() == {"frozen": 1, "stale": 0, "queries": 0}
        candidates_rank(project_id=project.pk)
        assert candidates_request(project=project, actor=person) == 0
        assert rows() == before
        assert list(Query.objects.order_by("pk").values_list("text", flat=True)) == texts

    def test_one_before_freezing_makes_the_ranking_stale(
        self, project: Project, person: User, messages: Messages
    ) -> None:
        caption_row = reviewed(project, person, "Ross waves")
        query = QueryFactory(project=project)
        candidates_rank(project_id=project.pk)
        edit(project, person, caption_row, query.text)
        assert edit_counts(project)._asdict() == {"frozen": 0, "stale": 1, "queries": 0}
        assert [change.frozen for change in caption_edits(project)] == [False]
        with messages():
            assert candidates_request(project=project, actor=person) == 1
        assert caption_edits(project) == []
        candidate = query.candidates.get()
        assert (candidate.similarity, candidate.wordings) == (1.0, {str(caption_row.pk): query.text})
        assert AuditEvent.objects.get(action="candidates.rank").data == {"queries": 1}

    def test_a_caption_back_in_review_serves_no_more(self, project: Project, person: User) -> None:
        reviewed(project, person, "Ross waves")
        QueryFactory(project=project)
        candidates_rank(project_id=project.pk)
        caption_undo(project=project, actor=person)
        (change,) = caption_edits(project)
        assert (change.before, change.after, change.serves) == ("Ross waves", "Ross waves", False)

    def test_every_caption_of_the_moment_counts(self, project: Project) -> None:
        one = caption(project, "A man waves")
        other = CaptionFactory(moment=one.moment, description=DescriptionFactory(moment=one.moment), text="He waves")
        QueryFactory(project=project)
        candidates_rank(project_id=project.pk)
        assert Candidate.objects.get().wordings == {str(one.pk): "A man waves", str(other.pk): "He waves"}
        Caption.objects.filter(pk=other.pk).update(text="She waves")
        assert [change.before for change in caption_edits(project)] == ["He waves"]
        assert caption_edits(ProjectFactory(corpus=project.dataset.corpus)) == []


class TestQueries:
    def test_a_query_keeps_the_text_it_was_drawn_with(self, project: Project) -> None:
        """As when the descriptions are rewritten after the queries were drawn."""
        own = caption(project, "Ross waves")
        query = QueryFactory(project=project, number=5, text=own.text, caption=own, split="train")
        Caption.objects.filter(pk=own.pk).update(text="A man waves")
        (change,) = caption_edits(project)
        assert (change.kind, change.frozen, change.before, change.after, change.queries) == (
            *("query", False, "Ross waves", "A man waves"),
            [5],
        )
        query.refresh_from_db()
        assert query.text == "Ross waves"
        assert edit_counts(project)._asdict() == {"frozen": 0, "stale": 0, "queries": 1}

    def test_the_time_is_that_of_the_text(self, project: Project) -> None:
        own = caption(project, "A man waves")
        own.state = "accepted"
        own.save()
        own.refresh_from_db()
        assert own.text_changed_at is None
