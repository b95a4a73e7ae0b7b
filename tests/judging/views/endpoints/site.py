"""One project with all that a URL can name, and people who ask for it."""

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

from accounts.models import Membership, Project, User
from annotation.models import NamedQuerySet, Pooling, Proposal, Topic, TrainSet, VideoFolder, VideoUpload
from annotation.statistics.services import statistics_compute
from annotation.topics.services import topic_create
from judging.guidelines.services import draft_open
from judging.models import (
    Assignment,
    Batch,
    BatchReview,
    ClipAssignment,
    Guideline,
    KnownPair,
    Pair,
    QualityAlert,
    QualityReport,
    QueryCheck,
    Release,
    ScreeningQuestion,
    VerificationAssignment,
    VerificationInspection,
    VerificationPair,
    VerificationStudy,
    Webhook,
    WebhookDelivery,
    WritingClip,
    WritingRound,
    WrittenQuery,
)
from judging.people.services import invitation_create
from judging.work.rules import RULE_FIELDS, attempt_key, form_key
from models_runner.models import (
    EconomyStudy,
    Experiment,
    FeatureSet,
    GroundTruth,
    Leaderboard,
    Run,
    SettingsSearch,
    Training,
    TruthRun,
)
from moment_retrieval.features import FeatureWriter
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    CaptionFactory,
    ClipAssignmentFactory,
    FlagFactory,
    JudgmentFactory,
    MeasureFactory,
    MembershipFactory,
    PairFactory,
    PoolingFactory,
    ProjectFactory,
    QualityAlertFactory,
    QueryCheckFactory,
    QueryFactory,
    UserFactory,
    VerificationAnswerFactory,
    VerificationAssignmentFactory,
    VerificationInspectionFactory,
    VerificationPairFactory,
    VerificationStudyFactory,
    VideoFactory,
    VideoUploadFactory,
    WebhookFactory,
    WritingClipFactory,
    WritingRoundFactory,
    WrittenQueryFactory,
    admin,
    lead,
    writer,
)
from tests.judging.exams import in_feedback
from tests.judging.settings import drawn_pair, guideline_form, policy_form, screening_attempt, screening_question
from tests.judging.views.endpoints.routes import COVERAGE, MORE_ARGS, SETTINGS, Endpoint

EXAM = {"kind": "cohort", "queries": 1, "depth": 1, "purpose": "exam"}


def zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


KAPPA = {"value": None, "interval": None}
FIGURES = {  # of an annotator of whom little can be told
    **{"judgments": 2, "consensus": None, "bias": None, "distribution": [0, 0, 0, 2, 0], "weeks": [], "partners": []},
    **{"longest_run": 2, "fast_streak": 0, "gold": {"judgments": 0, "misaligned": None}},
    "against_relevance": {"n": 0, "unweighted": KAPPA, "linear": KAPPA, "quadratic": KAPPA},
    "seconds": {"known": 0, "median": None, "mean": None},
    "with_partners": {"unweighted": None, "linear": None, "quadratic": None},
}


ENTRY: dict[str, object] = {
    "text": "A man opens the door of a red car.", "type": "v", "start_s": 1, "end_s": 2, "version": 0
}  # fmt: skip
SHARES = {"kind": "visual", "share_v": 75, "share_t": 9, "share_vt": 16}
LIMITS = {"queries_per_clip": 5, "queries_per_visit": 1, "least_tokens": 8, "most_overlap": 0.8}
COLLECTION_FORMS: dict[str, Callable[["Site"], dict[str, object]]] = {
    "judging:clip-take": lambda site: {"round": site.writing_round.uuid},
    "judging:clip-draft": lambda site: ENTRY,
    "judging:query-submit": lambda site: {**ENTRY, "key": uuid4()},
    "judging:writing-round-create": lambda site: {"name": site.clip_assignment.uuid, **SHARES, **LIMITS},
    "judging:writing-round-change": lambda site: {"change": "pause"},
    "judging:writer-change": lambda site: {
        "writer_uuid": site.people["writer"].uuid, "change": "stop", "reason": "Too short."
    },
    "judging:verification-create": lambda site: {
        "name": site.verification_pair.uuid, "n_pairs": 1, "answers_per_pair": 1, "seed": 1, "statements": "It fits."
    },
    "judging:verification-change": lambda site: {"change": "close"},
    "judging:verification-answer": lambda site: {"statement_1": 4},
    "judging:verification-decide": lambda site: {"decision": "accept", "start_s": 1.5, "end_s": 4.25},
    "judging:query-check": lambda site: {"decision": "accept", "start_s": 1.5, "end_s": 4.25},
}  # fmt: skip


@dataclass
class Site:
    """One project with everything a URL can name, and one person for each relation to it."""

    project: Project = field(default_factory=ProjectFactory)

    def __post_init__(self) -> None:
        self.batch: Batch = BatchFactory(query__project=self.project)
        self.assignment: Assignment = AssignmentFactory(
            batch=self.batch, expires_at=timezone.now() + timedelta(minutes=20)
        )
        for pair in self.batch.pairs.all():
            JudgmentFactory(assignment=self.assignment, pair=pair)
        finished_batch = BatchFactory(query__project=self.project, state="done")
        self.closed = BatchFactory(query__project=self.project, state="done")
        BatchReview.objects.create(batch=self.closed, decision="close", suggestion="close")
        self.pair = self.batch.pairs.first()
        self.set = NamedQuerySet.objects.create(project=self.project, name="a set")
        self.withdrawn = PairFactory(batch=self.batch, candidate__rank=9, state="withdrawn", reason="withdrawn_by_lead")
        self.release = Release.objects.create(project=self.project, version=self.project.releases.count() + 1)
        self.release.archive.save("release-1.zip", ContentFile(zipped({"video_corpus.json": b"{}"})), save=False)
        self.release.state = "ready"
        files = {"video_corpus.json": {"bytes": 2, "sha256": "0" * 64}}
        self.release.manifest = {"counts": {"pairs": {}}, "files": files}
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
            "writer": writer(self.project),
            "checker": MembershipFactory(project=self.project, role="checker").user,
        }
        self.strangers = {role: MembershipFactory(role=role).user for role in Membership.Role}
        self.member = self.assignment.annotator.memberships.get()
        self.invitation, _ = invitation_create(project=self.project, actor=self.people["lead"], role="annotator")
        self.alert: QualityAlert = QualityAlertFactory(project=self.project, annotator=self.assignment.annotator)
        figures = {"project": {}, "annotators": {str(self.member.number): FIGURES}}
        report = {"data": figures, "computed_at": timezone.now()}
        QualityReport.objects.update_or_create(project=self.project, defaults=report)
        statistics_compute(project_id=self.project.pk)
        self.done = finished_batch
        self.exam_attempt = in_feedback(self.assignment.annotator, self.project)
        self.exam = self.exam_attempt.exam
        self.known = KnownPair.objects.get(exam=self.exam)

    @cached_property
    def colleague(self) -> User:
        """An admin, whom a lead makes a lead as well."""
        return admin(self.project)

    @cached_property
    def flagged(self) -> Pair:
        """Nobody has judged it, and its video is there."""
        batch = BatchFactory(query__project=self.project, pairs=1)
        assignment = AssignmentFactory(batch=batch)
        pair: Pair = FlagFactory(assignment=assignment).pair
        Assignment.objects.filter(pk=assignment.pk).update(state="finished", ended_at=timezone.now())
        pair.candidate.moment.video.file.save("clip.mp4", ContentFile(b"a video"))
        return pair

    @cached_property
    def guideline(self) -> Guideline:
        return self.project.guidelines.get()

    @cached_property
    def topic(self) -> Topic:
        return topic_create(project=self.project, number=1_000_000, title="A man sings", narrative="Loudly.")

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
    def video_upload(self) -> VideoUpload:
        return VideoUploadFactory(project=self.project)  # type: ignore[no-any-return]

    @cached_property
    def video_folder(self) -> VideoFolder:
        about = {"project": self.project, "corpus": self.project.dataset.corpus, "started_by": UserFactory()}
        return VideoFolder.objects.create(path="/films", state="cancelled", **about)

    @cached_property
    def train_form(self) -> dict[str, object]:
        """There is a training query, and a moment to rank."""
        QueryFactory(project=self.project, split="train")
        CaptionFactory(moment__video__corpus=self.project.dataset.corpus)
        return {"depth": 1}

    @cached_property
    def proposal(self) -> Proposal:
        """Shots of the corpus are being detected."""
        return Proposal.objects.create(corpus=self.project.dataset.corpus, method="shots", threshold=3)

    @cached_property
    def pooling(self) -> Pooling:
        return PoolingFactory(project=self.project)  # type: ignore[no-any-return]

    @cached_property
    def writing_round(self) -> WritingRound:
        """Of one clip, which the writer has."""
        return self.clip_assignment.clip.round

    @cached_property
    def clip_assignment(self) -> ClipAssignment:
        row = WritingRoundFactory(project=self.project)
        clip = WritingClipFactory(round=row)
        clip.video.file.save("clip.mp4", ContentFile(b"a video"))
        return ClipAssignmentFactory(clip=clip, writer=self.people["writer"])  # type: ignore[no-any-return]

    @cached_property
    def writing_clip(self) -> WritingClip:
        """Somebody found nothing more in it."""
        return WritingClipFactory(round=self.writing_round, state="exhausted")  # type: ignore[no-any-return]

    @cached_property
    def written_query(self) -> WrittenQuery:
        """It waits to be checked."""
        return WrittenQueryFactory(assignment=self.clip_assignment)  # type: ignore[no-any-return]

    @cached_property
    def query_check(self) -> QueryCheck:
        """The checker's, of a query that was sent back."""
        query = WrittenQueryFactory(assignment__clip__round=self.writing_round)
        about = {"state": "sent_back", "n_queries": 1, "n_sent_back": 1, "ended_at": timezone.now()}
        ClipAssignment.objects.filter(pk=query.assignment_id).update(**about)
        WrittenQuery.objects.filter(pk=query.pk).update(state="sent_back")
        return QueryCheckFactory(query=query, checker=self.people["checker"])  # type: ignore[no-any-return]

    @cached_property
    def verification_study(self) -> VerificationStudy:
        return self.verification_pair.study  # type: ignore[no-any-return]

    @cached_property
    def verification_pair(self) -> VerificationPair:
        """It waits for two people."""
        return self._verification_pair(VerificationStudyFactory(project=self.project, answers_per_pair=2))

    def _verification_pair(self, study: VerificationStudy) -> VerificationPair:
        pair = VerificationPairFactory(study=study)
        pair.description.moment.video.file.save("clip.mp4", ContentFile(b"a video"))
        return pair  # type: ignore[no-any-return]

    @cached_property
    def verification_assignment(self) -> VerificationAssignment:
        """The checker has it."""
        pair = self._verification_pair(self.verification_study)
        return VerificationAssignmentFactory(pair=pair, verifier=self.people["checker"])  # type: ignore[no-any-return]

    @cached_property
    def verification_answers(self) -> VerificationAssignment:
        """The checker disagrees strongly."""
        pair = self._verification_pair(self.verification_study)
        about = {"assignment__pair": pair, "assignment__verifier": self.people["checker"]}
        row: VerificationAssignment = VerificationAnswerFactory(value=1, **about).assignment
        row.answered_at = timezone.now()
        row.save()
        return row

    @cached_property
    def verification_inspection(self) -> VerificationInspection:
        """It waits for a checker."""
        return VerificationInspectionFactory(  # type: ignore[no-any-return]
            pair=self._verification_pair(self.verification_study)
        )

    @cached_property
    def drawn(self) -> KnownPair:
        return drawn_pair(self.project, truth=2, tutorial_position=1)

    @cached_property
    def question(self) -> ScreeningQuestion:
        return screening_question(self.project)

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
        counts = {"judgments": 40, "pairs": 20, "queries": 2}
        result = {"measures": ["R@10"], "runs": ["one", "two"], "scores": [[0.5], [0.4]], "cuts": [], **counts}
        EconomyStudy.objects.create(release=self.release, split="test", state="done", result=result)
        return self.project

    @cached_property
    def training(self) -> Training:
        features = {kind: {"name": kind, "path": f"/{kind}.h5"} for kind in ("video", "query")}
        about = {"project": self.project, "release": self.release, "features": features}
        experiment = Experiment.objects.create(name="x", baseline="xml", top_n=20, **about)
        return Training.objects.create(experiment=experiment, seed=1)

    @cached_property
    def experiment(self) -> Experiment:
        return self.training.experiment

    @cached_property
    def settings_search(self) -> SettingsSearch:
        """Cancelled, with a trial that has ended."""
        features = {kind: {"name": kind, "path": f"/{kind}.h5"} for kind in ("video", "query")}
        about = {"project": self.project, "release": self.release, "features": features, "name": "rates"}
        trial = {"settings": {"lr": 1e-4}, "state": "finished", "best": 0.25, "curve": [0.25], "reason": ""}
        state = {"state": "cancelled", "ended_at": timezone.now(), "n_done": 1, "trials": [trial]}
        fields = {"baseline": "xml", "top_n": 20, "space": {"lr": [1e-4, 1e-3]}, "method": "grid", "n_runs": 2}
        return SettingsSearch.objects.create(**about, **state, **fields)

    @cached_property
    def webhook(self) -> Webhook:
        return WebhookFactory(project=self.project)  # type: ignore[no-any-return]

    @cached_property
    def delivery(self) -> WebhookDelivery:
        about = {"event": "ping", "payload": {}, "state": "failed", "error": "No answer."}
        return WebhookDelivery.objects.create(webhook=self.webhook, next_try_at=timezone.now(), **about)

    @cached_property
    def features(self) -> FeatureSet:
        values = {"name": "pixels", "kind": "video", "extractor": "builtin-pixels", "path": "/features.h5"}
        return FeatureSet.objects.create(project=self.project, **values)

    @cached_property
    def truth(self) -> GroundTruth:
        """Labels that are for leads and admins; no run stands on them."""
        return self._truth("private", is_public=False)

    @cached_property
    def public_truth(self) -> GroundTruth:
        return self._truth("public", is_public=True)

    def _truth(self, name: str, *, is_public: bool) -> GroundTruth:
        about = {"form": "tvr", "split": "test", "state": "ready", "n_queries": 1, "measures": ["vcmr"]}
        truth = GroundTruth(project=self.project, name=name, is_public=is_public, sha256="0" * 64, **about)
        truth.file_name = "labels.jsonl"
        truth.file.save("labels.jsonl", ContentFile(b"{}"))
        return truth

    @cached_property
    def own_truth_run(self) -> TruthRun:
        """Of the participant, scored."""
        about = {"system": "theirs", "measures": ["vcmr"], "state": "scored", "sha256": "0" * 64}
        run = TruthRun(truth=self.public_truth, owner=self.people["participant"], **about)
        run.file_name = "theirs.json"
        run.file.save("theirs.json", ContentFile(b"{}"))
        run.scores.create(family="vcmr", metric="R@1,IoU>=0.5", value=0.5)
        return run

    @cached_property
    def filmed(self) -> Project:
        """There is a video to make features of."""
        VideoFactory(corpus=self.project.dataset.corpus)
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

    def url(self, endpoint: Endpoint, *, unknown: bool = False) -> str:
        name, what, *_ = endpoint
        if what == "member":
            return reverse(name, args=[uuid4() if unknown else self.project.uuid, self.member.number])
        if what == "writer":
            return reverse(name, args=[uuid4() if unknown else self.project.uuid, self.people["writer"].uuid])
        if endpoint[0].startswith("judging:figure-") or endpoint[0] == "judging:figure":
            return reverse(name, args=[uuid4() if unknown else self.project.uuid, what])
        row = self.done if name == "judging:batch-review" else getattr(self, what)
        return reverse(name, args=[uuid4() if unknown else row.uuid, *MORE_ARGS.get(name, [])])

    def request(self, endpoint: Endpoint, person: User | None, *, unknown: bool = False) -> HttpResponse:
        client = Client()
        if person is not None:
            client.force_login(person)
        call: Callable[..., HttpResponse] = getattr(client, endpoint[3])
        return call(self.url(endpoint, unknown=unknown), self.form(endpoint) if endpoint[3] == "post" else {})

    def form(self, endpoint: Endpoint | None = None) -> dict[str, object]:
        """Return the endpoint's form."""
        if endpoint in COVERAGE:
            return self.study_form
        if endpoint and endpoint[0] == "judging:known-grade":
            last = self.exam_attempt.grades.latest("try_number").uuid
            return {"key": attempt_key(attempt=self.exam_attempt.uuid, pair=self.known.uuid, last=last), "grade": 3}
        if endpoint and endpoint[0].startswith("models_runner:feature-set"):
            return self.features_form
        if endpoint and endpoint[0] == "judging:staff-role":
            return {"person": self.colleague.uuid, "role": "lead", "change": "add"}
        if endpoint and endpoint[0] == "annotation:prompt-save":
            return {"text": "Replace names."}
        if endpoint and endpoint[0] in ("annotation:topic-new", "annotation:topic-change"):
            return {"title": f"A dog runs {uuid4()}", "split": "test", "seen_version": self.topic.versions.count()}
        if endpoint and endpoint[0] == "annotation:train-set-start":
            return self.train_form
        if endpoint and endpoint[0].startswith("annotation:proposal-"):
            is_start = endpoint[0].endswith("-start")
            return {"method": "uniform", "segment_s": 5} if is_start else {"proposal": self.proposal.uuid}
        if endpoint and endpoint[0] in COLLECTION_FORMS:
            return COLLECTION_FORMS[endpoint[0]](self)
        if endpoint and endpoint[0] == "judging:rules-change":
            return {name: int(getattr(self.project, name)) for name in RULE_FIELDS if name != "strata"}
        key = form_key(assignment=self.assignment.uuid, pair=self.pair.uuid, n_answers=1)
        values = {"key": key, "grade": 3, "decision": "close", "reason": "broken", "name": "new", "split": "", **EXAM}
        values |= {
            "role": "annotator",
            "days": 14,
            "action": "suspend",
            "words": "It plays.",
            "start_s": 2.5,
            "end_s": 7,
        }
        money = {"annotator": self.member.number, "rate": "15.00", "currency": "SGD", "from_day": "2026-03-01"}
        hours = {"day": "2026-03-01", "minutes": "5"}
        if endpoint and endpoint[0] == "judging:webhook-create":
            return {"url": "https://example.org/new", "events": ["release.ready"]}
        pool = {"runs": [self.run.uuid], "iou_min": 0.7, "which": "all"}
        return {**values, **money, **hours, **pool} | (self.settings_form if endpoint in SETTINGS else {})

    @cached_property
    def settings_form(self) -> dict[str, object]:
        """There is a draft of the guideline to publish, a query to draw, and a screening attempt to answer."""
        draft_open(project=self.project, actor=None)
        QueryFactory(project=self.project, split="train")
        attempt = screening_attempt(self.people["annotator"], [self.question])
        options = {"moment": self.drawn.moment.uuid, "query_text": "q", "queries": 1, "by": 1, "open": "no"}
        question = {"description": "What happens?", "option_0": "a", "option_1": "b", "correct": 1}
        answered = {"attempt": attempt.uuid, "answer-0": 0}
        rules = {name: getattr(self.project, name) for name in RULE_FIELDS}
        return {**options, **question, **answered, **rules, **guideline_form(), **policy_form(self.project)}
