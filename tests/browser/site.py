"""A project with something on every page, and the address of each page for each person who may open it."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import Project, User
from accounts.services.credentials import token_create
from accounts.services.identities import password_link
from annotation.captions.selectors import prompt_in_force
from annotation.captions.services.prompts import prompt_draft_save
from annotation.corpora.services import video_folders
from annotation.models import Moment, Pooling, PromptTrial, Proposal, ShotDetection, TopicImport, Video, VideoFolder
from annotation.pools.services.poolings import Returned
from annotation.topics.services import topic_create
from core.models import Job
from judging.guidelines.services import policy_publish
from judging.models import Batch, JudgmentImport, Pair, QualityAlert, Release, WebhookDelivery
from judging.people.services import invitation_create
from judging.quality.services import quality_compute
from judging.releases.services import release_create
from judging.review.services import batch_review
from judging.studies.services import pool_plan
from judging.work.services.pairs import pair_withdraw
from models_runner.models import GroundTruth, Scoring, SettingsSearch, Training
from tests import factories
from tests.accounts.acts import give_phone
from tests.accounts.passkey import HOST, Passkey, visitor
from tests.accounts.passkey import make as passkey_make
from tests.accounts.phone import PASSWORD
from tests.annotation.captions.test_captions import waiting
from tests.browser import acts
from tests.judging.exams import cohort_exam, examinee, give, newcomer, pairs_in_order, start
from tests.judging.play import judge_round, pairs_of
from tests.judging.verification.acts import answer
from tests.judging.views.endpoints import ENDPOINTS, HOLDER_ENDPOINTS
from tests.judging.views.endpoints.owned import BY_ROLE, OWNED, Owned, OwnedSite
from tests.judging.views.endpoints.routes import MORE_ARGS, SETTINGS
from tests.judging.views.endpoints.site import FIGURES
from tests.models_runner.ground_truths.acts import upload_truth

LONG = "A person in a long dark coat hurries down the stairs of an old house while somebody else is calling from above"
UNBROKEN = "Supercalifragilisticexpialidocious" * 3


class Address(NamedTuple):
    route: str
    url: str
    who: str  # a role, or another key of BusySite.visitors


def enter(page: Page, client: Client) -> Page:
    """Go on in the page's window where the client has got to."""
    for name, cookie in client.cookies.items():
        page.context.add_cookies([{"name": name, "value": cookie.value, "domain": HOST, "path": "/"}])
    return page


def by_insight(roles: frozenset[str]) -> list[str]:
    """Return the roles in the order of how much a page shows them."""
    return sorted(roles, key=["lead", "admin", "annotator", "participant", "writer", "checker"].index)


def seen_once(pages: list[Address]) -> dict[str, list[str]]:
    """Return what each visitor opens if every page is opened once, by whom it shows most."""
    urls = defaultdict(list)
    for address in {page.url: page for page in reversed(pages)}.values():
        urls[address.who].append(address.url)
    return urls


def project_pages(project: Project, person: User) -> list[str]:
    """Return the pages that are named by the project alone and that this member may open."""
    client = visitor()
    client.force_login(person)
    roles = set(project.memberships.get(user=person).roles)
    names = [name for name, what, who, method in ENDPOINTS if what == "project" and method == "get" and who & roles]
    urls = [reverse(name, args=[project.uuid, *MORE_ARGS.get(name, [])]) for name in names]
    return [url for url in urls if is_page(client.get(url))]


def is_page(answer: Any) -> bool:
    """Whether it is a whole page of the site: no file, no part of a page, and no step to another one."""
    return answer.status_code == 200 and not answer.streaming and b"<main" in answer.content


class BusySite(OwnedSite):
    """A project with something on every page, and people for whom its pages say something else."""

    def __init__(self) -> None:
        default_storage.save("previews/none.gif", ContentFile(factories.GIF))  # of all pairs of exams
        super().__init__(project=busy_project())
        self.plan = planned_pool(self.project)
        quality_compute(project_id=self.project.pk)
        report = self.project.quality_report
        report.data["annotators"][str(self.member.number)] = FIGURES
        report.save()
        self.visitors: dict[str, Client] = {"visitor": visitor()}
        for role, person in self.people.items():
            self.enter(role, person)

    @cached_property
    def manager(self) -> User:
        return factories.UserFactory()  # type: ignore[no-any-return]

    @cached_property
    def video(self) -> Video:
        """Of the project's corpus, with a caption that is in review."""
        video = waiting(self.project).moment.video
        video.file.save("clip.mp4", ContentFile(b"a video"))
        return video  # type: ignore[no-any-return]

    def addresses(self) -> list[Address]:
        """Return what each role opens by GET, by the tables of routes; then what these do not say."""
        rows = [
            Address(route, self.url((route, what, who, method)), role)
            for route, what, who, method in (*ENDPOINTS, *HOLDER_ENDPOINTS)
            if method == "get"
            for role in by_insight(who)
        ]
        for row in (*OWNED, *BY_ROLE):
            if row.method == "get" and not row.route.startswith("api:"):
                roles = row.sees | {row.owner} if isinstance(row, Owned) else row.roles
                rows += [Address(row.route, self.address(row), role) for role in by_insight(roles)]
        return list(dict.fromkeys([*rows, *self.open_to_all(), *self.in_other_states()]))

    def pages(self) -> tuple[list[Address], set[str]]:
        """Return the addresses that answer a page; and the routes that answer a file or lead on to such a page."""
        pages, others, leading = [], set(), {}
        for address in self.addresses():
            answer = self.visitors[address.who].get(address.url)
            if answer.status_code == 302:
                leading[address] = resolve(urlsplit(answer.headers["Location"]).path).view_name
            elif answer.has_header("Content-Disposition") or not answer.headers["Content-Type"].startswith("text/html"):
                others.add(address.route)
            else:
                assert answer.status_code == 200, (address, answer.status_code)
                pages += [address] if is_page(answer) else []
        targets = {address.route for address in pages} - {"login"}
        astray = {address: target for address, target in leading.items() if target not in targets}
        assert not astray, astray
        return pages, others | {address.route for address in leading}

    def open_to_all(self) -> Iterator[Address]:
        """Yield the routes of OPEN."""
        for route in ("login", "password-forgotten", "help", "api-docs", "api-schema", "healthz", "readyz"):
            yield Address(route, reverse(route), "visitor")
        self.visitors["forgetful"] = visitor()
        answer = self.visitors["forgetful"].get(password_link(factories.UserFactory()))
        yield Address("password-choose", answer.headers["Location"], "forgetful")
        _, link = invitation_create(project=self.project, actor=self.people["lead"], role="annotator")
        yield Address("judging:invitation", link, "visitor")
        Project.objects.filter(pk=self.project.pk).update(registration_is_open=True)
        yield Address("judging:join", reverse("judging:join", args=[self.project.uuid]), "visitor")
        corpora, imports = ["annotation:corpora", "annotation:import-new"], ["judgment-imports", "judgment-import-new"]
        for route in ("home", *corpora, "judging:collection-new", *(f"judging:{name}" for name in imports)):
            yield Address(route, reverse(route), "lead")
        corpus = self.project.dataset.corpus
        yield Address("judging:project-new", reverse("judging:project-new", args=[corpus.uuid]), "lead")
        person = User.objects.create_user("careful", PASSWORD)
        give_phone(person)
        passkey_make(self.enter("careful", person), Passkey())
        token_create(user=person, name="a program")
        Client().force_login(person)  # elsewhere, too
        own = ["account", "password-change", "tokens", "totp", "passkey-add"]
        for route in (*own, "account_reauthenticate", "mfa_reauthenticate_webauthn"):
            yield Address(route, reverse(route), "careful")
        self.visitors["half way in"] = visitor()
        self.visitors["half way in"].post(reverse("login"), {"username": "careful", "password": PASSWORD})
        yield Address("login-code", reverse("login-code"), "half way in")
        self.enter("beginner", User.objects.create_user("beginner", PASSWORD))
        for route in ("totp", "home"):
            yield Address(route, reverse(route), "beginner")

    def enter(self, name: str, person: User) -> Client:
        """Let the person in as this visitor."""
        self.visitors[name] = client = visitor()
        client.force_login(person)
        return client

    def in_other_states(self) -> Iterator[Address]:
        """Yield pages that show another form or drawing for another row, or to somebody at another step."""
        lead = self.people["lead"]
        for batch in Batch.objects.filter(number=1, pairs__state__in=["settled", "escalated"], query__split="val"):
            yield self.page("judging:batch", batch)
        yield self.page("judging:figure", self.project, "cases")
        prompt_draft_save(project=self.project, actor=lead, text=UNBROKEN, examples=[(UNBROKEN, LONG)])
        sides = [{"text": UNBROKEN, "failed": ["names a person"], "name": UNBROKEN, "tokens": 1, "cost_usd": 0.1}] * 2
        PromptTrial.objects.create(
            project=self.project,
            corpus=self.project.dataset.corpus,
            prompt=prompt_in_force(self.project.dataset.corpus_id),
            text=LONG,
            description_ids=[1],
            rows=[{"description": UNBROKEN, "sides": sides}],
            actor=lead,
            finished_at=timezone.now(),
        )
        for state, counts in (("done", {}), ("failed", {})):
            about = {"owner": lead, "project": self.project, "format": "tsv", "split": "test", "query_set": "test"}
            facts = {"topics": 2, "new": 1, "changed": 1, "unchanged": 0, "bad_lines": 0, **counts}
            row = TopicImport.objects.create(**about, state=state, counts=facts, error=UNBROKEN, file_name="x.tsv")
            yield self.page("annotation:topic-import", row)
        topic = topic_create(
            project=self.project, number=2_000_000, title=UNBROKEN, description=LONG, narrative=f"{LONG}\n\n{UNBROKEN}"
        )
        until, batch = timezone.now() + timedelta(hours=1), factories.BatchFactory(query=topic.query)
        reader = factories.AssignmentFactory(batch=batch, expires_at=until).annotator
        self.enter("reader of a topic", reader)
        yield self.page("judging:pair-next", self.project, who="reader of a topic")
        new_project = factories.ProjectFactory()
        new_project.memberships.create(user=lead, roles=["lead"])
        yield self.page("judging:rules", new_project)
        yield self.page("judging:agreement-of", self.project, min(self.project.quality_report.data["annotators"]))
        yield self.page("pools:pool", self.plan)
        about = {"state": "failed", "error": UNBROKEN}
        newest = self.project.releases.count() + 1
        yield self.page("judging:release", Release.objects.create(project=self.project, version=newest, **about))
        Training.objects.create(experiment=self.experiment, seed=2, ended_at=timezone.now(), **about)
        yield self.page("models_runner:experiment", self.experiment, who="admin", query="seed=2")
        search = SettingsSearch.objects.get(pk=self.settings_search.pk)
        search.pk, search.uuid, search.name = None, uuid4(), "rates again"
        search.state, search.ended_at = "waiting", None
        search.save(force_insert=True)
        yield self.page("models_runner:settings-search", search, who="admin")
        failed_truth = GroundTruth.objects.create(
            project=self.project, name=UNBROKEN[:100], split="val", sha256="0" * 64, **about
        )
        yield self.page("models_runner:ground-truth", failed_truth)
        yield self.page("models_runner:truth-run-new", upload_truth(self.project, "matrix", name="matrix"))
        for number in range(2):
            self.score_again(number)
        yield self.page("models_runner:economy", self.project, query="release=1&split=val")
        WebhookDelivery.objects.filter(pk=self.delivery.pk).update(attempts=3)
        JudgmentImport.objects.filter(pk=self.judgment_import.pk).update(counts={"judgments": 1})
        self.settings_form  # noqa: B018 - the draft that is published below
        for endpoint in SETTINGS:
            if endpoint[0] in ("judging:guideline-save", "judging:guideline-example-set"):
                self.request(endpoint, lead)
        missed = examinee(self.project)
        fields = {"seed": 1, "known_ids": [self.known.pk], "state": "missed", "ended_at": timezone.now()}
        factories.ExamAttemptFactory(annotator=missed, exam=self.exam, **fields)
        flagged = self.batch.pairs.exclude(pk=self.pair.pk).first()
        factories.FlagFactory(assignment=self.assignment, pair=flagged, comment=UNBROKEN)
        yield self.page("judging:pair", flagged, who="annotator")
        policy_publish(
            project=self.project, actor=lead, screening_questions=1, screening_passing=1, screening_is_open=True
        )
        self.enter("candidate", newcomer(self.project))
        yield self.page("judging:screening", self.project, who="candidate")
        self.enter("reader", newcomer(self.project, "training"))
        yield self.page("judging:guideline", self.project, who="reader")
        self.enter("trainee", examinee(self.project, "training"))
        yield self.page("judging:desk", self.project, who="trainee")
        factories.WritingClipFactory(round__project=self.project, round__name=UNBROKEN[:100])  # a video for the first
        self.enter("idle writer", factories.writer(self.project))
        yield self.page("judging:writing-desk", self.project, who="idle writer")
        self.enter("second writer", second := factories.writer(self.project))
        factories.ClipAssignmentFactory(clip=self.writing_clip, writer=second, draft_text=UNBROKEN)
        yield self.page("judging:mark", self.project, who="second writer")
        factories.WrittenQueryFactory(assignment__clip__round=self.writing_round, text=UNBROKEN)
        yield self.page("judging:written-queries", self.project, who="checker", query="type=v")
        yield self.page("judging:collection-figures", self.project, query=f"round={self.writing_round.uuid}")
        self.query_check  # noqa: B018 - on the desk of its checker, who can undo it
        self.enter("idle checker", factories.checker(self.project))
        yield self.page("judging:checking-desk", self.project, who="idle checker")
        yield from self.in_verification()
        yield from self.in_other_projects()

    def in_verification(self) -> Iterator[Address]:
        """Yield a study with answers and a second look, one without; and the pages of those who answer and look."""
        study = self.verification_study
        inspection = factories.VerificationInspectionFactory(pair=self.verification_answers.pair)
        answer(self._verification_pair(study), value=2)  # nobody looks at it again yet
        empty = factories.VerificationStudyFactory(project=self.project, name=UNBROKEN[:100], state="closed")
        self.verification_inspection  # noqa: B018 - it waits, and the one of above has an answer
        for row in (study, empty):
            yield self.page("judging:verification-study", row)
        yield self.page("judging:verification-study", study, who="admin")
        self.enter("verifier", factories.checker(self.project))
        yield self.page("judging:verification-desk", self.project, who="verifier")
        yield self.page("judging:pair-to-verify", study, who="verifier")
        yield self.page("judging:pair-to-inspect", inspection.pair.study.project, who="verifier")

    def in_other_projects(self) -> Iterator[Address]:
        """Yield pages of a project that waits for nothing, of one whose exam is open, and of one without queries."""
        calm, new, exam = acts.project(), acts.project(), cohort_exam(acts.project(), queries=1, depth=1)
        for project in (calm, new, exam.project):
            factories.MembershipFactory(project=project, role="lead", user=self.manager)
        self.enter("manager", self.manager)
        acts.batch(calm)
        factories.QueryFactory(project=calm)
        yield self.page("judging:queries", calm, who="manager")
        self.enter("idle", factories.annotator(calm))
        yield self.page("judging:desk", calm, who="idle")
        factories.CaptionFactory.create_batch(3, moment__video__corpus=new.dataset.corpus)
        yield self.page("annotation:splits", new, who="manager", query="val=1&test=1&seed=2")
        Release.objects.create(project=new, version=1, state="ready", archive="release.zip")
        yield self.page("models_runner:runs", new, who="manager")  # it has no run by similarity yet
        yield self.page("judging:exam", exam, who="manager")
        yield from self.with_proposals(calm)
        for state, project in (("running", new), ("cancelled", exam.project)):
            about = {"method": "uniform", "segment_s": 5.0, "step": "writing", "n_moments": 9, "state": state}
            Proposal.objects.create(corpus=project.dataset.corpus, done=2, total=3, **about)
            yield self.page("annotation:proposals", project, who="manager")
        self.enter("examinee", person := examinee(exam.project))
        yield self.page("judging:desk", exam.project, who="examinee")
        attempt = start(person, exam.project)
        give(person, pairs_in_order(attempt)[0], 3)
        yield self.page("judging:attempt-look", attempt, who="examinee")
        yield Address("home", reverse("home"), "manager")

    def with_proposals(self, project: Project) -> Iterator[Address]:
        """Yield the page of proposals that are ready, after some that were written; and a video with shots."""
        video = factories.VideoFactory(corpus=project.dataset.corpus, duration_s=7.0)
        video.file.save("clip.mp4", ContentFile(b"a video"))
        about = {"detector": "adaptive", "threshold": 3.0, "version": "1", "moved_at": timezone.now()}
        detection = ShotDetection.objects.create(video=video, file=video.file.name, state="done", **about)
        for frame in (50, 75):
            detection.cuts.create(frame=frame, at_s=frame / 25)
        unreadable = factories.VideoFactory(corpus=project.dataset.corpus, name=UNBROKEN)
        ShotDetection.objects.create(video=unreadable, state="failed", error=UNBROKEN, **about)
        counts = {"n_moments": 3, "n_written": 1, "step": "writing"}
        shots = {"corpus": project.dataset.corpus, "method": "shots", "threshold": 3.0, **counts}
        Proposal.objects.create(state="done", **shots)
        Proposal.objects.create(state="ready", **shots)
        yield self.page("annotation:proposals", project, who="manager")
        yield self.page("annotation:video", project, video.uuid, who="manager")
        yield self.page("annotation:video-replace", project, video.uuid, who="manager")
        yield self.page("judging:video-retire", project, video.uuid, who="manager")
        about = {"retired_at": timezone.now(), "retired_because": UNBROKEN}
        retired = factories.VideoFactory(corpus=project.dataset.corpus, duration_s=9.0, **about)
        yield self.page("annotation:video", project, retired.uuid, who="manager")
        folder = {"project": project, "corpus": project.dataset.corpus, "started_by": self.people["lead"], "path": "/a"}
        counts = {"n_done": 2, "n_files": 3, "n_added": 1, "n_problems": 1, "problems": [[UNBROKEN, UNBROKEN]]}
        for state in ("running", "cancelled"):
            VideoFolder.objects.create(state=state, **folder, **counts)
        VideoFolder.objects.create(state="failed", error=UNBROKEN, **folder)
        query = "root=0" if video_folders.roots() else ""
        yield self.page("annotation:video-folders", project, who="manager", query=query)

    def score_again(self, number: int) -> None:
        """Score one more run on the first release: a study needs three."""
        scoring = Scoring.objects.filter(release__version=1, run__split="val").earliest("pk")
        run = scoring.run
        run.pk, run.uuid, run.system = None, uuid4(), f"system {number}"
        run.save(force_insert=True)
        scoring.pk, scoring.uuid, scoring.run = None, uuid4(), run
        scoring.save(force_insert=True)

    @staticmethod
    def page(route: str, row: Any, *more: object, who: str = "lead", query: str = "") -> Address:
        return Address(route, reverse(route, args=[row.uuid, *more]) + (query and f"?{query}"), who)


def make_busy(project: Project) -> None:
    """Add pairs in every state, a release, runs, a job, a moment that could not be cut."""
    waiting = acts.batch(project, text=LONG, pairs=20)
    judge_round(waiting, [0, 4, 4, 0, 2] * 4, [0, 0, 4, 3, 3] * 4)
    judge_round(waiting, [2, 4, 2, 4, 0, 4, 0, 4], [3, 4, 3, 4, 4, 1, 4, 1])
    for split in ("val", "test"):
        judge_round(closed := acts.batch(project, text=f"{UNBROKEN} {split}", split=split), [1, 2, 3], [1, 2, 3])
        batch_review(batch=closed, extend=False, lead=factories.lead(project), reason=UNBROKEN)
    judge_round(acts.batch(project, text="A person waits"), [0, 2, 2], [4, 2, 2])
    sleeping = acts.batch(project, text="A person sleeps")
    factories.FlagFactory(assignment=factories.AssignmentFactory(batch=sleeping), comment=UNBROKEN)
    pair_withdraw(pair=pairs_of(sleeping)[1], lead=factories.lead(project), reason=UNBROKEN)
    states = set(Pair.objects.values_list("state", flat=True))
    assert states == set(Pair.State.values)
    Job.objects.create(project=project, kind="preview", title="Cutting previews", done=3, total=9)
    broken = {"preview_state": Moment.Preview.FAILED, "preview_error": f"ffmpeg: {UNBROKEN * 2}"}
    factories.MomentFactory(video__corpus=project.dataset.corpus, preview="", **broken)
    release_create(project=project, actor=factories.lead(project))
    policy_publish(project=project, actor=None, alert_from=1, alert_run=2)
    quality_compute(project_id=project.pk)
    assert QualityAlert.objects.filter(kind="run").exists()
    factories.QueryFactory(project=project, text=LONG, split="train", caption=factories.CaptionFactory(text=UNBROKEN))


def busy_project() -> Project:
    project = acts.project()
    make_busy(project)
    return project


def planned_pool(project: Project) -> Pooling:
    """Two runs, one of them with a long name, return a moment that is no candidate of the first query."""
    pooling: Pooling = factories.PoolingFactory(project=project, state="preparing")
    factories.PoolSourceFactory(pooling=pooling, name=UNBROKEN)
    new = factories.MomentFactory(video__corpus=project.dataset.corpus)
    query = project.queries.order_by("number").values_list("number", flat=True)[0]
    names = [source.name for source in pooling.sources.all()]
    pool_plan(
        pooling=pooling, returned=[Returned(query, new.video.name, new.start_s, new.end_s, name, 1) for name in names]
    )
    return pooling
