"""Two sites that differ in all that an annotator must not learn, and in nothing that they are shown.

Captions, similarities, ranks, others' grades and flags, and the truth of exams differ; whatever an annotator reaches by
pages, headers, API and media is the same to the byte, names made at random and times apart.
"""

import re

import pytest
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Moment
from judging.models import Assignment, Batch, ExamAttempt, KnownPair
from judging.work.services.assignments import assignment_finish
from judging.work.services.judgments import flag_set, judgment_submit
from tests.factories import GIF, BatchFactory, CaptionFactory, PairFactory, ProjectFactory
from tests.judging.api.acts import Program
from tests.judging.exams import cohort_exam, examinee
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import HEADERS, HTMX, KEY, hold, url
from tests.judging.views.test_blindness import CLIP, as_text, walk_of_pair

pytestmark = pytest.mark.django_db
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?|\d+ (s|min|minutes)\b|\b\d\d:\d\d\b")
WORDS = re.compile(r'person-\d+|project \d+|A person looks for thing \d+|[Aa]nnotator \d+|"number":\d+|corpus \d+')
PAGES = ("desk", "pair-next", "last-look", "own-grades", "hours", "guideline", "guideline-versions", "screening")
ENTRANCES = ("projects", "assignment", "judgments")
Site = tuple[Assignment, ExamAttempt]


def plain_site() -> Site:
    """Nobody else has been here; captions are short, similarities high."""
    batch = batch_of(ranks=(1, 2, 3, 4), similarity=0.9, words="A man walks.")
    return hold(batch), begin_attempt(batch.project, truth=None)


def telling_site() -> Site:
    """Others graded everything and flagged one; captions tell; what similarity found first stands last."""
    batch = batch_of(ranks=(44, 43, 42, 41), similarity=0.1, words="Ross reads a letter aloud and " * 20)
    assignment, other = hold(batch), hold(batch, slot=2)
    for grade, pair in enumerate(pairs_in_order(other)):
        judgment_submit(annotator=other.annotator, pair_uuid=pair.uuid, grade=grade, comment="telling")
    flag_set(annotator=other.annotator, pair_uuid=pairs_in_order(other)[0].uuid, reason="offensive", comment="telling")
    assignment_finish(project=batch.project, annotator=other.annotator)
    return assignment, begin_attempt(batch.project, truth=4)


def batch_of(*, ranks: tuple[int, ...], similarity: float, words: str) -> Batch:
    batch: Batch = BatchFactory(query__project=ProjectFactory(), pairs=0)
    for rank in ranks:
        pair = PairFactory(batch=batch, candidate__rank=rank, candidate__similarity=similarity - rank / 1000)
        CaptionFactory(moment=pair.candidate.moment, text=words)
        pair.candidate.moment.preview_clip.save("preview.mp4", ContentFile(CLIP))
    return batch


def begin_attempt(project: Project, *, truth: int | None) -> ExamAttempt:
    exam = cohort_exam(project)
    KnownPair.objects.filter(exam=exam).update(truth=truth)
    for known_pair in exam.known_pairs.select_related("moment"):
        known_pair.moment.preview.save("preview.gif", ContentFile(GIF))
    person = examinee(project)
    browser = Client()
    browser.force_login(person)
    browser.post(url("attempt-start", project), {"purpose": "exam"})
    return ExamAttempt.objects.get(annotator=person)


def heard(site: Site) -> list[str]:
    assignment, attempt = site
    return [
        comparable_text(answer) for answer in (*of_judging(assignment), *of_programs(assignment), *of_exam(attempt))
    ]


def comparable_text(answer: HttpResponse) -> str:
    text = UUIDS.sub(r"[uuid \1]", as_text(answer))  # the version of a UUID stays: a time in one would tell the order
    return TIMES.sub("", WORDS.sub("", text))


def of_judging(assignment: Assignment) -> list[HttpResponse]:
    browser = Client()
    browser.force_login(assignment.annotator)
    answers = [
        browser.get(url(name, assignment.project), headers=headers) for name in PAGES for headers in HEADERS.values()
    ]
    for pair in pairs_in_order(assignment):
        answers += walk_of_pair(browser, assignment, pair)
    answers += [browser.get(url(name, assignment.project)) for name in PAGES]
    answers += [browser.get(path) for path in ("/", "/help/", "/account/", "/tokens/", "/nowhere/")]
    return answers


def of_programs(assignment: Assignment) -> list[HttpResponse]:
    program = Program(assignment.annotator)
    answers = [program.get("projects")]
    answers += [program.get(name, assignment.project) for name in ENTRANCES[1:]]
    for pair in pairs_in_order(assignment):
        moment = pair.candidate.moment
        answers += [
            program.client.get(reverse(f"api:preview-{form}", args=[moment.preview_uuid])) for form in ("gif", "mp4")
        ]
        answers += [program.post("flag", pair, reason="broken"), program.delete("flag", pair)]
        answers += [program.grade(assignment, pair, 2), program.grade(assignment, pair, 9)]
    answers += [program.post(name, assignment.project) for name in ("heartbeat", "finish")]
    return [*answers, program.get("judgments", assignment.project)]


def of_exam(attempt: ExamAttempt) -> list[HttpResponse]:
    browser = Client()
    browser.force_login(attempt.annotator)
    answers = [browser.get(url("attempt", attempt))]
    for known_pair in (KnownPair.objects.get(pk=known_id) for known_id in attempt.known_ids):
        page = browser.get(url("known-pair", known_pair))
        key = KEY.search(page.content.decode())
        form = {"key": key.group(1) if key else "", "grade": 3}
        preview = browser.get(reverse("judging:preview", args=[known_pair.moment.preview_uuid]))
        answers += [page, preview, browser.post(url("known-grade", known_pair), form, headers=HTMX)]
    answers += [browser.get(url("attempt-look", attempt)), browser.post(url("attempt-hand-in", attempt))]
    return [*answers, browser.get(url("attempt", attempt)), browser.get(url("desk", attempt.project))]


def test_nothing_an_annotator_reaches_differs() -> None:
    plain, telling = heard(plain_site()), heard(telling_site())
    assert len(plain) == len(telling) > 120
    for before, after in zip(plain, telling, strict=True):
        assert before == after


def test_media_carries_no_date_and_no_tag() -> None:
    """Either would tell when a clip was cut, and clips are cut in the order of candidates."""
    assignment, _ = plain_site()
    browser, program = Client(), Program(assignment.annotator)
    browser.force_login(assignment.annotator)
    for pair in pairs_in_order(assignment):
        preview = pair.candidate.moment.preview_uuid
        for name in ("judging:preview", "judging:preview-clip", "api:preview-gif", "api:preview-mp4"):
            client = program.client if name.startswith("api") else browser
            answer = client.get(reverse(name, args=[preview]))
            assert answer.status_code == 200
            assert not {"ETag", "Last-Modified", "Content-Disposition"} & set(answer.headers)


def test_names_of_media_are_random_and_of_no_time() -> None:
    """Neither their order nor anything in them follows the order in which moments were made or ranked."""
    batch_of(ranks=(1, 2, 3, 4), similarity=0.9, words="A man walks.")
    names = [moment.preview_uuid for moment in Moment.objects.order_by("pk")]
    assert {name.version for name in names} == {4}
    assert not set(names) & set(Moment.objects.values_list("uuid", flat=True))
