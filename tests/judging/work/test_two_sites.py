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
from judging.models import Assignment, Batch, KnownPair, Sitting
from judging.work.services.assignments import assignment_finish
from judging.work.services.judgments import flag_set, judgment_submit
from tests.factories import GIF, BatchFactory, CaptionFactory, PairFactory, ProjectFactory
from tests.judging.api.acts import Program
from tests.judging.exams import cohort_exam, examinee
from tests.judging.play import pairs_of
from tests.judging.views.acts import HTMX, KEY, WAYS, hold, shown, url
from tests.judging.views.test_blindness import CLIP, said, walk_of_pair

pytestmark = pytest.mark.django_db
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?|\d+ (s|min|minutes)\b|\b\d\d:\d\d\b")
WORDS = re.compile(r'person-\d+|project \d+|A person looks for thing \d+|[Aa]nnotator \d+|"number":\d+|corpus \d+')
PAGES = ("desk", "pair-next", "last-look", "own-grades", "hours", "guideline", "guideline-versions", "gate")
ENTRANCES = ("projects", "assignment", "judgments")
Site = tuple[Assignment, Sitting]


def plain_site() -> Site:
    """Nobody else has been here; captions are short, similarities high."""
    batch = batch_of(ranks=(1, 2, 3, 4), similarity=0.9, words="A man walks.")
    return hold(batch), sitting_in(batch.project, truth=None)


def telling_site() -> Site:
    """Others graded everything and flagged one; captions tell; what similarity found first stands last."""
    batch = batch_of(ranks=(44, 43, 42, 41), similarity=0.1, words="Ross reads a letter aloud and " * 20)
    held, other = hold(batch), hold(batch, seat=2)
    for grade, pair in enumerate(shown(other)):
        judgment_submit(annotator=other.annotator, pair_uuid=pair.uuid, grade=grade, comment="telling")
    flag_set(annotator=other.annotator, pair_uuid=shown(other)[0].uuid, reason="offensive", comment="telling")
    assignment_finish(project=batch.project, annotator=other.annotator)
    return held, sitting_in(batch.project, truth=4)


def batch_of(*, ranks: tuple[int, ...], similarity: float, words: str) -> Batch:
    batch: Batch = BatchFactory(query__project=ProjectFactory(), pairs=0)
    for rank in ranks:
        pair = PairFactory(batch=batch, candidate__rank=rank, candidate__similarity=similarity - rank / 1000)
        CaptionFactory(moment=pair.candidate.moment, text=words)
        pair.candidate.moment.preview_clip.save("preview.mp4", ContentFile(CLIP))
    return batch


def sitting_in(project: Project, *, truth: int | None) -> Sitting:
    exam = cohort_exam(project)
    KnownPair.objects.filter(exam=exam).update(truth=truth)
    for known in exam.known_pairs.select_related("moment"):
        known.moment.preview.save("preview.gif", ContentFile(GIF))
    person = examinee(project)
    browser = Client()
    browser.force_login(person)
    browser.post(url("sitting-start", project), {"purpose": "exam"})
    return Sitting.objects.get(annotator=person)


def heard(site: Site) -> list[str]:
    held, sitting = site
    return [told(answer) for answer in (*of_judging(held), *of_programs(held), *of_exam(sitting))]


def told(answer: HttpResponse) -> str:
    text = UUIDS.sub(r"[uuid \1]", said(answer))  # the version of a UUID stays: a time in one would tell the order
    return TIMES.sub("", WORDS.sub("", text))


def of_judging(held: Assignment) -> list[HttpResponse]:
    browser = Client()
    browser.force_login(held.annotator)
    answers = [browser.get(url(name, held.project), headers=way) for name in PAGES for way in WAYS.values()]
    for pair in shown(held):
        answers += walk_of_pair(browser, held, pair)
    answers += [browser.get(url(name, held.project)) for name in PAGES]
    answers += [browser.get(path) for path in ("/", "/help/", "/account/", "/tokens/", "/nowhere/")]
    return answers


def of_programs(held: Assignment) -> list[HttpResponse]:
    program = Program(held.annotator)
    answers = [program.get("projects")]
    answers += [program.get(name, held.project) for name in ENTRANCES[1:]]
    for pair in shown(held):
        moment = pair.candidate.moment
        answers += [
            program.client.get(reverse(f"api:preview-{form}", args=[moment.preview_uuid])) for form in ("gif", "mp4")
        ]
        answers += [program.post("flag", pair, reason="broken"), program.delete("flag", pair)]
        answers += [program.grade(held, pair, 2), program.grade(held, pair, 9)]
    answers += [program.post(name, held.project) for name in ("heartbeat", "finish")]
    return [*answers, program.get("judgments", held.project)]


def of_exam(sitting: Sitting) -> list[HttpResponse]:
    browser = Client()
    browser.force_login(sitting.annotator)
    answers = [browser.get(url("sitting", sitting))]
    for known in (KnownPair.objects.get(pk=known_id) for known_id in sitting.known_ids):
        page = browser.get(url("known-pair", known))
        key = KEY.search(page.content.decode())
        form = {"key": key.group(1) if key else "", "grade": 3}
        preview = browser.get(reverse("judging:preview", args=[known.moment.preview_uuid]))
        answers += [page, preview, browser.post(url("known-grade", known), form, headers=HTMX)]
    answers += [browser.get(url("sitting-look", sitting)), browser.post(url("sitting-hand-in", sitting))]
    return [*answers, browser.get(url("sitting", sitting)), browser.get(url("desk", sitting.project))]


def test_nothing_an_annotator_reaches_differs() -> None:
    plain, telling = heard(plain_site()), heard(telling_site())
    assert len(plain) == len(telling) > 120
    for before, after in zip(plain, telling, strict=True):
        assert before == after


def test_what_differs_would_be_noticed() -> None:
    held, _ = plain_site()
    other, _ = telling_site()
    pairs = [pairs_of(one.batch)[0] for one in (held, other)]
    texts = [f"{pair.candidate.rank} {pair.candidate.similarity}" for pair in pairs]
    assert WORDS.sub("", texts[0]) != WORDS.sub("", texts[1])


def test_media_carries_no_date_and_no_tag() -> None:
    """Either would tell when a clip was cut, and clips are cut in the order of candidates."""
    held, _ = plain_site()
    browser, program = Client(), Program(held.annotator)
    browser.force_login(held.annotator)
    for pair in shown(held):
        preview = pair.candidate.moment.preview_uuid
        for name in ("judging:preview", "judging:preview-clip", "api:preview-gif", "api:preview-mp4"):
            asked = program.client if name.startswith("api") else browser
            answer = asked.get(reverse(name, args=[preview]))
            assert answer.status_code == 200
            assert not {"ETag", "Last-Modified", "Content-Disposition"} & set(answer.headers)


def test_names_of_media_are_random_and_of_no_time() -> None:
    """Neither their order nor anything in them follows the order in which moments were made or ranked."""
    batch_of(ranks=(1, 2, 3, 4), similarity=0.9, words="A man walks.")
    names = [moment.preview_uuid for moment in Moment.objects.order_by("pk")]
    assert {name.version for name in names} == {4}
    assert not set(names) & set(Moment.objects.values_list("uuid", flat=True))
