"""An annotator sees the query and the clip, and nothing that could tell what to expect or what others said."""

import re

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.http import FileResponse, HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Membership, User
from annotation.models import Moment
from judging.models import Assignment, Batch, Pair
from judging.work.services.judgments import flag_set, judgment_submit
from tests.factories import (
    GIF,
    AssignmentFactory,
    BatchFactory,
    CaptionFactory,
    MembershipFactory,
    MomentFactory,
    PairFactory,
    PoolingFactory,
    admin,
    annotator,
    lead,
)
from tests.judging.play import grade, judge_round, pairs_in_order, pairs_of
from tests.judging.views.acts import HTMX, end, form, hold, take, url

pytestmark = pytest.mark.django_db
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOKEN = re.compile(
    r"""(csrfmiddlewaretoken" value="|data-token="|x-csrftoken": "|csrftoken=|sessionid=|"""
    r"""X-Request-ID': '|request: <code>)\w+"""
)
CLIP = bytes(range(128, 228))  # nobody plays it
EXPIRY = re.compile(r"(expires=[^;]+|Max-Age=\d+)")
FIRST_ID = 8_000_000  # ids from here on cannot be mistaken for a place, a grade or a size
OTHERS_WORDS = "what somebody else wrote"


@pytest.fixture
def telling_ids() -> None:
    """Every row made from now on has an integer id that a page would betray."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(oid::regclass, greatest(nextval(oid::regclass), %s)) FROM pg_class WHERE relkind = 'S'",
            [FIRST_ID],
        )


@pytest.fixture
def batch(telling_ids: None) -> Batch:
    """Four pairs of one query, each with a caption and both forms of its preview."""
    new_batch = BatchFactory(pairs=4)
    for pair in pairs_of(new_batch):
        CaptionFactory(moment=pair.candidate.moment, text=f"Caption secret {pair.candidate.rank}")
    return with_clips(new_batch)


def with_clips(batch: Batch) -> Batch:
    for pair in pairs_of(batch):
        pair.candidate.moment.preview_clip.save("preview.mp4", ContentFile(CLIP))
    return batch


def secrets(batch: Batch) -> list[str]:
    """Whatever must not be said, as it would appear in a page."""
    words = [batch.project.name, OTHERS_WORDS, "Caption secret", "Ross reads letter", str(batch.uuid)]
    words.append(str(batch.query.uuid))
    for pair in pairs_of(batch):
        moment, candidate = pair.candidate.moment, pair.candidate
        words += [moment.video.name, str(moment.uuid), str(moment.video.uuid), str(candidate.similarity), "1.5", "4.25"]
        for name in (moment.preview.name, moment.preview_clip.name):
            words += [name, "previews/" + name.split("/")[-1].split(".")[0]]
    return words


def as_text(answer: HttpResponse | FileResponse) -> str:
    """Status, headers and body without what is random by design: UUIDs and tokens."""
    body = b"".join(answer.streaming_content) if isinstance(answer, FileResponse) else answer.content  # type: ignore[attr-defined]
    cookies = EXPIRY.sub("", str(answer.cookies))
    text = f"{answer.status_code}\n{answer.headers}\n{cookies}\n" + body.decode("latin-1")
    return TOKEN.sub("", text)


def walk_of_pair(client: Client, assignment: Assignment, pair: Pair) -> list[HttpResponse]:
    """Everything the site says of one pair, whichever way it is asked."""
    page, target = url("pair", pair), url("judgment-create", pair)
    answers = [
        client.get(url("pair-next", assignment.project)),
        client.get(reverse("judging:preview", args=[pair.candidate.moment.preview_uuid])),
        *(
            client.get(reverse("judging:preview-clip", args=[pair.candidate.moment.preview_uuid]), headers=part)
            for part in ({}, {"Range": "bytes=0-9"}, {"Range": "bytes=900-"})
        ),
        client.post(target, form(assignment, pair, 9), headers=HTMX),
        client.post(target, form(assignment, pair, 9)),
        client.post(url("flag-set", pair), {"reason": "none"}, headers=HTMX),
        client.post(url("flag-set", pair), {"reason": "broken"}, headers=HTMX),
        client.get(page),
        client.post(url("flag-withdraw", pair), headers=HTMX),
    ]
    before = form(assignment, pair, 3, comment="mine")
    answers += [
        client.post(target, before, headers=HTMX),
        client.post(target, before, headers=HTMX),
        client.post(target, {**before, "grade": 0}, headers=HTMX),
        client.post(target, {**before, "grade": 0}),
        client.get(page),
        client.get(page, headers=HTMX),
        client.post(url("heartbeat", assignment.project)),
    ]
    statuses = [*[200] * 3, 206, 416, *[422] * 3, *[200] * 5, *[409] * 2, 200, 200, 204]
    assert [answer.status_code for answer in answers] == statuses
    return answers


def walk(client: Client, assignment: Assignment) -> list[str]:
    """Everything the site says on the way through one assignment."""
    project = assignment.project
    answers = [client.get(url("desk", project)), client.get(url("desk", project), headers=HTMX)]
    for pair in pairs_in_order(assignment):
        answers += walk_of_pair(client, assignment, pair)
    answers += [client.get(url("last-look", project)), client.post(url("leave", project))]
    answers += [client.post(url("assignment-finish", project), {"more": "yes"}) for _ in range(2)]
    answers += [client.post(url("heartbeat", project)), client.post(url("assignment-return", project))]
    answers += [client.get(url(name, project)) for name in ("desk", "own-grades", "hours", "guideline")]
    return [as_text(answer) for answer in answers]


@pytest.mark.parametrize("round_number", [1, 2])
def test_no_response_reveals_anything(client: Client, batch: Batch, round_number: int) -> None:
    if round_number == 1:
        others_speak(hold(batch))
    else:
        judge_round(batch, [0, 1, 0, 1], [4, 1, 4, 1])
        others_speak(take(batch))
    assignment = take(batch)
    client.force_login(assignment.annotator)
    texts = walk(client, assignment)
    assert len(texts) == {1: 4 * 18 + 12, 2: 2 * 18 + 12}[round_number]
    for text in texts:
        assert [word for word in secrets(batch) if word in text] == []
        without_uuids = UUID.sub("", text)
        assert re.findall(r"\d{7,}", without_uuids) == []
        assert re.search(r"\b(rank|similarity|escalat|settled|round \d|lead)\b", without_uuids, re.IGNORECASE) is None


def others_speak(assignment: Assignment) -> None:
    """Somebody else grades with comments, and flags the last pair of theirs."""
    *pairs, last = pairs_in_order(assignment)
    for pair in pairs:
        judgment_submit(annotator=assignment.annotator, pair_uuid=pair.uuid, grade=1, comment=OTHERS_WORDS)
    flag_set(annotator=assignment.annotator, pair_uuid=last.uuid, reason="offensive", comment=OTHERS_WORDS)


def test_what_round_2_is_shown_is_what_round_1_is(client: Client, batch: Batch) -> None:
    """Apart from how many pairs there are, the two rounds cannot be told from each other."""
    other = with_clips(BatchFactory(query__project=batch.project, pairs=4))
    judge_round_on(other)
    heard = [as_heard(client, assignment) for assignment in (hold(batch), hold(other))]
    assert heard[0] == heard[1]


def test_a_pooled_batch_is_shown_as_any_other(client: Client, batch: Batch) -> None:
    """Moments that runs returned cannot be told from those that similarity found."""
    pooling = PoolingFactory(project=batch.project)
    other = BatchFactory(query__project=batch.project, number=3, pooling=pooling, pairs=0)
    for rank in range(41, 45):
        pooled = {"rank": rank, "source": "pooled", "pooling": pooling, "similarity": None}
        PairFactory(batch=other, **{f"candidate__{name}": value for name, value in pooled.items()})
    heard = [as_heard(client, assignment) for assignment in (hold(batch), hold(with_clips(other)))]
    assert heard[0] == heard[1]


def as_heard(client: Client, assignment: Assignment) -> list[str]:
    """Return the pages of an assignment, without names of its annotator and its query."""
    client.force_login(assignment.annotator)
    number = Membership.objects.get(user=assignment.annotator).number
    answers = [answer for pair in pairs_in_order(assignment) for answer in walk_of_pair(client, assignment, pair)]
    answers.append(client.get(url("last-look", assignment.project)))
    texts = [UUID.sub("", as_text(answer)) for answer in answers]
    return [text.replace(f"Annotator {number}<", "<").replace(assignment.batch.query.text, "") for text in texts]


def judge_round_on(batch: Batch) -> None:
    for slot, value in ((1, 0), (2, 4)):
        grade(AssignmentFactory(batch=batch, slot=slot), [value] * 4)
    Assignment.objects.filter(batch=batch).update(state="finished", ended_at=timezone.now())
    Pair.objects.filter(batch=batch).update(state="escalated")
    Batch.objects.filter(pk=batch.pk).update(round=2)
    batch.refresh_from_db()


def preview(person: User | None, moment: Moment, form: str = "preview", **headers: str) -> HttpResponse:
    client = Client()
    if person:
        client.force_login(person)
    return client.get(reverse(f"judging:{form}", args=[moment.preview_uuid]), headers=headers)


class TestPreview:
    def statuses(self, person: User, pairs: list[Pair]) -> list[int]:
        return [preview(person, pair.candidate.moment).status_code for pair in pairs]

    @pytest.mark.parametrize(
        ("form", "content", "kind"), [("preview", GIF, "image/gif"), ("preview-clip", CLIP, "video/mp4")]
    )
    def test_content(self, batch: Batch, form: str, content: bytes, kind: str) -> None:
        assignment = AssignmentFactory(batch=batch)
        answer = preview(assignment.annotator, pairs_of(batch)[0].candidate.moment, form)
        assert b"".join(answer.streaming_content) == content  # type: ignore[attr-defined]
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Cache-Control"].startswith("private,")
        assert "Content-Disposition" not in answer.headers

    @pytest.mark.parametrize(
        ("form", "headers"),
        [
            ("preview", {}),
            ("preview-clip", {}),
            ("preview-clip", {"Range": "bytes=0-1"}),
            ("preview-clip", {"Range": "bytes=100-"}),
        ],
    )
    def test_who_may_watch(self, batch: Batch, form: str, headers: dict[str, str]) -> None:
        assignment = AssignmentFactory(batch=batch)
        moment, project = pairs_of(batch)[0].candidate.moment, batch.project
        of_another_batch = AssignmentFactory(batch__query__project=project).annotator
        others = (annotator(project), of_another_batch, MembershipFactory(role="lead").user, MembershipFactory().user)
        assert [preview(person, moment, form, **headers).status_code for person in others] == [404] * 4
        assert preview(None, moment, form, **headers).status_code == 302
        people = (assignment.annotator, lead(project), admin(project))
        assert {preview(person, moment, form, **headers).status_code for person in people} <= {200, 206, 416}

    def test_round_2_sees_escalated_pairs_only_and_still_once_they_are_settled(self, batch: Batch) -> None:
        judge_round(batch, [0, 1, 0, 1], [4, 1, 4, 1])
        person = take(batch).annotator
        assert self.statuses(person, pairs_of(batch)) == [200, 404, 200, 404]
        Assignment.objects.filter(annotator=person).update(state="returned", ended_at=timezone.now())
        judge_round(batch, [4, 4], [4, 4])
        person = batch.assignments.filter(round=2, state="finished").first().annotator  # type: ignore[union-attr]
        assert self.statuses(person, pairs_of(batch)) == [200, 404, 200, 404]

    @pytest.mark.parametrize("state", ["lapsed", "returned"])
    def test_who_gave_a_batch_back_sees_what_they_graded(self, batch: Batch, state: str) -> None:
        assignment = hold(batch)
        first, *_ = pairs_in_order(assignment)
        judgment_submit(annotator=assignment.annotator, pair_uuid=first.uuid, grade=1)
        end(assignment, state)
        assert self.statuses(assignment.annotator, pairs_in_order(assignment)) == [200, 404, 404, 404]

    def test_what_is_not_cut_and_the_moments_own_uuid_open_nothing(self, batch: Batch) -> None:
        corpus, person = batch.project.dataset.corpus, lead(batch.project)
        assert preview(person, MomentFactory(video__corpus=corpus, uncut=True)).status_code == 404
        without_clip = MomentFactory(video__corpus=corpus)
        statuses = [preview(person, without_clip, form).status_code for form in ("preview", "preview-clip")]
        assert statuses == [200, 404]
        moment = pairs_of(batch)[0].candidate.moment
        moment.preview_uuid = moment.uuid
        assert preview(person, moment).status_code == 404


def test_a_part_of_a_clip(batch: Batch) -> None:
    """Which bytes a range asks for: tests/core/test_media_ranges.py."""
    person, moment = lead(batch.project), pairs_of(batch)[0].candidate.moment
    for byte_range, part, as_text in (
        ("bytes=0-1", CLIP[:2], "bytes 0-1/100"),
        ("bytes=90-500", CLIP[90:], "bytes 90-99/100"),
    ):
        answer = preview(person, moment, "preview-clip", Range=byte_range)
        assert (answer.status_code, answer.content) == (206, part)
        assert (answer.headers["Content-Range"], answer.headers["Content-Length"]) == (as_text, str(len(part)))
        assert (answer.headers["Content-Type"], answer.headers["Accept-Ranges"]) == ("video/mp4", "bytes")
        assert answer.headers["Cache-Control"].startswith("private,")
    answer = preview(person, moment, "preview-clip", Range="bytes=100-")
    assert (answer.status_code, answer.content) == (416, b"")
    assert (answer.headers["Content-Range"], answer.headers["Cache-Control"]) == ("bytes */100", "no-store")
    for headers in ({"Range": "bytes=0-1,5-6"}, {"Range": "bytes=0-1", "If-Range": '"v1"'}):
        answer = preview(person, moment, "preview-clip", **headers)
        assert (answer.status_code, b"".join(answer.streaming_content)) == (200, CLIP)  # type: ignore[attr-defined]
        assert (answer.headers["Accept-Ranges"], answer.headers["Content-Length"]) == ("bytes", "100")
    client = Client()
    client.force_login(person)
    address = reverse("judging:preview-clip", args=[moment.preview_uuid])
    answer = client.head(address, headers={"Range": "bytes=0-1"})
    assert (answer.status_code, answer.headers["Content-Length"]) == (200, "100")
