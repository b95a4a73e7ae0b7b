"""Pages of writers and leads: what is shown to whom, what is refused, and what a submission costs."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation.models import Subtitle
from judging.collection import services
from judging.models import ClipAssignment, WritingRound, WrittenQuery
from tests.factories import (
    NOW,
    MembershipFactory,
    ProjectFactory,
    WritingClipFactory,
    WritingRoundFactory,
    WrittenQueryFactory,
    lead,
    writer,
)
from tests.judging.views.acts import HTMX

pytestmark = pytest.mark.django_db
STATEMENTS = 32  # of a submission: the query, its counts, and the next clip with its subtitles and shots
ENTRY = {"text": "A man opens the door of a red car.", "type": "v", "start_s": "1.5", "end_s": "4.25"}


def at_work(n: int = 3, **rules: Any) -> tuple[WritingRound, User, Client]:
    row = WritingRoundFactory(**rules)
    WritingClipFactory.create_batch(n, round=row)
    person, client = writer(row.project), Client()
    client.force_login(person)
    return row, person, client


def take(row: WritingRound, person: User) -> ClipAssignment:
    assignment = services.clip_take(round=row, writer=person)
    assert assignment is not None
    return assignment


def submit(client: Client, assignment: ClipAssignment, **changes: str) -> Any:
    form = {**ENTRY, "key": uuid4(), **changes}
    return client.post(reverse("judging:query-submit", args=[assignment.uuid]), form, headers=HTMX)


def test_a_submission_costs_the_same_whatever_there_is() -> None:
    counts = []
    for n, lines in ((2, 0), (30, 40)):
        row, person, client = at_work(n)
        for _ in range(n - 2):
            WrittenQueryFactory(assignment__clip=WritingClipFactory(round=row))
        for clip in row.clips.all():
            Subtitle.objects.bulk_create(
                Subtitle(video=clip.video, start_s=at, end_s=at + 1, text=f"Line {at}") for at in range(lines)
            )
        assignment = take(row, person)
        client.get(reverse("judging:mark", args=[row.project.uuid]))
        with CaptureQueriesContext(connection) as capture:
            answer = submit(client, assignment)
        assert answer.status_code == 200 and b'id="mark-form"' in answer.content
        counts.append(len(capture))
    assert counts == [STATEMENTS] * 2


def test_what_is_refused_says_why_and_changes_nothing() -> None:
    row, person, client = at_work()
    assignment = take(row, person)
    for changes, words in (
        ({"text": "x " * 5000}, "at most 500 are taken"),
        ({"start_s": "4.25"}, "must end after its start"),
        ({"end_s": "inf"}, "Give seconds as a number"),
        ({"type": "tv"}, "Choose what the query is about"),
        ({"key": "1"}, "Load the page again"),
        ({"type": "t"}, "has no subtitles"),
    ):
        answer = submit(client, assignment, **changes)
        assert (answer.status_code, answer.headers["HX-Retarget"]) == (422, "#problems")
        assert words in answer.content.decode()
    assert not WrittenQuery.objects.exists()
    services.clip_return(assignment=assignment.uuid, writer=person)
    answer = submit(client, assignment)
    assert answer.status_code == 409 and "Go to your desk" in answer.content.decode()


def test_without_scripts_a_form_comes_back_with_what_was_entered() -> None:
    row, person, client = at_work()
    address = reverse("judging:query-submit", args=[take(row, person).uuid])
    page = client.post(address, {**ENTRY, "key": uuid4(), "text": "Too short."})
    assert page.status_code == 422 and "Too short.</textarea>" in page.content.decode()
    assert client.post(address, {**ENTRY, "key": uuid4()}).headers["Location"] == reverse(
        "judging:mark", args=[row.project.uuid]
    )


def test_what_was_sent_back_is_written_anew_when_no_other_clip_is_left() -> None:
    row, person, client = at_work()
    assignment = take(row, person)
    submit(client, assignment)
    ClipAssignment.objects.exclude(pk=assignment.pk).update(state="returned", ended_at=NOW)
    about = {"state": "sent_back", "n_sent_back": 1, "ended_at": NOW, "expires_at": timezone.now() + timedelta(days=7)}
    ClipAssignment.objects.filter(pk=assignment.pk).update(**about)
    row.clips.exclude(pk=assignment.clip_id).update(state="exhausted")
    desk = client.get(reverse("judging:writing-desk", args=[row.project.uuid])).content.decode()
    assert "What was sent back waits for you." in desk
    answer = client.post(reverse("judging:clip-take", args=[row.project.uuid]), {"round": row.uuid})
    assert answer.headers["Location"] == reverse("judging:mark", args=[row.project.uuid])


def test_writers_see_their_own_work_alone() -> None:
    row, _, client = at_work()
    WrittenQueryFactory(assignment__clip=row.clips.first(), text="A query of somebody else.")
    desk = client.get(reverse("judging:writing-desk", args=[row.project.uuid])).content.decode()
    assert "You have written none yet." in desk and "somebody else" not in desk
    reader = Client()
    reader.force_login(MembershipFactory(project=row.project, role="checker").user)
    page = reader.get(reverse("judging:written-queries", args=[row.project.uuid])).content.decode()
    assert "A query of somebody else." in page
    assert "writer 2" in page and WrittenQuery.objects.get().writer.username not in page


def test_a_lead_opens_a_round_pauses_it_and_chooses_who_takes_part() -> None:
    project = ProjectFactory()
    WritingClipFactory(round__project=project)
    person, client = writer(project), Client()
    client.force_login(lead(project))
    form = {"name": "textual", "kind": "visual", "share_v": 75, "share_t": 0, "share_vt": 16, "queries_per_clip": 5}
    form |= {"queries_per_visit": 6, "least_tokens": 8, "most_overlap": 0.8}
    address = reverse("judging:writing-round-create", args=[project.uuid])
    refusal = client.post(address, form)
    assert refusal.status_code == 422 and "more queries than the clip gets" in refusal.content.decode()
    page = client.post(address, {**form, "queries_per_visit": 2, "members": [str(person.uuid)]}, follow=True)
    row = project.writing_rounds.get(name="textual")
    assert "The round &#x27;textual&#x27; is open." in page.content.decode()
    assert (row.types, row.members.get().writer) == (("v", "vt"), person)
    client.post(reverse("judging:writing-round-change", args=[row.uuid]), {"change": "pause"})
    row.refresh_from_db()
    assert row.state == "paused"
