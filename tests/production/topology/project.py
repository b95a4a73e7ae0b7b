"""A small project on the running site, its people with passwords, and how they judge through nginx."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import requests
from django.urls import reverse

from accounts.models import Project, User
from benchmarks.annotator import FINISH, GO_ON, GRADE, KEY, TAKE
from judging.models import Batch, Pair
from judging.work.services.batches import batch_create
from tests import factories
from tests.production.topology.person import Person
from tests.production.topology.site import Site

PASSWORD = "only-for-these-tests"
GradeOf = Callable[[Pair], int]


@dataclass
class Scenario:
    """One project; ``lead`` and ``annotators`` log in with ``PASSWORD``."""

    project: Project
    lead: User
    annotators: list[User]

    @classmethod
    def make(cls, *, annotators: int = 2) -> "Scenario":
        project = factories.ProjectFactory()
        people = [factories.annotator(project) for _ in range(annotators)]
        scenario = cls(project, factories.lead(project), people)
        for user in [scenario.lead, *people]:
            user.username = f"{user.username}-{project.uuid}"[:60]  # the rows of earlier runs stay
            user.set_password(PASSWORD)
            user.save()
        return scenario

    def batch(self, pairs: int = 3, *, split: str = "val") -> Batch:
        """The first batch of a new query."""
        query = factories.QueryFactory(project=self.project, split=split)
        for rank in range(1, pairs + 1):
            moment = factories.MomentFactory(video__corpus=self.project.dataset.corpus)
            factories.CandidateFactory(query=query, rank=rank, moment=moment)
            factories.CaptionFactory(moment=moment)
        new_batch = batch_create(query=query, number=1)
        assert new_batch is not None
        return new_batch

    def person(self, site: Site, user: User) -> Person:
        return site.person(user.username, PASSWORD)

    def path(self, name: str) -> str:
        return reverse(f"judging:{name}", args=[self.project.uuid])


def always(grade: int) -> GradeOf:
    return lambda pair: grade


def judge_all(person: Person, scenario: Scenario, grade_of: GradeOf) -> int:
    """Take what is due, grade all of it, finish; returns how many pairs were graded."""
    graded, page = 0, take(person, scenario)
    while match := GRADE.search(page):
        page = give(person, page, grade_of(Pair.objects.get(uuid=UUID(match[2])))).text
        graded += 1
    finish(person, page)
    return graded


def take(person: Person, scenario: Scenario) -> str:
    """A batch is in this person's hands; the page of its first open pair."""
    desk = _fine(person.get(scenario.path("desk"))).text
    if match := GO_ON.search(desk):
        return _fine(person.get(match[1])).text
    match = TAKE.search(desk)
    assert match is not None, "the desk offers no batch"
    return _fine(person.post(match[1])).text


def give(person: Person, page: str, grade: int) -> requests.Response:
    """Press a grade on the page of a pair; the answer holds what comes next."""
    return _fine(person.post(*grade_form(page, grade)))


def grade_form(page: str, grade: int) -> tuple[str, dict[str, str]]:
    """Return where the grade of the pair on the page is sent, and the fields of the form."""
    form, key = GRADE.search(page), KEY.search(page)
    assert form is not None and key is not None, page[:500]
    return form[1], {"grade": str(grade), "key": html.unescape(key[1])}


def finish(person: Person, page: str) -> requests.Response:
    match = FINISH.search(page)
    assert match is not None, page[:500]
    return _fine(person.post(match[1]))


def _fine(answer: requests.Response) -> requests.Response:
    assert answer.status_code == 200, f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text[:500]}"
    return answer
