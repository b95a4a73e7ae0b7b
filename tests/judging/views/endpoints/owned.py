"""Routes to what one person owns, by pages and the API; and routes of the API and of files that go by role alone.

A route that names something of somebody's is a line of ``OWNED``: its owner gets in, a second person of the same role
in the same project gets what whoever guesses gets, and so does everybody else whose role does not see it anyway.
"""

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from allauth.mfa.models import Authenticator
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import AccessToken, BrowserSession, Membership, User
from accounts.services.credentials import token_create
from annotation.models import CorpusImport, Moment, ProjectCorpus, TopicImport, Video
from judging.models import JudgmentImport
from judging.work.rules import form_key
from models_runner.experiments.files import folder_of
from models_runner.models import Run
from tests.factories import MembershipFactory
from tests.judging.api.acts import bearer
from tests.judging.views.endpoints.routes import ADMIN, ANNOTATOR, HOLDER_ENDPOINTS, LEAD, RUNNERS, STAFF
from tests.judging.views.endpoints.site import Site

NOBODY: frozenset[str] = frozenset()
CHECKED = {"state": "checked", "file": "imports/x", "file_name": "x"}


class Owned(NamedTuple):
    method: str
    route: str
    what: str  # the attribute of OwnedSite
    owner: str  # their role
    sees: frozenset[str]  # roles that get in besides, whoever it belongs to
    refusal: int = 404  # to whoever is in the project and has no business with it
    unlike: frozenset[str] = NOBODY  # roles that are told 403, as they never have such a thing


class ByRole(NamedTuple):
    method: str
    route: str
    what: str
    roles: frozenset[str]


NO_STAFF = frozenset({"annotator", "participant", "writer", "checker"})
OWNED = [
    *(Owned(method, route, what, min(who), NOBODY) for route, what, who, method in HOLDER_ENDPOINTS),
    Owned("post", "api:judgment", "pair", "annotator", NOBODY),
    Owned("post", "api:flag", "pair", "annotator", NOBODY),
    Owned("delete", "api:flag", "pair", "annotator", NOBODY),
    *(
        Owned("get", route, "moment", "annotator", STAFF)
        for route in (
            *("judging:preview", "judging:preview-clip", "judging:preview-poster"),
            *("api:preview-gif", "api:preview-mp4"),
        )
    ),
    Owned("post", "judging:screening-answer", "attempt", "annotator", NOBODY, unlike=STAFF | NO_STAFF - {"annotator"}),
    Owned("post", "token-revoke", "token", "annotator", NOBODY),
    Owned("post", "session-end", "browser", "annotator", NOBODY),
    Owned("post", "passkey-remove", "passkey", "annotator", NOBODY),
    *(
        Owned(method, f"{route}{step}", what, "lead", NOBODY, unlike=NO_STAFF)
        for route, what in (
            ("annotation:import", "corpus_import"),
            ("annotation:topic-import", "topic_import"),
            ("judging:judgment-import", "judgment_import"),
        )
        for step, method in (("", "get"), ("-report", "get"), ("-confirm", "post"), ("-discard", "post"))
    ),
    *(
        Owned(method, f"api:import{step}", "corpus_import", "lead", NOBODY, unlike=NO_STAFF)
        for step, method in (("", "get"), ("-report", "get"), ("-confirm", "post"), ("-discard", "post"))
    ),
    Owned("get", "models_runner:run", "own_run", "participant", STAFF, refusal=403),
    Owned("get", "models_runner:run-download", "own_run", "participant", STAFF, refusal=403),
    Owned("post", "models_runner:run-withdraw", "own_run", "participant", LEAD, refusal=403),
    Owned("get", "api:run", "own_run", "participant", STAFF, refusal=403),
    Owned("get", "models_runner:truth-run", "own_truth_run", "participant", STAFF, refusal=403),
    Owned("get", "models_runner:truth-run-download", "own_truth_run", "participant", STAFF, refusal=403),
    Owned("post", "models_runner:truth-run-withdraw", "own_truth_run", "participant", LEAD, refusal=403),
    Owned("get", "api:truth-run", "own_truth_run", "participant", STAFF, refusal=403),
]
TRUTH_READS = ("ground-truth", "ground-truth-scores", "truth-runs")
BY_ROLE = [
    ByRole("get", "models_runner:training-file", "training", ADMIN),
    *(
        ByRole("get", route, "video", STAFF)
        for route in ("models_runner:video", "annotation:video", "annotation:video-file", "annotation:video-poster")
    ),
    ByRole("get", "annotation:video-replace", "video", LEAD),
    ByRole("get", "judging:video-retire", "video", LEAD),
    ByRole("post", "judging:webhook-delete", "webhook", LEAD),
    ByRole("post", "api:finish", "project", ANNOTATOR),
    ByRole("get", "api:train-set-json", "train_set", STAFF),
    ByRole("get", "api:train-set-parquet", "train_set", STAFF),
    ByRole("get", "api:release-zip", "release", STAFF),
    ByRole("get", "api:judgments-csv", "project", STAFF),
    ByRole("get", "api:verification-answers-csv", "verification_study", STAFF),
    ByRole("get", "api:search", "project", STAFF),
    ByRole("get", "api:experiment", "experiment", STAFF),
    ByRole("get", "api:settings-search", "settings_search", STAFF),
    ByRole("delete", "api:settings-search", "settings_search", ADMIN),
    ByRole("post", "api:settings-search-cancel", "settings_search", ADMIN),
    ByRole("post", "api:settings-search-resume", "settings_search", ADMIN),
    ByRole("post", "api:training-cancel", "training", ADMIN),
    ByRole("post", "api:training-resume", "training", ADMIN),
    ByRole("post", "models_runner:run-withdraw", "run", LEAD),
    ByRole("get", "api:runs", "project", RUNNERS),
    ByRole("get", "api:ground-truths", "project", RUNNERS),
    *(ByRole("get", f"api:{name}", "public_truth", RUNNERS) for name in TRUTH_READS),
    ByRole("delete", "api:ground-truth", "truth", STAFF),
    ByRole("get", "api:queries-draw", "project", STAFF),
    ByRole("get", "api:corpus-export", "project", STAFF),
    ByRole("post", "api:topics", "project", STAFF),
    *(ByRole(method, "api:topic", "topic", STAFF) for method in ("get", "patch")),
    ByRole("get", "api:train-set", "train_set", STAFF),
    ByRole("post", "api:train-sets", "project", STAFF),
    ByRole("delete", "api:train-set", "train_set", STAFF),
    ByRole("post", "api:video-uploads", "project", STAFF),
    ByRole("post", "api:subtitles", "project", STAFF),
    *(ByRole(method, "api:video-upload", "video_upload", STAFF) for method in ("get", "head", "patch", "delete")),
    ByRole("post", "api:proposals", "project", STAFF),
    ByRole("get", "api:proposal", "proposal", STAFF),
    *(ByRole("post", f"api:proposal-{act}", "proposal", STAFF) for act in ("use", "cancel", "resume", "undo")),
    ByRole("post", "api:pools", "project", STAFF),
    ByRole("get", "api:pool", "pooling", STAFF),
    ByRole("post", "api:pool-open", "pooling", STAFF),
    ByRole("post", "api:pool-discard", "pooling", STAFF),
    ByRole("post", "api:features", "project", ADMIN),
    *(ByRole(method, "api:feature-set", "features", ADMIN) for method in ("get", "delete")),
    ByRole("post", "api:features-cancel", "features", ADMIN),
    ByRole("post", "api:features-resume", "features", ADMIN),
    ByRole("post", "api:release-retry", "release", LEAD),
    *(ByRole(method, "api:webhook", "webhook", LEAD) for method in ("patch", "delete")),
    ByRole("get", "api:webhook-deliveries", "webhook", LEAD),
    ByRole("post", "api:webhook-ping", "webhook", LEAD),
    ByRole("post", "api:webhook-retry", "delivery", LEAD),
    ByRole("post", "api:invitation-renew", "invitation", LEAD),
    ByRole("delete", "api:invitation", "invitation", LEAD),
]
TRIED = {row.route for row in [*OWNED, *BY_ROLE]}


class OwnedSite(Site):
    """A project with a second person of every role, who holds nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seconds: dict[str, User] = {
            role: MembershipFactory(project=self.project, role=role).user for role in Membership.Role.values
        }

    @cached_property
    def moment(self) -> Moment:
        """Of the pair that is held; it is asked for by the name of its preview."""
        moment: Moment = self.pair.candidate.moment
        moment.preview_clip.save("preview.mp4", ContentFile(b"moving"))
        return moment

    @cached_property
    def attempt(self) -> Any:
        """At the screening test; the form names it."""
        return self.settings_form["attempt"]

    @cached_property
    def token(self) -> AccessToken:
        person = self.people["annotator"]
        token_create(user=person, name="a program")
        return person.access_tokens.get()

    @cached_property
    def browser(self) -> BrowserSession:
        person = self.people["annotator"]
        Client().force_login(person)
        return person.browser_sessions.latest("pk")

    @cached_property
    def passkey(self) -> UUID:
        name = uuid4()
        data = {"uuid": str(name), "name": "phone", "credential": {}}
        Authenticator.objects.create(user=self.people["annotator"], type="webauthn", data=data)
        return name

    @cached_property
    def corpus_import(self) -> CorpusImport:
        row = CorpusImport(owner=self.people["lead"], corpus_name="c", format="csv", **CHECKED)
        row.report.save("report.csv", ContentFile(b"line"))
        return row

    @cached_property
    def judgment_import(self) -> JudgmentImport:
        row = JudgmentImport(owner=self.people["lead"], project_name="p", mapping={}, **CHECKED)
        row.report.save("report.csv", ContentFile(b"line"))
        return row

    @cached_property
    def topic_import(self) -> TopicImport:
        about = {"owner": self.people["lead"], "project": self.project, "split": "test", "query_set": "test"}
        row = TopicImport(format="tsv", **about, **CHECKED)
        row.report.save("report.csv", ContentFile(b"line"))
        return row

    @cached_property
    def own_run(self) -> Run:
        about = {"system": "theirs", "split": "val", "source": "upload", "sha256": "0" * 64, "state": "scored"}
        run = Run(project=self.project, release=self.release, owner=self.people["participant"], **about)
        run.file_name = "theirs.json"
        run.file.save("theirs.json", ContentFile(b"[]"))
        return run

    @cached_property
    def video(self) -> Video:
        video = self.pair.candidate.moment.video
        video.file.save("clip.mp4", ContentFile(b"a video"))
        ProjectCorpus.objects.filter(pk=self.project.pk).update(corpus=video.corpus)
        return video  # type: ignore[no-any-return]

    def leave_file(self) -> None:
        """A training left a file."""
        folder: Path = folder_of(self.training)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_text("{}")

    def try_route(self, row: Owned | ByRole, client: Client, *, name: object = None) -> HttpResponse:
        """``name`` stands for an object that is not there."""
        form = self.form((row.route, row.what, NOBODY, row.method)) if row.method == "post" else {}
        if row.route == "judging:screening-answer":
            form = {"attempt": name or self.attempt, "answer-0": 0}
        call: Callable[..., HttpResponse] = getattr(client, row.method)
        address = self.address(row, name=name)
        if row.route.startswith("api:"):
            return client.generic(  # type: ignore[return-value]
                row.method.upper(), address, json.dumps(self.body(row)), "application/json"
            )
        return call(address, form)

    def address(self, row: Owned | ByRole, *, name: object = None) -> str:
        item = getattr(self, row.what)
        uuid = name or (item.preview_uuid if row.what == "moment" else getattr(item, "uuid", item))
        args = [uuid]
        if row.route == "judging:screening-answer":
            args = [self.project.uuid]
        if row.what == "video":
            args = [self.project.uuid, uuid]
        if row.route == "models_runner:training-file":
            self.leave_file()
            args = [uuid, "plan.json"]
        return reverse(row.route, args=args)

    def body(self, row: Owned | ByRole) -> dict[str, Any]:
        key = form_key(assignment=self.assignment.uuid, pair=self.pair.uuid, n_answers=1)
        bodies = {"api:judgment": {"grade": 3, "key": str(key)}, "api:flag": {"reason": "broken"}}
        return bodies.get(row.route, {}) if row.method == "post" else {}


def client_of(row: Owned | ByRole, person: User) -> Client:
    """By token where programs ask, by session where browsers do."""
    if row.route.startswith("api:"):
        return Client(headers=bearer(person))
    client = Client()
    client.force_login(person)
    return client
