"""Pages of the lead's decisions: the queue, one case, many at once."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import Project, User
from core.models import AuditEvent
from judging.models import Batch, BatchReview, Policy
from judging.review import services, views
from judging.review.services import batch_review
from tests.conftest import Messages
from tests.factories import (
    JudgmentFactory,
    PairFactory,
    admin,
    annotator,
    lead,
    triggers_asleep,
)
from tests.judging.play import take, waiting
from tests.judging.views.acts import HTMX, url

pytestmark = pytest.mark.django_db


def case_ids_on(answer: Any) -> list[str]:
    """UUIDs of the cases on a page, in their order."""
    return re.findall(r'<article class="case" id="case-([^"]+)"', answer.content.decode())


def decide(lead_client: Client, batch: Batch, decision: str, **more: object) -> Any:
    return lead_client.post(url("batch-review", batch), {"decision": decision, **more}, headers=HTMX)


class TestQueue:
    def test_cases_with_suggestion(self, lead_client: Client, project: Project) -> None:
        high, low = waiting(project, 4), waiting(project, 1)
        page = lead_client.get(url("review-queue", project))
        text = page.content.decode()
        assert case_ids_on(page) == [str(high.uuid), str(low.uuid)]
        assert re.findall(r'<b class="word \w+">(\w+)</b>', text) == ["extend", "close"]
        assert text.count('class="bar relevance-4"') == text.count('class="bar relevance-1"') == 2
        assert '<b id="waiting">2</b>' in text

    def test_the_oldest_that_fit(self, lead_client: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(views, "CASES", 2)
        batches = [waiting(project) for _ in range(3)]
        page = lead_client.get(url("review-queue", project))
        assert case_ids_on(page) == [str(batch.uuid) for batch in batches[:2]]
        assert f'name="after" value="{batches[1].uuid}"' in page.content.decode()
        more = lead_client.get(url("review-queue", project), {"after": batches[1].uuid}, headers=HTMX)
        assert case_ids_on(more) == [str(batches[2].uuid)]
        assert f'name="after" value="{batches[2].uuid}"' in more.content.decode()

    def test_what_has_no_relevance_is_no_relevance_of_0(self, lead_client: Client, project: Project) -> None:
        batch = waiting(project, 0, pairs=1)
        PairFactory(batch=batch, candidate__rank=2, state="dropped", reason="no_consensus")
        PairFactory(batch=batch, candidate__rank=3, state="withdrawn", reason="withdrawn_by_lead")
        text = lead_client.get(url("review-queue", project)).content.decode()
        assert text.count('class="bar relevance-0"') == 1
        assert re.findall(r'<g class="candidate (\w+)"', text) == ["settled", "dropped", "withdrawn"]
        assert "3 candidates: 1 settled, 1 dropped, 1 withdrawn" in text
        assert re.findall(r'data-became>(?:<b>|<span class="state )(\w+)', text) == ["0", "dropped", "withdrawn"]

    @pytest.mark.parametrize(("person", "decides"), [(lead, True), (admin, False)])
    def test_admins_look_and_leads_decide(
        self, client: Client, project: Project, person: Callable[[Project], User], decides: bool
    ) -> None:
        client.force_login(person(project))
        assert "Nothing waits for you" in client.get(url("review-queue", project)).content.decode()
        assert "Automatic mode is off" in client.get(url("review-queue", project)).content.decode()
        Policy.objects.update(extend_automatically=True)
        batch, closed = waiting(project), waiting(project)
        batch_review(batch=closed, extend=False, lead=lead(project))
        for page in (url("review-queue", project), url("batch", batch)):
            assert (url("batch-review", batch) in client.get(page).content.decode()) == decides
        assert (url("review-undo", closed) in client.get(url("batch", closed)).content.decode()) == decides
        assert "Automatic mode is on" in client.get(url("review-queue", project)).content.decode()

    def test_without_further_candidates_it_can_only_be_closed(self, lead_client: Client, project: Project) -> None:
        waiting(project, 4, beyond=0)
        text = lead_client.get(url("review-queue", project)).content.decode()
        assert "but no candidate lies beyond them" in text
        assert 'disabled title="No candidate is left for a second batch."' in text

    @pytest.mark.parametrize("cases", [1, 4])
    def test_as_many_statements_for_many_cases_as_for_one(  # type: ignore[no-untyped-def]
        self, lead_client: Client, project: Project, cases: int, django_assert_num_queries
    ) -> None:
        for _ in range(cases):
            batch = waiting(project, pairs=3)
            with triggers_asleep():
                JudgmentFactory(assignment__batch=batch)
        lead_client.get(url("review-queue", project))  # the session learns of the project
        with django_assert_num_queries(15):
            lead_client.get(url("review-queue", project))


class TestDecisionWithoutScript:
    @pytest.mark.parametrize("decision", ["extend", "close"])
    def test_decide(self, lead_client: Client, project: Project, decision: str, messages: Messages) -> None:
        batch = waiting(project)
        with messages():
            answer = lead_client.post(url("batch-review", batch), {"decision": decision, "reason": "why not"})
        assert answer.headers["Location"] == url("review-queue", project)
        review = BatchReview.objects.get(batch=batch)
        assert (review.decision, review.reason) == (decision, "why not")
        assert batch.query.batches.count() == (2 if decision == "extend" else 1)
        other = {"extend": "close", "close": "extend"}[decision]
        answer = lead_client.post(url("batch-review", batch), {"decision": other})
        assert (answer.status_code, "this query a moment ago" in answer.content.decode()) == (409, True)

    def test_bad_form(self, lead_client: Client, project: Project) -> None:
        batch = waiting(project)
        for data in ({}, {"decision": "perhaps"}, {"decision": "close", "reason": "x" * 1001}):
            assert lead_client.post(url("batch-review", batch), data).headers["Location"] == url("batch", batch)
        assert not BatchReview.objects.exists()


class TestDecision:
    def test_the_answer_says_so_and_brings_the_next_case(self, lead_client: Client, project: Project) -> None:
        first, last, behind = (waiting(project) for _ in range(3))
        answer = decide(lead_client, first, "close", after=last.uuid)
        text = answer.content.decode().strip()
        assert answer.status_code == 200
        assert text.startswith(f'<article class="decided" id="case-{first.uuid}"')
        assert url("review-undo", first) in text
        assert case_ids_on(answer) == [str(behind.uuid)]
        assert f'name="after" value="{behind.uuid}"' in text
        assert '<b id="waiting" hx-swap-oob="true">2</b>' in text

    def test_the_second_lead_reads_who_decided(self, lead_client: Client, project: Project) -> None:
        batch, behind = waiting(project), waiting(project)
        she = lead(project)
        batch_review(batch=batch, extend=True, lead=she)
        answer = decide(lead_client, batch, "extend", after=batch.uuid)
        assert answer.status_code == 409
        assert f"{she.username} extended this query a moment ago." in answer.content.decode()
        assert url("review-undo", batch) not in answer.content.decode()
        assert case_ids_on(answer) == [str(behind.uuid)]
        assert BatchReview.objects.get().decided_by == she

    @pytest.mark.parametrize(
        ("decision", "status", "words"),
        [("extend", 409, "can only be closed"), ("perhaps", 422, "Choose to extend or to close")],
    )
    def test_what_is_refused_keeps_the_case(
        self, lead_client: Client, project: Project, decision: str, status: int, words: str
    ) -> None:
        batch = waiting(project, 4, beyond=0)
        answer = decide(lead_client, batch, decision)
        assert (answer.status_code, case_ids_on(answer)) == (status, [str(batch.uuid)])
        assert words in answer.content.decode()
        assert not BatchReview.objects.exists()

    @pytest.mark.parametrize("waiters", [2, 9])
    def test_statements_of_a_decision(  # type: ignore[no-untyped-def]
        self, lead_client: Client, project: Project, waiters: int, django_assert_num_queries
    ) -> None:
        batches = [waiting(project, pairs=3) for _ in range(waiters)]
        lead_client.get(url("review-queue", project))
        with django_assert_num_queries(23):
            decide(lead_client, batches[0], "close", after=batches[0].uuid)


class TestUndo:
    def test_the_case_is_back(self, lead_client: Client, project: Project) -> None:
        batch = waiting(project)
        decide(lead_client, batch, "close")
        answer = lead_client.post(url("review-undo", batch), headers=HTMX)
        assert (answer.status_code, case_ids_on(answer)) == (200, [str(batch.uuid)])
        assert '<b id="waiting" hx-swap-oob="true">1</b>' in answer.content.decode()
        assert not BatchReview.objects.exists()

    def test_begun_it_stands(self, lead_client: Client, project: Project, messages: Messages) -> None:
        batch = waiting(project)
        with messages():
            decide(lead_client, batch, "extend")
        take(batch.query.batches.get(number=2), annotator(project))
        answer = lead_client.post(url("review-undo", batch), headers=HTMX)
        assert answer.status_code == 409
        assert "has been begun, so this decision stands" in answer.content.decode()
        assert url("review-undo", batch) not in lead_client.get(url("batch", batch)).content.decode()

    def test_from_the_page_of_the_batch(self, lead_client: Client, project: Project) -> None:
        batch = waiting(project)
        batch_review(batch=batch, extend=False, lead=lead(project))
        assert lead_client.post(url("review-undo", batch)).headers["Location"] == url("batch", batch)
        assert "batch.review_undo" in lead_client.get(url("audit", project)).content.decode()
        again = lead_client.post(url("review-undo", batch))
        assert (again.status_code, "no decision to take back" in again.content.decode()) == (409, True)


class TestMany:
    def sums(self, answer: Any) -> dict[str, str]:
        return dict(re.findall(r'<dd data-sum="(\w+)"[^>]*>([^<]+)<', answer.content.decode()))

    def test_the_preview_says_what_would_happen(self, lead_client: Client, project: Project) -> None:
        waiting(project, 4, beyond=3)
        for _ in range(2):
            waiting(project, 1, beyond=3)
        answer = lead_client.get(url("reviews-preview", project))
        # 3 pairs, two grades each and 18 % of them two more, at 19 s: what the paper took, as nothing is measured here
        assert self.sums(answer) == {"extend": "1", "close": "2", "pairs": "3", "hours": "0.0", "rest": "0"}
        assert not BatchReview.objects.exists()

    @pytest.mark.parametrize(
        ("filters", "relevances"),
        [
            ({}, [4, 3, 2, 1]),
            ({"which": "extend"}, [4, 3, 2]),
            ({"which": "close"}, [1]),
            ({"distance": "1"}, [4, 3, 1]),
            ({"which": "close", "distance": "2"}, []),
        ],
    )
    def test_which_suggestions(
        self, lead_client: Client, project: Project, filters: dict[str, str], relevances: list[int]
    ) -> None:
        relevance_by_uuid = {str(waiting(project, relevance).uuid): relevance for relevance in (4, 3, 2, 1)}
        text = lead_client.get(url("reviews-preview", project), filters).content.decode()
        assert [relevance_by_uuid[name] for name in re.findall(r'name="case" value="([^:]+):', text)] == relevances

    def test_nonsense_as_a_filter(self, lead_client: Client, project: Project) -> None:
        for filters in ({"which": "some"}, {"distance": "far"}, {"distance": "9.1"}):
            assert lead_client.get(url("reviews-preview", project), filters).status_code == 422

    def test_more_than_go_at_once(self, lead_client: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(services, "AT_ONCE", 2)
        for _ in range(3):
            waiting(project)
        answer = lead_client.get(url("reviews-preview", project))
        assert (self.sums(answer)["close"], self.sums(answer)["rest"]) == ("2", "1")
        assert "1 more fit and come next" in answer.content.decode()

    def test_what_was_ticked_is_decided(self, lead_client: Client, project: Project, messages: Messages) -> None:
        high, low, other = waiting(project, 4), waiting(project, 1), waiting(project, 1)
        with messages():
            answer = lead_client.post(
                url("reviews-accept", project),
                {"case": [f"{high.uuid}:extend", f"{low.uuid}:close", "none:close", f"{other.uuid}:perhaps"]},
                follow=True,
            )
        assert "1 extended, 1 closed." in answer.content.decode()
        assert set(BatchReview.objects.values_list("batch", "decision")) == {(high.pk, "extend"), (low.pk, "close")}
        assert high.query.batches.filter(number=2).exists()
        assert AuditEvent.objects.filter(action__in=["batch.extend", "batch.close"]).count() == 2

    def test_what_changed_meanwhile_is_reported(self, lead_client: Client, project: Project) -> None:
        hers, changed = waiting(project, 1), waiting(project, 1)
        she = lead(project)
        batch_review(batch=hers, extend=False, lead=she)
        Policy.objects.update(extend_from_mean=0.5)
        form = {"case": [f"{hers.uuid}:close", f"{changed.uuid}:close"]}
        text = lead_client.post(url("reviews-accept", project), form, follow=True).content.decode()
        assert "0 extended, 0 closed." in text
        assert f"Decided meanwhile: 1 by {she.username}." in text
        assert "1 still wait: the rule suggests something else" in text

    def test_nothing_ticked_and_nothing_waits(self, lead_client: Client, project: Project) -> None:
        answer = lead_client.post(url("reviews-accept", project), {}, follow=True)
        assert "Nothing was ticked" in answer.content.decode()
        assert "Nothing waits" in lead_client.get(url("reviews-preview", project)).content.decode()
