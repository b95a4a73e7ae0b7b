"""The endpoints of annotators: what they answer, what they store, and what they do not tell."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from judging.models import Assignment, Flag, Judgment
from tests.factories import (
    BatchFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    annotator,
    triggers_asleep,
)
from tests.judging.api.acts import Program, refusal, url
from tests.judging.play import judge, pairs_in_order
from tests.judging.views.acts import hold, key, lapse, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def open_assignment() -> Assignment:
    """An open assignment of three pairs."""
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def program(open_assignment: Assignment) -> Program:
    return Program(open_assignment.annotator)


def test_my_projects_with_my_roles() -> None:
    mine = MembershipFactory(project__name="b")
    MembershipFactory(project__name="a", user=mine.user, roles=["lead", "admin"])
    MembershipFactory()
    projects = Program(mine.user).get("projects").json()
    rows_by_name = [(p["name"], p["role"], p["roles"], p["number"]) for p in projects]
    assert rows_by_name == [("a", "lead", ["lead", "admin"], None), ("b", "annotator", ["annotator"], mine.number)]
    assert projects[1]["uuid"] == str(mine.project.uuid)
    assert refusal(Client().get(url("projects"))) == (401, "not_authenticated")


class TestAssignment:
    def test_what_i_hold(self, program: Program, open_assignment: Assignment) -> None:
        first, second, third = pairs = pairs_in_order(open_assignment)
        program.grade(open_assignment, first, 4, comment="clear")
        program.post("flag", second, reason="broken", comment="black")
        moment = third.candidate.moment
        moment.preview_clip.save("clip.mp4", ContentFile(b"mp4"))
        answer = program.get("assignment", open_assignment.project)
        assert answer.status_code == 200
        body = answer.json()
        assert body["query"] == open_assignment.batch.query.text
        assert [level["grade"] for level in body["levels"]] == [0, 1, 2, 3, 4]
        assert body["levels"][0]["meaning"] == "Unrelated"
        assert (body["left"], body["next"]) == (1, str(third.uuid))
        names = ("uuid", "position", "grade", "comment", "flag", "flag_comment")
        assert [tuple(pair[name] for name in names) for pair in body["pairs"]] == [
            (str(first.uuid), 1, 4, "clear", None, None),
            (str(second.uuid), 2, None, None, "broken", "black"),
            (str(third.uuid), 3, None, None, None, None),
        ]
        assert [UUID(pair["key"]) for pair in body["pairs"]] == [key(open_assignment, pair) for pair in pairs]
        assert body["pairs"][0]["previews"]["mp4"] is None
        assert body["pairs"][2]["previews"]["mp4"] == f"http://testserver{url('preview-mp4', moment.preview_uuid)}"
        assert body["lease_ends_at"] == lease_end_of(open_assignment)

    def test_nothing_to_hold_or_take(self) -> None:
        project = ProjectFactory()
        program = Program(annotator(project))
        answers = [program.get("assignment", project), program.post("assignment", project)]
        assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 2

    def test_taking_one(self) -> None:
        batch = BatchFactory(pairs=3)
        program = Program(annotator(batch.project))
        first = program.post("assignment", batch.project)
        again = program.post("assignment", batch.project)
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json() == program.get("assignment", batch.project).json()
        assert Assignment.objects.get().annotator == program.person

    def test_a_heartbeat_starts_the_lease_anew(self, program: Program, open_assignment: Assignment) -> None:
        Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        until = program.post("heartbeat", open_assignment.project).json()["lease_ends_at"]
        assert until == lease_end_of(open_assignment)
        assert open_assignment.expires_at > timezone.now() + timedelta(minutes=19)


def lease_end_of(assignment: Assignment) -> str:
    assignment.refresh_from_db()
    return assignment.expires_at.isoformat().replace("+00:00", "Z")


class TestJudgment:
    def test_the_answer_brings_the_next_pair(self, program: Program, open_assignment: Assignment) -> None:
        Assignment.objects.filter(pk=open_assignment.pk).update(created_at=timezone.now() - timedelta(minutes=1))
        first, second, third = pairs_in_order(open_assignment)
        answer = program.grade(open_assignment, first, 3, comment="good", active_ms=4321)
        assert answer.status_code == 200
        body = answer.json()
        assert (body["pair"]["uuid"], body["pair"]["grade"], body["pair"]["comment"]) == (str(first.uuid), 3, "good")
        assert (body["next"]["uuid"], body["next"]["key"]) == (str(second.uuid), str(key(open_assignment, second)))
        row = Judgment.objects.get()
        assert (row.pair, row.annotator, row.grade) == (first, open_assignment.annotator, 3)
        assert (row.comment, row.active_ms) == ("good", 4321)
        bodies = [body, *(program.grade(open_assignment, pair, 0, active_ms=10**12).json() for pair in (second, third))]
        assert [body["left"] for body in bodies] == [2, 1, 0]
        assert bodies[-1]["next"] is None
        assert Judgment.objects.get(pair=second).active_ms < 60_000  # type: ignore[operator]

    def test_sent_again(self, program: Program, open_assignment: Assignment) -> None:
        """Answered byte for byte as the first time, and nothing is written."""
        pair = pairs_in_order(open_assignment)[0]
        body = {"grade": 2, "key": str(key(open_assignment, pair))}
        first = program.post("judgment", pair, **body)
        before = rows()
        again = program.post("judgment", pair, **body)
        assert (again.status_code, again.content) == (200, first.content)
        assert rows() == before


def test_a_flag_and_its_end(program: Program, open_assignment: Assignment) -> None:
    first, second, _ = pairs_in_order(open_assignment)
    answers = [program.post("flag", first, reason="unreadable", comment="what?") for _ in range(2)]
    assert answers[0].content == answers[1].content
    body = answers[0].json()
    assert (body["pair"]["flag"], body["pair"]["flag_comment"]) == ("unreadable", "what?")
    assert (body["next"]["uuid"], body["left"]) == (str(second.uuid), 2)
    row = Flag.objects.get()
    assert (row.pair, row.annotator) == (first, open_assignment.annotator)
    assert (row.reason, row.comment) == ("unreadable", "what?")
    for body in [program.delete("flag", first).json() for _ in range(2)]:
        assert (body["pair"]["flag"], body["next"]["uuid"], body["left"]) == (None, str(first.uuid), 3)
    assert Flag.objects.get().withdrawn_at is not None


def test_too_late(program: Program, open_assignment: Assignment) -> None:
    for pair in pairs_in_order(open_assignment):
        program.grade(open_assignment, pair, 1)
    lapse(open_assignment)
    pair, before = pairs_in_order(open_assignment)[0], rows()
    answers = [program.grade(open_assignment, pair, 2), program.post("flag", pair, reason="broken")]
    answers.append(program.delete("flag", pair))
    answers += [program.post(name, open_assignment.project) for name in ("heartbeat", "finish")]
    assert [refusal(answer) for answer in answers] == [(409, "lease_lost")] * 5
    assert rows() == before


class TestFinishAndReturn:
    def test_finish(self, program: Program, open_assignment: Assignment) -> None:
        assert refusal(program.post("finish", open_assignment.project)) == (409, "assignment_incomplete")
        for pair in pairs_in_order(open_assignment):
            program.grade(open_assignment, pair, 1)
        answers = [program.post("finish", open_assignment.project).json() for _ in range(2)]
        assert answers == [{"finished": True}, {"finished": False}]
        assert Assignment.objects.get(pk=open_assignment.pk).state == "finished"
        assert program.get("assignment", open_assignment.project).status_code == 204

    def test_return(self, program: Program, open_assignment: Assignment) -> None:
        answers = [program.post("return", open_assignment.project).json() for _ in range(2)]
        assert answers == [{"returned": True}, {"returned": False}]
        assert Assignment.objects.get(pk=open_assignment.pk).state == "returned"


class TestOwnJudgments:
    def test_final_ones_newest_first(self, program: Program, open_assignment: Assignment) -> None:
        for grade, pair in enumerate(pairs_in_order(open_assignment)):
            program.grade(open_assignment, pair, grade, comment="so" if grade else "")
        assert program.get("judgments", open_assignment.project).json()["results"] == []
        program.post("finish", open_assignment.project)
        results = program.get("judgments", open_assignment.project).json()["results"]
        assert [(r["pair"], r["grade"], r["comment"]) for r in results] == [
            (str(pair.uuid), grade, "so" if grade else "")
            for grade, pair in reversed(list(enumerate(pairs_in_order(open_assignment))))
        ]
        assert {r["query"] for r in results} == {open_assignment.batch.query.text}
        assert program.client.get(results[0]["previews"]["gif"]).status_code == 200

    def test_mine_of_this_project_alone(self, open_assignment: Assignment) -> None:
        of_others = hold(BatchFactory(query__project=open_assignment.project))
        JudgmentFactory(assignment=of_others)
        Program(of_others.annotator).post("return", open_assignment.project)
        elsewhere = BatchFactory(pairs=1)
        MembershipFactory(project=elsewhere.project, user=open_assignment.annotator)
        judge(elsewhere, [2], open_assignment.annotator)
        program = Program(open_assignment.annotator)
        assert program.get("judgments", open_assignment.project).json()["results"] == []
        assert len(program.get("judgments", elsewhere.project).json()["results"]) == 1

    def test_page_by_page(self) -> None:
        assignment = hold(BatchFactory(pairs=120))
        for pair in pairs_in_order(assignment):
            JudgmentFactory(assignment=assignment, pair=pair)
        Assignment.objects.update(state="finished", ended_at=assignment.expires_at)
        with triggers_asleep():  # many at one time
            Judgment.objects.filter(pk__in=Judgment.objects.values("pk")[:60]).update(created_at=assignment.created_at)
        program = Program(assignment.annotator)
        pages = [program.get("judgments", assignment.project).json()]
        while pages[-1]["next"]:
            pages.append(program.client.get(pages[-1]["next"]).json())
        assert [len(page["results"]) for page in pages] == [50, 50, 20]
        assert len({r["pair"] for page in pages for r in page["results"]}) == 120

    @pytest.mark.parametrize("cursor", ["", "nothing", "cD1mb28=", "cD05OTk5LTEyLTMx", "ünknown", "a:b:c"])
    def test_a_cursor_that_was_not_given_out(self, program: Program, open_assignment: Assignment, cursor: str) -> None:
        assert refusal(program.get("judgments", open_assignment.project, cursor=cursor)) == (404, "unknown_cursor")


def test_previews_with_a_token(program: Program, open_assignment: Assignment) -> None:
    moment = pairs_in_order(open_assignment)[0].candidate.moment
    moment.preview_clip.save("clip.mp4", ContentFile(b"0123456789"))
    gif = program.get("preview-gif", moment.preview_uuid)
    assert (gif.status_code, gif.headers["Content-Type"]) == (200, "image/gif")
    whole = program.get("preview-mp4", moment.preview_uuid)
    assert b"".join(whole.streaming_content) == b"0123456789"  # type: ignore[attr-defined]
    part = program.client.get(url("preview-mp4", moment.preview_uuid), headers={"Range": "bytes=2-4"})
    assert part.status_code == 206
