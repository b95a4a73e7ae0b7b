"""Every route and for whom it is; ``test_doors`` knocks at each one and misses none.

A new route is a line of its area's list. What its URL names is an attribute of ``World``.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from uuid import uuid4
from zipfile import ZipFile

import numpy as np
from django.conf import settings
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import NamedQuerySet, Pooling, Project, TrainSet, User
from annotation.services.statistics import statistics_compute
from judging.models import (
    Assignment,
    Batch,
    BatchReview,
    GateQuestion,
    Guideline,
    KnownPair,
    Pair,
    QualityAlert,
    QualityReport,
    Release,
)
from judging.rules.keys import form_key, sitting_key
from judging.services.guidelines import draft_open
from judging.services.invitations import invitation_create
from models_runner.models import EconomyStudy, Experiment, FeatureSet, Leaderboard, Run, Training
from models_runner.retrieval.features import FeatureWriter
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    CaptionFactory,
    FlagFactory,
    JudgmentFactory,
    MeasureFactory,
    MembershipFactory,
    PairFactory,
    PoolingFactory,
    ProjectFactory,
    QualityAlertFactory,
    QueryFactory,
    VideoFactory,
    admin,
    lead,
)
from tests.judging.exams import in_feedback
from tests.judging.settings import drawn_pair, gate_attempt, gate_question, guideline_form, policy_form

Door = tuple[str, str, frozenset[str], str]  # name, what the URL names, for whom, method
ANNOTATOR, LEAD, STAFF = frozenset({"annotator"}), frozenset({"lead"}), frozenset({"lead", "admin"})
ADMIN = frozenset({"admin"})
EVERYONE = STAFF | ANNOTATOR
RUNNERS = STAFF | {"participant"}
EXAM = {"kind": "cohort", "queries": 1, "depth": 1, "purpose": "exam"}

CORPUS: list[Door] = [
    ("annotation:corpus", "project", STAFF, "get"),
    ("annotation:captions", "project", STAFF, "get"),
    ("annotation:captions-rewrite", "project", STAFF, "post"),
    ("annotation:caption-decide", "project", STAFF, "post"),
    ("annotation:caption-undo", "project", STAFF, "post"),
    ("annotation:train-sets", "project", STAFF, "get"),
    ("annotation:train-set-start", "project", STAFF, "post"),
    ("annotation:train-set-discard", "train_set", STAFF, "get"),
    ("annotation:train-set-json", "train_set", STAFF, "get"),
    ("annotation:train-set-parquet", "train_set", STAFF, "get"),
    ("annotation:splits", "project", STAFF, "get"),
    ("annotation:queries-draw", "project", STAFF, "post"),
    ("annotation:statistics", "project", STAFF, "get"),
    ("annotation:statistics-compute", "project", STAFF, "post"),
    ("annotation:statistics-csv", "project", STAFF, "get"),
    ("annotation:histograms-csv", "project", STAFF, "get"),
]
DESK: list[Door] = [
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
]
QUERIES: list[Door] = [
    ("judging:overview", "project", STAFF, "get"),
    ("judging:queries", "project", STAFF, "get"),
    ("judging:batches-open", "project", STAFF, "post"),
    ("judging:query-sets", "project", STAFF, "get"),
    ("judging:query-set-create", "project", LEAD, "post"),
    ("judging:query-set", "set", STAFF, "get"),
    ("judging:query-set-change", "set", LEAD, "post"),
    ("judging:caption-edits", "project", STAFF, "get"),
    ("judging:caption-edits-said", "project", STAFF, "get"),
    ("judging:caption-edits-csv", "project", STAFF, "get"),
    ("judging:candidates-rank", "project", STAFF, "post"),
    ("judging:candidates-csv", "project", STAFF, "get"),
]
POOLS: list[Door] = [
    ("pools:pools", "project", STAFF, "get"),
    ("pools:pool-create", "project", STAFF, "post"),
    ("pools:pool", "pooling", STAFF, "get"),
    ("pools:pool-open", "pooling", STAFF, "post"),
    ("pools:pool-discard", "pooling", STAFF, "post"),
    ("pools:pool-csv", "pooling", STAFF, "get"),
    ("pools:pool-overlap-csv", "pooling", STAFF, "get"),
]
REVIEW: list[Door] = [
    ("judging:review-queue", "project", STAFF, "get"),
    ("judging:flags", "project", STAFF, "get"),
    ("judging:flags-csv", "project", STAFF, "get"),
    ("judging:dropped", "project", STAFF, "get"),
    ("judging:dropped-csv", "project", STAFF, "get"),
    ("judging:withdrawn", "project", STAFF, "get"),
    ("judging:withdrawn-csv", "project", STAFF, "get"),
    ("judging:flag-dismiss", "flagged", LEAD, "post"),
    ("judging:pair-recut", "flagged", LEAD, "post"),
    ("judging:pair-bounds", "flagged", LEAD, "post"),
    ("judging:pair-batch", "pair", STAFF, "get"),
    ("judging:pair-withdraw", "pair", LEAD, "post"),
    ("judging:pair-restore", "withdrawn", LEAD, "post"),
    ("judging:batch", "batch", STAFF, "get"),
    ("judging:batch-review", "batch", LEAD, "post"),
    ("judging:review-undo", "closed", LEAD, "post"),
    ("judging:reviews-preview", "project", LEAD, "get"),
    ("judging:reviews-accept", "project", LEAD, "post"),
]
RELEASES: list[Door] = [
    ("judging:releases", "project", STAFF, "get"),
    ("judging:release-create", "project", LEAD, "post"),
    ("judging:release-download", "release", STAFF, "get"),
    ("judging:judgments-csv", "project", STAFF, "get"),
    ("judging:release-words", "project", STAFF, "get"),
    ("judging:release-words-save", "project", LEAD, "post"),
    ("judging:release", "release", STAFF, "get"),
    ("judging:release-retry", "release", LEAD, "post"),
    ("judging:release-changes", "release", STAFF, "get"),
    ("judging:release-changes-csv", "release", STAFF, "get"),
    ("judging:audit", "project", STAFF, "get"),
    ("judging:audit-csv", "project", STAFF, "get"),
    ("judging:audit-versions", "project", STAFF, "get"),
    ("judging:audit-versions-csv", "project", STAFF, "get"),
    ("models_runner:runs", "project", RUNNERS, "get"),
    ("models_runner:export", "project", RUNNERS, "get"),
    ("models_runner:run-new", "project", RUNNERS, "get"),
    ("models_runner:run", "run", STAFF, "get"),
    ("models_runner:compare", "project", RUNNERS, "get"),
    ("models_runner:case", "open_project", RUNNERS, "get"),
    ("models_runner:economy", "project", STAFF, "get"),
    ("models_runner:economy-study", "project", STAFF, "post"),
    ("models_runner:economy-csv", "studied", STAFF, "get"),
    ("models_runner:features", "project", ADMIN, "get"),
    ("models_runner:feature-set-create", "filmed", ADMIN, "post"),
    ("models_runner:feature-set-register", "filmed", ADMIN, "post"),
    ("models_runner:feature-set-cancel", "features", ADMIN, "get"),
    ("models_runner:feature-set-resume", "features", ADMIN, "get"),
    ("models_runner:feature-set-delete", "features", ADMIN, "get"),
    ("models_runner:files", "project", RUNNERS, "get"),
    ("models_runner:file", "release", RUNNERS, "get"),
    ("models_runner:settings", "project", LEAD, "get"),
    ("models_runner:run-create", "project", STAFF, "post"),
    ("models_runner:run-withdraw", "run", LEAD, "post"),
    ("models_runner:run-download", "run", STAFF, "get"),
]
ADMIN = frozenset({"admin"})
BENCHMARKS: list[Door] = [
    ("models_runner:experiments", "project", STAFF, "get"),
    ("models_runner:search", "project", STAFF, "get"),
    ("models_runner:experiment-new", "project", ADMIN, "get"),
    ("models_runner:experiment", "experiment", STAFF, "get"),
    ("models_runner:tables", "project", STAFF, "get"),
    ("models_runner:tables-export", "project", STAFF, "get"),
    ("models_runner:training", "training", STAFF, "get"),
    ("models_runner:training-cancel", "training", ADMIN, "post"),
    ("models_runner:training-resume", "training", ADMIN, "post"),
]
PEOPLE: list[Door] = [
    ("judging:leave-project", "project", ANNOTATOR, "get"),
    ("judging:people", "project", LEAD, "get"),
    ("judging:invitation-create", "project", LEAD, "post"),
    ("judging:registration-switch", "project", LEAD, "post"),
    ("judging:invitation-place", "invitation", LEAD, "get"),
    ("judging:invitation-renew", "invitation", LEAD, "post"),
    ("judging:invitation-revoke", "invitation", LEAD, "post"),
    ("judging:person", "member", LEAD, "get"),
    ("judging:person-standing", "member", LEAD, "post"),
    ("judging:person-password", "member", LEAD, "post"),
    ("judging:person-erase", "member", LEAD, "get"),
]
QUALITY: list[Door] = [
    ("judging:agreement", "project", STAFF, "get"),
    ("judging:agreement-compute", "project", STAFF, "post"),
    ("judging:agreement-csv", "project", STAFF, "get"),
    ("judging:agreement-of", "member", STAFF, "get"),
    ("judging:alerts", "project", STAFF, "get"),
    ("judging:alert", "alert", STAFF, "get"),
    ("judging:alert-see", "alert", LEAD, "post"),
]
COVERAGE: list[Door] = [
    ("judging:coverage", "project", STAFF, "get"),
    ("judging:coverage-create", "project", STAFF, "post"),
    ("judging:coverage-study", "study", STAFF, "get"),
    ("judging:coverage-open", "study", STAFF, "post"),
    ("judging:coverage-discard", "study", STAFF, "post"),
    ("judging:coverage-svg", "study", STAFF, "get"),
    ("judging:coverage-csv", "study", STAFF, "get"),
]
DRAWN: list[Door] = [
    ("judging:figures", "project", STAFF, "get"),
    ("judging:tables", "project", STAFF, "get"),
    ("judging:tables-csv", "project", STAFF, "get"),
    ("judging:tables-tex", "project", STAFF, "get"),
    ("judging:figure", "grades", STAFF, "get"),
    ("judging:figure", "partners", LEAD, "get"),
    ("judging:figure-svg", "partners", LEAD, "get"),
    ("judging:figure-csv", "partners", LEAD, "get"),
]
EXAMS: list[Door] = [
    ("judging:exams", "project", STAFF, "get"),
    ("judging:exam-create", "project", LEAD, "post"),
    ("judging:exam", "exam", STAFF, "get"),
    ("judging:exam-close", "exam", LEAD, "post"),
    ("judging:exam-csv", "exam", STAFF, "get"),
    ("judging:known-exam", "known", STAFF, "get"),
    ("judging:known-explain", "known", LEAD, "post"),
    ("judging:known-retire", "known", LEAD, "post"),
    ("judging:sitting-start", "project", ANNOTATOR, "post"),
]
SETTINGS: list[Door] = [
    ("judging:guideline-confirm", "project", ANNOTATOR, "post"),
    ("judging:guideline-versions", "project", EVERYONE, "get"),
    ("judging:guideline-version", "guideline", EVERYONE, "get"),
    ("judging:guideline-edit", "project", LEAD, "get"),
    ("judging:guideline-save", "project", LEAD, "post"),
    ("judging:guideline-preview", "project", LEAD, "post"),
    ("judging:guideline-review", "project", LEAD, "get"),
    ("judging:guideline-publish", "project", LEAD, "post"),
    ("judging:guideline-discard", "project", LEAD, "post"),
    ("judging:guideline-examples", "project", LEAD, "get"),
    ("judging:guideline-example-set", "project", LEAD, "post"),
    ("judging:guideline-example-remove", "project", LEAD, "post"),
    ("judging:training", "project", STAFF, "get"),
    ("judging:training-draw", "project", LEAD, "post"),
    ("judging:training-pair", "drawn", STAFF, "get"),
    ("judging:training-pair-grade", "drawn", LEAD, "post"),
    ("judging:training-pair-move", "drawn", LEAD, "post"),
    ("judging:training-pair-remove", "drawn", LEAD, "post"),
    ("judging:gate", "project", ANNOTATOR, "get"),
    ("judging:gate-start", "project", ANNOTATOR, "post"),
    ("judging:gate-answer", "project", ANNOTATOR, "post"),
    ("judging:gate-questions", "project", STAFF, "get"),
    ("judging:gate-question-new", "project", LEAD, "get"),
    ("judging:gate-question-create", "project", LEAD, "post"),
    ("judging:gate-preview", "project", STAFF, "get"),
    ("judging:gate-set", "project", LEAD, "post"),
    ("judging:gate-question", "question", LEAD, "get"),
    ("judging:gate-question-change", "question", LEAD, "post"),
    ("judging:gate-question-retire", "question", LEAD, "post"),
    ("judging:policy", "project", STAFF, "get"),
    ("judging:policy-publish", "project", LEAD, "post"),
]
PAY: list[Door] = [
    ("judging:pay", "project", LEAD, "get"),
    ("judging:pay-csv", "project", LEAD, "get"),
    ("judging:pay-rate-set", "project", LEAD, "post"),
    ("judging:hours-correct", "project", LEAD, "post"),
    ("judging:pay-person", "member", LEAD, "get"),
    ("judging:pay-person-csv", "member", LEAD, "get"),
    ("judging:forecast", "project", LEAD, "get"),
    ("judging:hours", "project", ANNOTATOR, "get"),
    ("judging:hours-csv", "project", ANNOTATOR, "get"),
]
MORE_ARGS = {
    "models_runner:export": ["csv"],
    "models_runner:tables-export": ["csv"],
    "models_runner:file": ["video_corpus.json"],
}
DOORS = [*EXAMS, *CORPUS, *DESK, *QUERIES, *POOLS, *COVERAGE, *REVIEW, *RELEASES, *PEOPLE, *QUALITY, *DRAWN]
DOORS += [*SETTINGS, *PAY, *BENCHMARKS]
HELD: list[Door] = [  # only who holds the pair's assignment learns that it exists
    ("judging:pair", "pair", ANNOTATOR, "get"),
    ("judging:judgment-create", "pair", ANNOTATOR, "post"),
    ("judging:flag-set", "pair", ANNOTATOR, "post"),
    ("judging:flag-withdraw", "pair", ANNOTATOR, "post"),
    ("judging:sitting", "sitting", ANNOTATOR, "get"),
    ("judging:sitting-look", "sitting", ANNOTATOR, "get"),
    ("judging:sitting-hand-in", "sitting", ANNOTATOR, "post"),
    ("judging:known-pair", "known", ANNOTATOR, "get"),
    ("judging:known-grade", "known", ANNOTATOR, "post"),
]
OPEN = {
    "home",
    "login",
    "logout",
    "help",
    "healthz",
    "readyz",
    "metrics",
    "judging:preview",
    "judging:preview-clip",
}  # tried elsewhere
OPEN |= {"account", "password-change", "password-forgotten", "password-choose", "judging:invitation", "judging:join"}
OPEN |= {"login-code", "totp", "totp-begin", "totp-codes", "totp-off"}  # tests/config/test_second_step
OPEN |= {"person-export"}  # tests/judging/services/test_person_data
OPEN |= {"session-end", "sessions-end"}  # tests/config/test_browser_sessions
OPEN |= {"tokens", "token-revoke", "api-schema", "api-docs"}
OPEN |= {
    f"annotation:{name}" for name in ("corpora", "import-new")
}  # of no project: tests/annotation/test_import_views
OPEN |= {f"judging:judgment-import{name}" for name in ("s", "-new", "", "-confirm", "-discard", "-report")}
# those above are of no project, too: tests/judging/views/test_judgment_imports
OPEN |= {"models_runner:video"}  # of no role but staff: tests/models_runner/test_searching
OPEN |= {"models_runner:training-file"}  # it takes files: tests/models_runner/test_experiment_pages
OPEN |= {"judging:project-new"}  # of no project: tests/judging/views/test_project_new
OPEN |= {f"annotation:import{name}" for name in ("", "-confirm", "-discard", "-report")}


def zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


KAPPA = {"value": None, "interval": None}
FIGURES = {  # of an annotator of whom little can be told
    "judgments": 2,
    "consensus": None,
    "against_relevance": {"n": 0, "unweighted": KAPPA, "linear": KAPPA, "quadratic": KAPPA},
    "bias": None,
    "distribution": [0, 0, 0, 2, 0],
    "seconds": {"known": 0, "median": None, "mean": None},
    "weeks": [],
    "longest_run": 2,
    "fast_streak": 0,
    "partners": [],
    "with_partners": {"unweighted": None, "linear": None, "quadratic": None},
    "gold": {"judgments": 0, "misaligned": None},
}


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
        self.closed = BatchFactory(query__project=self.project, state="done")
        BatchReview.objects.create(batch=self.closed, decision="close", suggestion="close")
        self.pair = self.batch.pairs.first()
        self.set = NamedQuerySet.objects.create(project=self.project, name="a set")
        self.withdrawn = PairFactory(batch=self.batch, candidate__rank=9, state="withdrawn", reason="withdrawn_by_lead")
        self.release = Release.objects.create(project=self.project, version=1)
        self.release.archive.save("release-1.zip", ContentFile(zipped({"video_corpus.json": b"{}"})), save=False)
        self.release.state = "ready"
        self.release.manifest = {
            "counts": {"pairs": {}},
            "files": {"video_corpus.json": {"bytes": 2, "sha256": "0" * 64}},
        }
        self.release.save()
        self.run = Run.objects.create(project=self.project, release=self.release, system="similarity", split="val")
        self.run.file.save("run.json", ContentFile(b"[]"), save=False)
        self.run.state = "scored"
        self.run.save()
        self.people: dict[str, User] = {
            "annotator": self.assignment.annotator,
            "lead": lead(self.project),
            "admin": admin(self.project),
            "participant": MembershipFactory(project=self.project, role="participant").user,
        }
        self.member = self.assignment.annotator.memberships.get()
        self.invitation, _ = invitation_create(project=self.project, actor=self.people["lead"], role="annotator")
        self.alert: QualityAlert = QualityAlertFactory(project=self.project, annotator=self.assignment.annotator)
        figures = {"project": {}, "annotators": {str(self.member.number): FIGURES}}
        QualityReport.objects.create(project=self.project, data=figures, computed_at=timezone.now())
        statistics_compute(project_id=self.project.pk)
        self.done = done
        self.sitting = in_feedback(self.assignment.annotator, self.project)
        self.exam = self.sitting.exam
        self.known = KnownPair.objects.get(exam=self.exam)

    @cached_property
    def flagged(self) -> Pair:
        """Nobody has judged it, and its video is there."""
        batch = BatchFactory(query__project=self.project, pairs=1)
        held = AssignmentFactory(batch=batch)
        pair: Pair = FlagFactory(assignment=held).pair
        Assignment.objects.filter(pk=held.pk).update(state="finished", ended_at=timezone.now())
        pair.candidate.moment.video.file.save("clip.mp4", ContentFile(b"a video"))
        return pair

    @cached_property
    def guideline(self) -> Guideline:
        return self.project.guidelines.get()

    @cached_property
    def train_set(self) -> TrainSet:
        row = TrainSet(
            project=self.project, depth=2, measure=MeasureFactory(), state="done", finished_at=timezone.now()
        )
        for form in ("json", "parquet"):
            getattr(row, form).save(f"set.{form}", ContentFile(b"x"), save=False)
        row.json_sha256 = row.parquet_sha256 = "0" * 64
        row.save()
        return row

    @cached_property
    def train_form(self) -> dict[str, object]:
        """There is a training query, and a moment to rank."""
        QueryFactory(project=self.project, split="train")
        CaptionFactory(moment__video__corpus=self.project.corpus)
        return {"depth": 1}

    @cached_property
    def pooling(self) -> Pooling:
        return PoolingFactory(project=self.project)  # type: ignore[no-any-return]

    @cached_property
    def drawn(self) -> KnownPair:
        return drawn_pair(self.project, truth=2, tutorial_position=1)

    @cached_property
    def question(self) -> GateQuestion:
        return gate_question(self.project)

    @cached_property
    def study(self) -> Pooling:
        return PoolingFactory(project=self.project, seed=1, others=2)  # type: ignore[no-any-return]

    @cached_property
    def study_form(self) -> dict[str, object]:
        """Of a query that is closed."""
        batch = BatchFactory(query__project=self.project, state="done")
        BatchReview.objects.create(batch=batch, decision="close", suggestion="close")
        return {"numbers": batch.query.number, "n": 1, "which": "all", "top": 2, "others": 1, "seed": 1}

    @cached_property
    def studied(self) -> Project:
        """Its runs were ranked with fewer judgments."""
        result = {"measures": [], "runs": [], "scores": [], "cuts": []}
        EconomyStudy.objects.create(release=self.release, split="test", state="done", result=result)
        return self.project

    @cached_property
    def training(self) -> Training:
        features = {kind: {"name": kind, "path": f"/{kind}.h5"} for kind in ("video", "query")}
        about = {"project": self.project, "release": self.release, "features": features}
        made = Experiment.objects.create(name="x", baseline="xml", top_n=20, **about)
        return Training.objects.create(experiment=made, seed=1)

    @cached_property
    def experiment(self) -> Experiment:
        return self.training.experiment

    @cached_property
    def features(self) -> FeatureSet:
        values = {"name": "pixels", "kind": "video", "extractor": "builtin-pixels", "path": "/features.h5"}
        return FeatureSet.objects.create(project=self.project, **values)

    @cached_property
    def filmed(self) -> Project:
        """There is a video to make features of."""
        VideoFactory(corpus=self.project.corpus)
        return self.project

    @cached_property
    def features_form(self) -> dict[str, object]:
        """There is an official file to add."""
        [root] = settings.FEATURES_ROOTS
        root.mkdir(parents=True, exist_ok=True)
        with FeatureWriter(root / "official.h5", width=2) as writer:
            if "a" not in writer:
                writer.add("a", np.ones((1, 2)))
        return {"what": "video builtin-pixels", "kind": "query", "path": str(root / "official.h5"), "name": ""}

    @cached_property
    def open_project(self) -> Project:
        """Nothing is kept from participants."""
        Leaderboard.objects.create(project=self.project, hides_test=False)
        return self.project

    def url(self, door: Door, *, unknown: bool = False) -> str:
        name, what, *_ = door
        if what == "member":
            return reverse(name, args=[uuid4() if unknown else self.project.uuid, self.member.number])
        if door[0].startswith("judging:figure-") or door[0] == "judging:figure":
            return reverse(name, args=[uuid4() if unknown else self.project.uuid, what])
        row = self.done if name == "judging:batch-review" else getattr(self, what)
        return reverse(name, args=[uuid4() if unknown else row.uuid, *MORE_ARGS.get(name, [])])

    def knock(self, door: Door, person: User | None, *, unknown: bool = False) -> HttpResponse:
        client = Client()
        if person is not None:
            client.force_login(person)
        call: Callable[..., HttpResponse] = getattr(client, door[3])
        return call(self.url(door, unknown=unknown), self.form(door) if door[3] == "post" else {})

    def form(self, door: Door | None = None) -> dict[str, object]:
        """What any of the doors takes."""
        if door in COVERAGE:
            return self.study_form
        if door and door[0] == "judging:known-grade":
            last = self.sitting.grades.latest("attempt").uuid
            return {"key": sitting_key(sitting=self.sitting.uuid, pair=self.known.uuid, last=last), "grade": 3}
        if door and door[0].startswith("models_runner:feature-set"):
            return self.features_form
        if door and door[0] == "annotation:train-set-start":
            return self.train_form
        key = form_key(assignment=self.assignment.uuid, pair=self.pair.uuid, given=1)
        given = {
            "key": key,
            "grade": 3,
            "decision": "close",
            "reason": "broken",
            "name": "new",
            "split": "",
            **EXAM,
        } | {
            "role": "annotator",
            "days": 14,
            "action": "suspend",
            "words": "It plays.",
            "start_s": 2.5,
            "end_s": 7,
        }
        money = {"annotator": self.member.number, "rate": "15.00", "currency": "SGD", "from_day": "2026-03-01"}
        hours = {"day": "2026-03-01", "minutes": "5"}
        pool = {"runs": [self.run.uuid], "iou_min": 0.7, "which": "all"}
        return {**given, **money, **hours, **pool} | (self.settings_form if door in SETTINGS else {})

    @cached_property
    def settings_form(self) -> dict[str, object]:
        """There is a draft of the guideline to publish, a query to draw, and an attempt at the gate to answer."""
        draft_open(project=self.project, actor=None)
        QueryFactory(project=self.project, split="train")
        attempt = gate_attempt(self.people["annotator"], [self.question])
        asked = {"moment": self.drawn.moment.uuid, "query_text": "q", "queries": 1, "by": 1, "open": "no"}
        question = {"description": "What happens?", "option_0": "a", "option_1": "b", "correct": 1}
        answered = {"attempt": attempt.uuid, "answer-0": 0}
        return {**asked, **question, **answered, **guideline_form(), **policy_form(self.project)}
