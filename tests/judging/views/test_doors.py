"""Every page of every app: who gets in, and what the others are told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from annotation.models import Membership, NamedQuerySet, Project, User
from judging.models import Assignment, Batch, Release
from judging.rules.keys import form_key
from models_runner.models import Run
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    JudgmentFactory,
    MembershipFactory,
    PairFactory,
    ProjectFactory,
    UserFactory,
    admin,
    lead,
)

pytestmark = pytest.mark.django_db
Door = tuple[str, str, frozenset[str], str]
ANNOTATOR, LEAD, STAFF = frozenset({"annotator"}), frozenset({"lead"}), frozenset({"lead", "admin"})
EVERYONE = STAFF | ANNOTATOR
DOORS: list[Door] = [  # name, what the URL names, for whom, method
    ("annotation:corpus", "project", STAFF, "get"),
    ("judging:desk", "project", ANNOTATOR, "get"),
    ("judging:assignment-take", "project", ANNOTATOR, "post"),
    ("judging:pair-next", "project", ANNOTATOR, "get"),
    ("judging:last-look", "project", ANNOTATOR, "get"),
    ("judging:assignment-finish", "project", ANNOTATOR, "post"),
    ("judging:assignment-return", "project", ANNOTATOR, "post"),
    ("judging:heartbeat", "project", ANNOTATOR, "post"),
    ("judging:leave", "project", ANNOTATOR, "post"),
    ("judging:own-grades", "project", ANNOTATOR, "get"),
    ("judging:guideline", "project", EVERYONE, "get"),
    ("judging:overview", "project", STAFF, "get"),
    ("judging:review-queue", "project", STAFF, "get"),
    ("judging:queries", "project", STAFF, "get"),
    ("judging:batches-open", "project", STAFF, "post"),
    ("judging:query-sets", "project", STAFF, "get"),
    ("judging:query-set-create", "project", LEAD, "post"),
    ("judging:query-set", "set", STAFF, "get"),
    ("judging:query-set-change", "set", LEAD, "post"),
    ("judging:flags", "project", STAFF, "get"),
    ("judging:order", "project", STAFF, "get"),
    ("judging:pair-batch", "pair", STAFF, "get"),
    ("judging:pair-withdraw", "pair", LEAD, "post"),
    ("judging:pair-restore", "withdrawn", LEAD, "post"),
    ("judging:batch", "batch", STAFF, "get"),
    ("judging:batch-review", "batch", LEAD, "post"),
    ("judging:releases", "project", STAFF, "get"),
    ("judging:release-create", "project", STAFF, "post"),
    ("judging:release-download", "release", STAFF, "get"),
    ("judging:audit", "project", STAFF, "get"),
    ("judging:pay", "project", LEAD, "get"),
    ("judging:pay-csv", "project", LEAD, "get"),
    ("judging:pay-rate-set", "project", LEAD, "post"),
    ("judging:hours-correct", "project", LEAD, "post"),
    ("judging:pay-person", "project", LEAD, "get"),
    ("judging:pay-person-csv", "project", LEAD, "get"),
    ("judging:forecast", "project", LEAD, "get"),
    ("judging:hours", "project", ANNOTATOR, "get"),
    ("judging:hours-csv", "project", ANNOTATOR, "get"),
    ("models_runner:runs", "project", STAFF, "get"),
    ("models_runner:run-create", "project", STAFF, "post"),
    ("models_runner:run-download", "run", STAFF, "get"),
]
HELD: list[Door] = [  # only who holds the pair's assignment learns that it exists
    ("judging:pair", "pair", ANNOTATOR, "get"),
    ("judging:judgment-create", "pair", ANNOTATOR, "post"),
    ("judging:flag-set", "pair", ANNOTATOR, "post"),
    ("judging:flag-withdraw", "pair", ANNOTATOR, "post"),
]
OPEN = {"home", "login", "logout", "help", "healthz", "judging:preview", "judging:preview-clip"}  # tried elsewhere
OPEN |= {"tokens", "token-revoke", "api-schema", "api-docs"}


@dataclass
class World:
    """One project with everything a URL can name, and one person for each way of standing to it."""

    project: Project = field(default_factory=ProjectFactory)

    def __post_init__(self) -> None:
        self.batch: Batch = BatchFactory(query__project=self.project)
        self.assignment: Assignment = AssignmentFactory(
            batch=self.batch, expires_at=timezone.now() + timedelta(minutes=20)
        )
        for pair in self.batch.pairs.all():
            JudgmentFactory(assignment=self.assignment, pair=pair)
        done = BatchFactory(query__project=self.project, state="done")
        self.pair = self.batch.pairs.first()
        self.set = NamedQuerySet.objects.create(project=self.project, name="a set")
        self.withdrawn = PairFactory(batch=self.batch, candidate__rank=9, state="withdrawn", reason="withdrawn_by_lead")
        self.release = Release.objects.create(project=self.project, version=1)
        self.release.archive.save("release-1.zip", ContentFile(b"zip"), save=False)
        self.release.state, self.release.manifest = "ready", {"counts": {"pairs": {}}}
        self.release.save()
        self.run = Run.objects.create(project=self.project, release=self.release, system="similarity", split="val")
        self.run.file.save("run.json", ContentFile(b"[]"), save=False)
        self.run.state = "scored"
        self.run.save()
        self.people: dict[str, User] = {
            "annotator": self.assignment.annotator,
            "lead": lead(self.project),
            "admin": admin(self.project),
        }
        self.done = done
        self.number = self.people["annotator"].memberships.get(project=self.project).number
        self.after = {name: [self.number] for name in ("judging:pay-person", "judging:pay-person-csv")}

    def url(self, door: Door, *, unknown: bool = False) -> str:
        name, what, *_ = door
        row = self.done if name == "judging:batch-review" else getattr(self, what)
        return reverse(name, args=[uuid4() if unknown else row.uuid, *self.after.get(name, [])])

    def knock(self, door: Door, person: User | None, *, unknown: bool = False) -> HttpResponse:
        client = Client()
        if person is not None:
            client.force_login(person)
        call: Callable[..., HttpResponse] = getattr(client, door[3])
        return call(self.url(door, unknown=unknown), self.form() if door[3] == "post" else {})

    def form(self) -> dict[str, object]:
        """What any of the doors takes."""
        key = form_key(assignment=self.assignment.uuid, pair=self.pair.uuid, given=1)
        money = {"annotator": self.number, "rate": "15.00", "currency": "SGD", "from_day": "2026-03-01"}
        hours = {"day": "2026-03-01", "minutes": "5"}
        said = {"decision": "close", "reason": "broken", "name": "new", "split": ""}
        return {"key": key, "grade": 3, **said, **money, **hours}


@pytest.fixture
def world() -> World:
    return World()


def names(doors: list[Door]) -> list[str]:
    return [door[0] for door in doors]


@pytest.mark.parametrize("door", DOORS + HELD, ids=names(DOORS + HELD))
def test_door(door: Door, world: World) -> None:
    for role, person in world.people.items():
        answer = world.knock(door, person)
        if role in door[2]:
            assert answer.status_code in (200, 204, 302), role
            assert "/login/" not in answer.headers.get("Location", "")
        else:
            assert answer.status_code == (404 if door in HELD else 403), role


@pytest.mark.parametrize("door", DOORS + HELD, ids=names(DOORS + HELD))
def test_strangers_learn_nothing(door: Door, world: World) -> None:
    """Whoever has a role elsewhere, whatever it is, gets the same answer for what exists and what does not."""
    for role in Membership.Role:
        stranger = MembershipFactory(role=role).user
        answers = [world.knock(door, stranger), world.knock(door, stranger, unknown=True)]
        assert [answer.status_code for answer in answers] == [404, 404]


@pytest.mark.parametrize("door", DOORS + HELD, ids=names(DOORS + HELD))
def test_anonymous_people_are_asked_to_log_in(door: Door, world: World) -> None:
    for unknown in (False, True):
        answer = world.knock(door, None, unknown=unknown)
        assert (answer.status_code, answer.headers["Location"]) == (
            302,
            f"{reverse('login')}?next={answer.wsgi_request.path}",  # type: ignore[attr-defined]
        )


@pytest.mark.parametrize("door", DOORS + HELD, ids=names(DOORS + HELD))
def test_unknown_uuid(door: Door, world: World) -> None:
    for person in world.people.values():
        assert world.knock(door, person, unknown=True).status_code == 404


@pytest.mark.parametrize("door", [door for door in DOORS + HELD if door[3] == "post"], ids=lambda door: door[0])
def test_writing_takes_a_post_with_its_token(door: Door, world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["annotator" if "annotator" in door[2] else "lead"])
    assert client.get(world.url(door)).status_code == 302  # back to the page, as after logging in again
    assert client.post(world.url(door), world.form()).status_code == 403


def test_every_route_is_tried() -> None:
    found = set()
    for prefix, (_, resolver) in get_resolver().namespace_dict.items():
        if prefix == "api":
            continue  # tests/judging/api
        found |= {f"{prefix}:{name}" for name in resolver.reverse_dict if isinstance(name, str)}
    found |= {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert found == set(names(DOORS + HELD)) | OPEN


def test_who_lost_the_role_keeps_no_way_in(world: World) -> None:
    """A pair's holder who became a lead is refused: who sees others' grades does not judge."""
    person = world.people["annotator"]
    Membership.objects.filter(user=person).update(role="lead", number=None, standing="")
    assert [world.knock(door, person).status_code for door in HELD] == [403] * len(HELD)


def test_release_and_run_that_are_not_ready(world: World) -> None:
    Release.objects.update(state="preparing")
    Run.objects.update(state="running")
    for name in ("judging:release-download", "models_runner:run-download"):
        door = next(door for door in DOORS if door[0] == name)
        assert world.knock(door, world.people["lead"]).status_code == 404


class TestOpenPages:
    def test_home_leads_to_the_first_page_of_the_only_role(self, world: World, client: Client) -> None:
        for role, page in (("annotator", "judging:desk"), ("lead", "judging:overview"), ("admin", "judging:overview")):
            client.force_login(world.people[role])
            assert client.get("/").headers["Location"] == reverse(page, args=[world.project.uuid])

    def test_home_lists_several_projects(self, world: World, client: Client) -> None:
        person = world.people["lead"]
        other = MembershipFactory(user=person).project
        client.force_login(person)
        page = client.get("/").content.decode()
        assert world.project.name in page
        assert other.name in page

    def test_home_of_nobody_and_of_somebody_without_project(self, client: Client) -> None:
        assert client.get("/").headers["Location"] == f"{reverse('login')}?next=/"
        client.force_login(UserFactory())
        assert "No project yet" in client.get("/").content.decode()

    def test_help_and_health(self, client: Client) -> None:
        assert client.get(reverse("help")).status_code == 200
        assert client.get(reverse("healthz")).content == b"ok\n"

    def test_login(self, client: Client) -> None:
        User.objects.create_user("somebody", "a long password")
        wrong = client.post(reverse("login"), {"username": "somebody", "password": "no"})
        assert wrong.status_code == 200
        right = client.post(reverse("login"), {"username": "somebody", "password": "a long password"})
        assert right.headers["Location"] == "/"
        assert client.post(reverse("logout")).headers["Location"] == reverse("login")

    def test_nobody_logs_in_without_a_password_or_when_inactive(self, client: Client) -> None:
        User.objects.create_user("historic-1")
        User.objects.create_user("gone", "a long password")
        User.objects.filter(username="gone").update(is_active=False)
        for username, password in (("historic-1", ""), ("historic-1", "!"), ("gone", "a long password")):
            assert client.post(reverse("login"), {"username": username, "password": password}).status_code == 200
            assert "_auth_user_id" not in client.session

    def test_security_headers(self, client: Client) -> None:
        headers = client.get(reverse("login")).headers
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "media-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
