"""The endpoints of leads and admins."""

import pytest

from annotation.models import NamedQuerySet
from core.models import AuditEvent
from judging.models import Batch, BatchReview, Pair
from judging.projects.overview import overview_counts
from judging.review.selectors import annotator_numbers
from tests.factories import BatchFactory, ProjectFactory, QueryFactory, lead
from tests.judging.api.acts import Program, refusal
from tests.judging.play import judge_round, pairs_in_order, pairs_of
from tests.judging.views.acts import hold, rows

pytestmark = pytest.mark.django_db


def of_lead(batch: Batch) -> Program:
    return Program(lead(batch.project))


def test_progress_is_that_of_the_overview() -> None:
    batch = BatchFactory(pairs=3)
    judge_round(batch, [0, 1, 2], [4, 1, 2])
    BatchFactory(query__project=batch.project, pairs=2)
    body = of_lead(batch).get("progress", batch.project).json()
    assert body == overview_counts(batch.project)
    assert body["pairs"] == {"open": 2, "escalated": 1, "settled": 2, "dropped": 0, "withdrawn": 0}


class TestBatches:
    def test_newest_first_with_their_state(self) -> None:
        project = ProjectFactory()
        first = BatchFactory(query__project=project)
        second = BatchFactory(query__project=project, state="done")
        program = of_lead(first)
        results = program.get("batches", project).json()["results"]
        assert [(r["uuid"], r["state"], r["decision"]) for r in results] == [
            (str(second.uuid), "done", None),
            (str(first.uuid), "open", None),
        ]
        assert results[1]["query"] == first.query.text
        done_batches = program.get("batches", project, state="done").json()["results"]
        assert [r["uuid"] for r in done_batches] == [str(second.uuid)]

    @pytest.mark.parametrize("state", ["", "settled", "open "])
    def test_a_state_that_is_none(self, state: str) -> None:
        batch = BatchFactory()
        assert refusal(of_lead(batch).get("batches", batch.project, state=state)) == (422, "invalid")

    def test_one_with_its_pairs_and_what_annotators_say_of_them(self) -> None:
        batch = BatchFactory(pairs=2)
        judge_round(batch, [0, 3], [4, 4])
        assignment = hold(batch)
        Program(assignment.annotator).post("flag", pairs_in_order(assignment)[0], reason="broken", comment="black")
        body = of_lead(batch).get("batch", batch).json()
        assert (body["uuid"], body["round"]) == (str(batch.uuid), 2)
        first, second = body["pairs"]
        outcomes = [tuple(row["pair"][name] for name in ("rank", "state", "relevance")) for row in (first, second)]
        assert outcomes == [(1, "escalated", None), (2, "settled", 4)]
        numbers = annotator_numbers(batch.project)
        grades = [(numbers[j.annotator_id], j.grade) for j in pairs_of(batch)[0].judgments.order_by("slot")]
        assert [(grade["annotator"], grade["grade"]) for grade in first["grades"]] == grades
        number = numbers[assignment.annotator_id]
        assert first["remarks"] == [{"annotator": number, "flag": "The clip is broken", "words": "black"}]


class TestReview:
    @pytest.fixture
    def batch(self) -> Batch:
        return BatchFactory(state="done")

    def test_the_lead_decides_once(self, batch: Batch) -> None:
        program = of_lead(batch)
        assert refusal(program.post("review", batch, decision="extend")) == (409, "nothing_beyond")
        answers = [program.post("review", batch, decision="close", reason="enough") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
        review = BatchReview.objects.get()
        assert (review.decision, review.reason, review.decided_by) == ("close", "enough", program.person)
        assert program.get("batch", batch).json()["decision"] == "close"
        before = rows()
        assert refusal(program.post("review", batch, decision="extend")) == (409, "already_reviewed")
        assert rows() == before

    @pytest.mark.parametrize("body", [{}, {"decision": "maybe"}, {"decision": True}, {"decision": "close", "why": 1}])
    def test_no_decision(self, batch: Batch, body: dict[str, object]) -> None:
        assert refusal(of_lead(batch).post("review", batch, **body)) == (422, "invalid")
        assert not BatchReview.objects.exists()


class TestPairs:
    def test_withdrawn_and_put_back(self) -> None:
        batch = BatchFactory(pairs=2)
        pair, program = pairs_of(batch)[0], of_lead(batch)
        out = program.post("withdraw", pair, reason="two films in one").json()
        assert (out["uuid"], out["state"], out["reason"]) == (str(pair.uuid), "withdrawn", "withdrawn_by_lead")
        assert AuditEvent.objects.get(action="pair.withdraw").data["reason"] == "two films in one"
        assert refusal(program.post("withdraw", pair, reason="broken")) == (409, "not_possible_now")
        back = program.post("restore", pair).json()
        assert (back["state"], back["reason"]) == ("open", "")
        assert Pair.objects.get(pk=pair.pk).state == "open"

    @pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "  "}, {"reason": 5}, {"reason": "x" * 1001}])
    def test_without_a_reason(self, body: dict[str, object]) -> None:
        batch = BatchFactory()
        assert refusal(of_lead(batch).post("withdraw", pairs_of(batch)[0], **body)) == (422, "invalid")
        assert not Pair.objects.filter(state="withdrawn").exists()


class TestQuerySets:
    @pytest.fixture
    def query_set(self) -> NamedQuerySet:
        project = ProjectFactory()
        new_set = NamedQuerySet.objects.create(project=project, name="first ones")
        BatchFactory(query=QueryFactory(project=project, query_set=new_set))
        return new_set

    def test_all_and_one(self, query_set: NamedQuerySet) -> None:
        program = Program(lead(query_set.project))
        (row,) = program.get("query-sets", query_set.project).json()
        assert row == program.get("query-set", query_set).json()
        assert row == {
            "uuid": str(query_set.uuid),
            "name": "first ones",
            "priority": "normal",
            "paused": False,
            "pilot": False,
            "queries": 1,
            "batches": {"open": 1, "done": 0},
        }

    def test_a_change_reaches_the_batches(self, query_set: NamedQuerySet) -> None:
        program = Program(lead(query_set.project))
        assert program.patch("query-set", query_set, priority="high").json()["priority"] == "high"
        body = program.patch("query-set", query_set, paused=True, pilot=True).json()
        assert (body["priority"], body["paused"], body["pilot"]) == ("high", True, True)
        batch = Batch.objects.get()
        assert (batch.priority, batch.is_paused, batch.is_pilot) == (1, True, True)

    @pytest.mark.parametrize(
        "body", [{"priority": "highest"}, {"priority": 1}, {"paused": "yes"}, {"pilot": 1}, {"size": 1}]
    )
    def test_a_change_that_is_none(self, query_set: NamedQuerySet, body: dict[str, object]) -> None:
        before = NamedQuerySet.objects.values().get()
        assert refusal(Program(lead(query_set.project)).patch("query-set", query_set, **body)) == (422, "invalid")
        assert NamedQuerySet.objects.values().get() == before
