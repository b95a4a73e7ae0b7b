"""Every endpoint: who gets in, what the others are told, and how one says who one is."""

import json
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver
from rest_framework.views import APIView

from accounts.models import Membership, Project, User
from annotation.models import NamedQuerySet
from core.models import Job
from judging.checking.services import Verdict, query_check
from judging.models import Pair, Release
from tests.factories import (
    BatchFactory,
    CaptionFactory,
    ClipAssignmentFactory,
    DescriptionFactory,
    MembershipFactory,
    ProjectFactory,
    UserFactory,
    VerificationPairFactory,
    VerificationStudyFactory,
    WritingClipFactory,
    query_waiting,
)
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.views.acts import hold, key, rows
from tests.judging.views.endpoints.owned import TRIED

pytestmark = pytest.mark.django_db
ANNOTATOR, LEAD, STAFF = frozenset({"annotator"}), frozenset({"lead"}), frozenset({"lead", "admin"})
ADMIN, WRITER = frozenset({"admin"}), frozenset({"writer"})
RUNNERS, CHECKER, READERS = STAFF | {"participant"}, frozenset({"checker"}), STAFF | {"checker"}
WRONG = Verdict("reject", 1.5, 4.25, "wrong")
Endpoint = tuple[str, str, str, frozenset[str], dict[str, Any]]
ENTRY = {"key": str(uuid4()), "text": "A man in a blue coat opens the door.", "type": "v", "start_s": 1.5, "end_s": 4}
ENDPOINTS: list[Endpoint] = [  # method, name, what the URL names, for whom, what is sent
    ("get", "assignment", "project", ANNOTATOR, {}),
    ("post", "assignment", "project", ANNOTATOR, {}),
    ("post", "heartbeat", "project", ANNOTATOR, {}),
    ("post", "return", "project", ANNOTATOR, {}),
    ("get", "judgments", "project", ANNOTATOR, {}),
    ("get", "progress", "project", STAFF, {}),
    ("get", "batches", "project", STAFF, {}),
    ("get", "query-sets", "project", STAFF, {}),
    ("get", "train-sets", "project", STAFF, {}),
    ("get", "releases", "project", STAFF, {}),
    ("get", "query-set", "query_set", STAFF, {}),
    ("get", "runs", "project", RUNNERS, {}),
    ("get", "features", "project", ADMIN, {}),
    ("get", "leaderboard", "released", RUNNERS, {}),
    ("get", "experiments", "project", STAFF, {}),
    ("get", "settings-searches", "project", STAFF, {}),
    ("get", "project", "project", STAFF, {}),
    ("get", "jobs", "project", STAFF, {}),
    ("get", "job", "job", STAFF, {}),
    ("get", "policy", "project", STAFF, {}),
    ("get", "captions", "project", STAFF, {}),
    ("get", "pools", "project", STAFF, {}),
    ("get", "video-uploads", "project", STAFF, {}),
    ("get", "shots", "project", STAFF, {}),
    ("get", "proposals", "project", STAFF, {}),
    ("get", "writing-rounds", "project", STAFF, {}),
    ("post", "writing-rounds", "filmed", LEAD, {"name": "visual"}),
    ("get", "writing-round", "writing_round", STAFF, {}),
    ("patch", "writing-round", "writing_round", LEAD, {"change": "pause"}),
    ("get", "written-queries", "project", READERS, {}),
    ("post", "query-check", "written_query", CHECKER, {"decision": "accept"}),
    ("get", "clip", "project", WRITER, {}),
    ("post", "clip", "project", WRITER, {}),
    ("get", "clip-video", "project", WRITER, {}),
    ("post", "clip-queries", "project", WRITER, ENTRY),
    ("post", "clip-exhausted", "project", WRITER, {}),
    ("post", "clip-return", "project", WRITER, {}),
    ("get", "own-queries", "project", WRITER, {}),
    ("post", "query-to-check", "project", CHECKER, {}),
    ("get", "written-query-video", "written_query", READERS, {}),
    ("get", "verification-studies", "project", STAFF, {}),
    ("post", "verification-studies", "project", LEAD, {"name": "first", "n_pairs": 1}),
    ("get", "verification-study", "verification_study", STAFF, {}),
    ("patch", "verification-study", "verification_study", LEAD, {"change": "close"}),
    ("post", "verification-inspect", "verification_pair", LEAD, {}),
    ("get", "release", "release", STAFF, {}),
    ("get", "invitations", "project", LEAD, {}),
    ("get", "webhooks", "project", LEAD, {}),
    ("post", "webhooks", "project", LEAD, {"url": "https://example.org/new", "events": ["batch.done"]}),
    ("patch", "rules", "described", LEAD, {"judges": 3}),
    ("post", "policy", "project", LEAD, {"version": 1, "lease_minutes": 25}),
    ("post", "invitations", "project", LEAD, {}),
    ("post", "releases", "project", LEAD, {}),
    ("post", "batches-open", "project", STAFF, {}),
    ("post", "candidates-rank", "project", STAFF, {"similarity": ""}),
    ("post", "captions-rewrite", "described", STAFF, {"provider": "rules"}),
    ("post", "queries-draw", "described", STAFF, {"val": 0, "test": 1, "seed": 1}),
    ("patch", "query-set", "query_set", LEAD, {"priority": "high"}),
    ("get", "batch", "batch", STAFF, {}),
    ("post", "review", "done", LEAD, {"decision": "close"}),
    ("post", "withdraw", "other_pair", LEAD, {"reason": "broken"}),
    ("post", "restore", "withdrawn", LEAD, {"reason": "mended"}),
]
HOLDER_ENDPOINTS: list[Endpoint] = [  # only whose it is learns that it exists
    ("post", "judgment", "pair", ANNOTATOR, {"grade": 3}),
    ("post", "flag", "pair", ANNOTATOR, {"reason": "broken"}),
    ("delete", "flag", "pair", ANNOTATOR, {}),
    ("post", "check-undo", "query_check", CHECKER, {}),
]
ELSEWHERE = {"projects", "corpora", "imports"}  # the asker's own: test_annotator, test_building


class Site:
    """One project with everything a URL can name, and one person for each relation to it."""

    def __init__(self) -> None:
        self.project = self.released = ProjectFactory()
        self.batch = BatchFactory(query__project=self.project, pairs=3)
        self.assignment = hold(self.batch)
        self.pair, self.other_pair, self.withdrawn = self.batch.pairs.order_by("pk")
        Pair.objects.filter(pk=self.withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        self.done = BatchFactory(query__project=self.project, state="done")
        self.query_set = NamedQuerySet.objects.create(project=self.project, name="a set")
        self.release = Release.objects.create(project=self.project, version=1, state="ready", archive="release.zip")
        self.job = Job.objects.create(project=self.project, kind="x", title="x", state="done")
        self.people: dict[str, User] = {
            role: MembershipFactory(project=self.project, role=role).user
            for role in ("lead", "admin", "participant", "writer", "checker")
        }
        self.people["annotator"] = self.assignment.annotator
        self.strangers = {role: MembershipFactory(role=role).user for role in Membership.Role}
        self.described = self._described()
        self.writing_round = WritingClipFactory(round__project=self.project).round
        self.filmed = self.project
        clip = WritingClipFactory(round=self.writing_round)
        clip.video.file.save("clip.mp4", ContentFile(b"a video"))
        ClipAssignmentFactory(clip=clip, writer=self.people["writer"])
        self.written_query, query = (query_waiting(assignment__clip__round=self.writing_round) for _ in range(2))
        self.query_check = query_check(query=query.uuid, checker=self.people["checker"], verdict=WRONG)
        self.verification_study = VerificationStudyFactory(project=self.project)
        self.verification_pair = VerificationPairFactory(study=self.verification_study)

    def _described(self) -> Project:
        """Return a project of the same people whose corpus waits to be rewritten."""
        project: Project = ProjectFactory()
        for role, person in self.people.items():
            MembershipFactory(project=project, user=person, role=role)
        for text in ("a man sings", "a dog runs"):
            description = DescriptionFactory(corpus=project.dataset.corpus, text=text)
            CaptionFactory(description=description, text=text, provider="as-described")
        return project

    def request(self, endpoint: Endpoint, client: Client, *, unknown: bool = False) -> HttpResponse:
        method, name, what, _, body = endpoint
        row = uuid4() if unknown else getattr(self, what)
        if (method, name) == ("post", "clip"):
            body = {"round": str(self.writing_round.uuid)}
        if name == "judgment":
            body = {**body, "key": str(key(self.assignment, self.pair))}
        return client.generic(  # type: ignore[return-value]
            method.upper(), url(name, row), json.dumps(body), content_type="application/json"
        )


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> Site:
    return Site()


@pytest.fixture
def site(db: None, module_scenario: Site) -> Site:
    return deepcopy(module_scenario)


def program(person: User) -> Client:
    return Client(headers=bearer(person))


def names(endpoint: Endpoint) -> str:
    return f"{endpoint[0]} {endpoint[1]}"


@pytest.mark.parametrize("api_endpoint", ENDPOINTS + HOLDER_ENDPOINTS, ids=names)
def test_endpoint(api_endpoint: Endpoint, site: Site) -> None:
    """Who is refused goes first: nothing may have changed when the others come."""
    method, roles, before = api_endpoint[0], api_endpoint[3], rows()
    strangers_learn_nothing(api_endpoint, site)
    answer = site.request(api_endpoint, Client())
    assert refusal(answer) == (401, "not_authenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    for role in site.people.keys() - roles:
        expected_refusal = (404, "not_assigned") if api_endpoint in HOLDER_ENDPOINTS else (403, "permission_denied")
        assert refusal(site.request(api_endpoint, program(site.people[role]))) == expected_refusal
    assert rows() == before
    answers = [site.request(api_endpoint, program(site.people[role])) for role in sorted(roles, reverse=True)]
    assert answers[0].status_code in (200, 201, 202, 204), answers[0].content
    if method == "get" and roles == STAFF:  # admins look where leads do
        assert answers[1].status_code == 200
        assert answers[0].json() == answers[1].json()


def strangers_learn_nothing(endpoint: Endpoint, site: Site) -> None:
    """Whoever has a role elsewhere, whatever it is, gets the same answer for what exists and what does not."""
    for role in Membership.Role:
        client = program(site.strangers[role])
        there, not_there = site.request(endpoint, client), site.request(endpoint, client, unknown=True)
        assert (there.status_code, there.content) == (404, not_there.content)
        assert not_there.status_code == 404


@pytest.mark.parametrize(
    "api_endpoint",
    [api_endpoint for api_endpoint in ENDPOINTS + HOLDER_ENDPOINTS if api_endpoint[0] != "get"],
    ids=names,
)
def test_a_session_writes_only_with_its_csrf_token(api_endpoint: Endpoint, site: Site) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(
        site.people[next(role for role in ("annotator", "lead", "checker", "writer") if role in api_endpoint[3])]
    )
    before = rows()
    assert refusal(site.request(api_endpoint, browser)) == (403, "permission_denied")
    assert rows() == before
    browser.get("/api/docs/")  # brings the cookie
    browser.defaults["HTTP_X_CSRFTOKEN"] = browser.cookies["csrftoken"].value
    assert site.request(api_endpoint, browser).status_code in (200, 201, 202, 204)


@pytest.mark.parametrize("api_endpoint", [ENDPOINTS[0], ENDPOINTS[-1], HOLDER_ENDPOINTS[-1]], ids=names)
def test_a_token_that_is_wrong_revoked_or_of_somebody_gone(api_endpoint: Endpoint, site: Site) -> None:
    person = site.people[min(api_endpoint[3])]
    client = program(person)
    person.access_tokens.all().delete()
    inactive_client = program(person)
    User.objects.filter(pk=person.pk).update(is_active=False)
    for who in (client, inactive_client, Client(headers={"Authorization": "Bearer mj_ünknown"})):
        assert refusal(site.request(api_endpoint, who)) == (401, "authentication_failed")


def test_a_token_goes_before_a_session(site: Site) -> None:
    client = program(UserFactory())
    client.force_login(site.people["lead"])
    assert client.get(url("progress", site.project)).status_code == 404


def test_every_route_is_tried() -> None:
    route_names = {name for name in get_resolver().namespace_dict["api"][1].reverse_dict if isinstance(name, str)}
    tried_as_owned = {name.removeprefix("api:") for name in TRIED if name.startswith("api:")}
    assert route_names == {endpoint[1] for endpoint in ENDPOINTS + HOLDER_ENDPOINTS} | tried_as_owned | ELSEWHERE


def test_every_endpoint_asks_who_somebody_is_as_all_do() -> None:
    """A wrong token is tried on some endpoints only: none may have an answer of its own to it."""
    patterns = get_resolver().namespace_dict["api"][1].url_patterns
    views = {pattern.name: pattern.callback.cls for pattern in patterns}
    assert len(views) > 20
    for name, view in views.items():
        assert view.authentication_classes == APIView.authentication_classes, name
        assert set(APIView.permission_classes) <= set(view.permission_classes), name


@pytest.mark.parametrize(
    ("method", "path", "status_and_code"),
    [
        ("get", "/api/v1/nothing/", (404, "not_found")),
        ("get", "/api/v2/projects/", (404, "not_found")),
        ("delete", "/api/v1/projects/", (405, "method_not_allowed")),
        ("options", "/api/v1/projects/", (405, "method_not_allowed")),
    ],
)
def test_what_is_no_endpoint_is_refused_alike(method: str, path: str, status_and_code: tuple[int, str]) -> None:
    assert refusal(getattr(program(UserFactory()), method)(path)) == status_and_code


def test_a_fault_of_ours_is_answered_in_the_same_shape(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.review.api.overview_counts", lambda project: 1 / 0)
    client = program(site.people["lead"])
    client.raise_request_exception = False
    assert refusal(client.get(url("progress", site.project))) == (500, "server_error")


@pytest.mark.parametrize("accept", ["text/html", "image/gif", "application/xml", "nonsense"])
def test_responses_are_always_json(site: Site, accept: str) -> None:
    answer = program(site.people["lead"]).get(url("progress", site.project), headers={"Accept": accept})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
