"""The least that is valid of each row, and the people of a project."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import factory
from django.core.files.base import ContentFile
from django.db import connection, transaction
from django.utils import timezone
from factory.django import DjangoModelFactory, FileField

from accounts.models import Membership, Project, User
from accounts.services.credentials import encrypt
from annotation.corpora.services.corpora import project_over
from annotation.models import (
    Candidate,
    Caption,
    Corpus,
    Description,
    Measure,
    Moment,
    NamedQuerySet,
    Pooling,
    PoolSource,
    Query,
    TopicVersion,
    Video,
    VideoUpload,
)
from annotation.pools.rules import BATCH_SIZE, BATCHES
from judging.guidelines.selectors import levels_of
from judging.models import (
    Assignment,
    Batch,
    ClipAssignment,
    Exam,
    ExamAttempt,
    ExamGrade,
    Flag,
    GoldGrade,
    Guideline,
    GuidelineConfirmation,
    Judgment,
    KnownPair,
    Pair,
    Policy,
    QualityAlert,
    QueryCheck,
    VerificationAnswer,
    VerificationAssignment,
    VerificationInspection,
    VerificationPair,
    VerificationStatement,
    VerificationStudy,
    Webhook,
    WritingClip,
    WritingRound,
    WrittenQuery,
)
from judging.webhooks.models import Event
from judging.work.services.batches import slots_count

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTES = timedelta(minutes=1)
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00"
    b"\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


class Numbered(DjangoModelFactory):
    """Numbers far above those that tests and importers give, and all of one width, whatever ran before."""

    class Meta:
        abstract = True

    @classmethod
    def _setup_next_sequence(cls) -> int:
        return 10_000


class UserFactory(Numbered):
    class Meta:
        model = User

    username = factory.Sequence("person-{}".format)
    is_simulated = False


class CorpusFactory(Numbered):
    class Meta:
        model = Corpus

    name = factory.Sequence("corpus {}".format)


class VideoFactory(Numbered):
    class Meta:
        model = Video

    corpus = factory.SubFactory(CorpusFactory)
    name = factory.Sequence("show_s01e{:03d}".format)
    index = factory.Sequence(int)
    duration_s = 90.0


class MomentFactory(Numbered):
    """A moment ready to be judged; ``preview_state`` and ``preview`` make it anything else."""

    class Meta:
        model = Moment

    video = factory.SubFactory(VideoFactory)
    start_s = 1.5
    end_s = 4.25
    preview = FileField(data=GIF, filename="preview.gif")
    preview_state = Moment.Preview.READY

    class Params:
        uncut = factory.Trait(preview="", preview_state=Moment.Preview.MISSING)


class DescriptionFactory(Numbered):
    class Meta:
        model = Description

    moment = factory.SubFactory(MomentFactory)
    corpus = factory.SelfAttribute("moment.video.corpus")
    source_id = factory.Sequence(int)
    text = factory.Sequence("Ross reads letter {} aloud.".format)
    kind = Description.Kind.VIDEO


class CaptionFactory(Numbered):
    class Meta:
        model = Caption

    description = factory.SubFactory(DescriptionFactory, moment=factory.SelfAttribute("..moment"))
    moment = factory.SubFactory(MomentFactory)
    text = factory.Sequence("A man reads letter {} aloud.".format)
    provider = Caption.Provider.AS_DESCRIBED


class PolicyFactory(Numbered):
    class Meta:
        model = Policy

    version = 1


class GuidelineFactory(Numbered):
    class Meta:
        model = Guideline

    version = 1
    body = "## Judge by the picture alone."
    levels = factory.LazyAttribute(lambda row: levels_of(row.project.top_grade))


class ProjectFactory(Numbered):
    """A project with a policy and a guideline in force, so that people can judge in it."""

    class Meta:
        model = Project
        skip_postgeneration_save = True

    name = factory.Sequence("project {}".format)
    corpus = factory.SubFactory(CorpusFactory)
    policy = factory.RelatedFactory(PolicyFactory, "project")
    guideline = factory.RelatedFactory(GuidelineFactory, "project")

    @classmethod
    def _create(cls, model_class: type[Project], *args: Any, **kwargs: Any) -> Project:
        return project_over(**kwargs)


class VideoUploadFactory(Numbered):
    """Of 100 bytes, none of which is here."""

    class Meta:
        model = VideoUpload

    project = factory.SubFactory(ProjectFactory)
    corpus = factory.LazyAttribute(lambda row: row.project.dataset.corpus)
    owner = factory.SubFactory(UserFactory)
    name = factory.Sequence("upload {}".format)
    suffix = ".mp4"
    size = 100
    moved_at = factory.LazyFunction(timezone.now)
    expires_at = factory.LazyFunction(lambda: timezone.now() + timedelta(hours=24))


class MembershipFactory(Numbered):
    """Anybody with a role; an annotator is qualified and has confirmed the guideline."""

    class Meta:
        model = Membership
        skip_postgeneration_save = True

    project = factory.SubFactory(ProjectFactory)
    user = factory.SubFactory(UserFactory)
    roles = factory.LazyAttribute(lambda row: [row.role])
    number = factory.Maybe(factory.LazyAttribute(lambda row: "annotator" in row.roles), factory.Sequence(int), None)
    status = factory.LazyAttribute(lambda row: "qualified" if "annotator" in row.roles else "")

    class Params:
        role = Membership.Role.ANNOTATOR

    @factory.post_generation
    def confirmed(self, create: bool, extracted: bool | None, **kwargs: Any) -> None:
        """The qualified have read the guideline, unless ``confirmed=False``."""
        if extracted is False or self.status != "qualified":  # type: ignore[attr-defined]
            return
        if guideline := self.project.guidelines.order_by("-version").first():  # type: ignore[attr-defined]
            GuidelineConfirmationFactory(guideline=guideline, annotator=self.user)  # type: ignore[attr-defined]


class GuidelineConfirmationFactory(Numbered):
    class Meta:
        model = GuidelineConfirmation


class NamedQuerySetFactory(Numbered):
    class Meta:
        model = NamedQuerySet

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence("set {}".format)


class QueryFactory(Numbered):
    class Meta:
        model = Query

    project = factory.SubFactory(ProjectFactory)
    number = factory.Sequence(int)
    text = factory.Sequence("A person looks for thing {}".format)
    split = Query.Split.VAL


class MeasureFactory(Numbered):
    class Meta:
        model = Measure
        django_get_or_create = ("name", "model", "version", "normalisation")

    name = model = "hashed"
    version = "1"
    normalisation = "as written"


class CandidateFactory(Numbered):
    class Meta:
        model = Candidate

    query = factory.SubFactory(QueryFactory)
    moment = factory.SubFactory(MomentFactory, video__corpus=factory.SelfAttribute("...query.project.dataset.corpus"))
    rank = 1
    similarity = factory.LazyAttribute(lambda row: round(0.987654 - row.rank / 100, 6))
    measure = factory.SubFactory(MeasureFactory)

    @classmethod
    def _create(cls, model_class: type[Candidate], *args: Any, **kwargs: Any) -> Candidate:
        """A test may make the batch first; the database wants the candidates first."""
        if not kwargs["query"].batches.exists():
            return super()._create(model_class, *args, **kwargs)  # type: ignore[no-any-return]
        with transaction.atomic(), triggers_asleep():
            return super()._create(model_class, *args, **kwargs)  # type: ignore[no-any-return]


class PoolingFactory(Numbered):
    """A plan of one run that nobody has opened yet, without entries."""

    class Meta:
        model = Pooling
        skip_postgeneration_save = True

    project = factory.SubFactory(ProjectFactory)
    depth = 20
    iou_min = 0.7
    state = Pooling.State.READY
    opened_at = factory.Maybe(factory.LazyAttribute(lambda row: row.state in ("opening", "done")), NOW, None)
    sources = factory.RelatedFactory("tests.factories.PoolSourceFactory", "pooling")


class PoolSourceFactory(Numbered):
    class Meta:
        model = PoolSource

    pooling = factory.SubFactory(PoolingFactory, sources=None)
    name = "first run"


class BatchFactory(Numbered):
    """An open batch of ``pairs`` open pairs (2 by default), ranks in order."""

    class Meta:
        model = Batch
        skip_postgeneration_save = True

    query = factory.SubFactory(QueryFactory)
    project = factory.SelfAttribute("query.project")
    number = 1
    top_grade = factory.SelfAttribute("project.top_grade")
    judges = factory.SelfAttribute("project.judges")
    max_spread = factory.SelfAttribute("project.max_spread")
    max_rounds = factory.SelfAttribute("project.max_rounds")
    strata = factory.LazyAttribute(lambda row: row.project.strata if row.number <= BATCHES else [])
    free_slots = factory.SelfAttribute("judges")
    done_at = factory.Maybe(factory.LazyAttribute(lambda row: row.state == "done"), NOW, None)
    state = Batch.State.OPEN

    @factory.post_generation
    def pairs(self, create: bool, extracted: int | None, **kwargs: Any) -> None:
        first = (self.number - 1) * BATCH_SIZE + 1  # type: ignore[attr-defined]
        pairs_make(self, range(first, first + (2 if extracted is None else extracted)))  # type: ignore[arg-type]


def pairs_make(batch: Batch, ranks: range) -> None:
    """Make a pair per rank like ``PairFactory``, by one statement a table."""
    if not ranks:
        return
    corpus, measure = batch.project.dataset.corpus, MeasureFactory()
    videos = Video.objects.bulk_create([VideoFactory.build(corpus=corpus) for _ in ranks])
    moments = Moment.objects.bulk_create([MomentFactory.build(video=video) for video in videos])
    candidates = [
        CandidateFactory.build(query=batch.query, moment=moment, rank=rank, measure=measure)
        for moment, rank in zip(moments, ranks, strict=True)
    ]
    with transaction.atomic(), triggers_asleep():
        Candidate.objects.bulk_create(candidates)
    Pair.objects.bulk_create([Pair(batch=batch, candidate=candidate) for candidate in candidates])


class PairFactory(Numbered):
    class Meta:
        model = Pair

    batch = factory.SubFactory(BatchFactory, pairs=0)
    candidate = factory.SubFactory(CandidateFactory, query=factory.SelfAttribute("..batch.query"))


class AssignmentFactory(Numbered):
    class Meta:
        model = Assignment
        skip_postgeneration_save = True

    batch = factory.SubFactory(BatchFactory)
    project = factory.SelfAttribute("batch.project")
    round = factory.SelfAttribute("batch.round")
    slot = 1
    annotator = factory.LazyAttribute(lambda row: annotator(row.project))
    topic_version = factory.LazyAttribute(
        lambda row: TopicVersion.objects.filter(topic=row.batch.query_id).order_by("-version").first()
    )
    shuffle_seed = 7
    pair_ids = factory.LazyAttribute(lambda row: pairs_left(row.batch, row.round, row.slot))
    expires_at = NOW + 20 * MINUTES
    ended_at = factory.Maybe(factory.LazyAttribute(lambda row: row.state != "open"), NOW, None)
    state = Assignment.State.OPEN

    @factory.post_generation
    def slot_taken(self, create: bool, extracted: object, **kwargs: Any) -> None:
        batch = Batch.objects.get(pk=self.batch.pk)  # type: ignore[attr-defined]
        batch.begun = True
        batch.save()
        slots_count(batch)
        self.batch.refresh_from_db()  # type: ignore[attr-defined]


class Graded(Numbered):
    """Fields that a judgment and a gold grade share."""

    class Meta:
        abstract = True

    annotator = factory.SelfAttribute("assignment.annotator")
    grade = 3
    position = factory.LazyAttribute(lambda row: row.assignment.pair_ids.index(row.pair.pk) + 1)
    source = Judgment.Source.PERSON
    guideline = factory.LazyAttribute(lambda row: row.assignment.project.guidelines.latest("version"))
    policy = factory.LazyAttribute(lambda row: row.assignment.project.policies.latest("version"))


class JudgmentFactory(Graded):
    class Meta:
        model = Judgment

    assignment = factory.SubFactory(AssignmentFactory)
    pair = factory.LazyAttribute(lambda row: row.assignment.batch.pairs.order_by("candidate__rank").first())
    round = factory.SelfAttribute("assignment.round")
    slot = factory.SelfAttribute("assignment.slot")


class GoldGradeFactory(Graded):
    """A grade for the first pair of an assignment that asks for it as gold."""

    class Meta:
        model = GoldGrade

    assignment = factory.SubFactory(AssignmentFactory, gold_ids=factory.LazyAttribute(lambda row: row.pair_ids[:1]))
    pair = factory.LazyAttribute(lambda row: Pair.objects.get(pk=row.assignment.pair_ids[0]))
    truth = 2


class FlagFactory(Numbered):
    class Meta:
        model = Flag

    assignment = factory.SubFactory(AssignmentFactory)
    pair = factory.LazyAttribute(lambda row: row.assignment.batch.pairs.order_by("candidate__rank").first())
    annotator = factory.SelfAttribute("assignment.annotator")
    reason = Flag.Reason.BROKEN
    created_at = NOW


class QualityAlertFactory(Numbered):
    class Meta:
        model = QualityAlert

    project = factory.SubFactory(ProjectFactory)
    annotator = factory.LazyAttribute(lambda row: annotator(row.project))
    kind = QualityAlert.Kind.BIAS
    value = 1.25
    threshold = 0.75
    judgments = 60


class ExamFactory(Numbered):
    """An open exam of a first cohort, without pairs."""

    class Meta:
        model = Exam

    project = factory.SubFactory(ProjectFactory)
    number = factory.LazyAttribute(lambda row: row.project.exams.count() + 1)
    kind = Exam.Kind.COHORT
    state = Exam.State.OPEN
    seed = 7
    queries = 1
    depth = 1
    closed_at = factory.Maybe(factory.LazyAttribute(lambda row: row.state == "closed"), NOW, None)


class KnownPairFactory(Numbered):
    """A pair of an exam that is open, its truth not known yet."""

    class Meta:
        model = KnownPair

    exam = factory.SubFactory(ExamFactory)
    project = factory.LazyAttribute(lambda row: row.exam.project)
    query = factory.SubFactory(QueryFactory, project=factory.SelfAttribute("..project"), split=Query.Split.TRAIN)
    moment = factory.SubFactory(MomentFactory, video__corpus=factory.SelfAttribute("...project.dataset.corpus"))
    rank = 1
    source = KnownPair.Source.EXAM


class ExamAttemptFactory(Numbered):
    """Somebody sits an open exam of one pair."""

    class Meta:
        model = ExamAttempt

    exam = factory.SubFactory(ExamFactory)
    project = factory.SelfAttribute("exam.project")
    annotator = factory.LazyAttribute(lambda row: annotator(row.project))
    purpose = ExamAttempt.Purpose.EXAM
    seed = 7
    known_ids = factory.LazyAttribute(lambda row: [KnownPairFactory(exam=row.exam).pk])


class ExamGradeFactory(Numbered):
    """A first grade for the first pair of an exam attempt."""

    class Meta:
        model = ExamGrade

    exam_attempt = factory.SubFactory(ExamAttemptFactory)
    known_pair_id = factory.LazyAttribute(lambda row: row.exam_attempt.known_ids[0])
    annotator = factory.SelfAttribute("exam_attempt.annotator")
    grade = 3
    position = 1
    guideline = factory.LazyAttribute(lambda row: row.exam_attempt.project.guidelines.latest("version"))


@contextmanager
def triggers_asleep() -> Iterator[None]:
    """Inside the block the database lets through what its triggers refuse; constraints still hold."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        cursor.execute("SET LOCAL session_replication_role = origin")


def pairs_left(batch: Batch, number: int, slot: int) -> list[int]:
    """Pairs without a grade at this round and slot, best rank first; all of the batch's where none is left."""
    pairs = batch.pairs.order_by("candidate__rank")
    judged = Judgment.objects.filter(round=number, slot=slot, pair__batch=batch).values("pair")
    return list(pairs.exclude(pk__in=judged).values_list("pk", flat=True)) or list(pairs.values_list("pk", flat=True))


def annotator(project: Project, **values: Any) -> User:
    """A new annotator of the project."""
    return MembershipFactory(project=project, user=UserFactory(**values)).user  # type: ignore[no-any-return]


def lead(project: Project) -> User:
    return MembershipFactory(project=project, role=Membership.Role.LEAD).user  # type: ignore[no-any-return]


def admin(project: Project) -> User:
    return MembershipFactory(project=project, role=Membership.Role.ADMIN).user  # type: ignore[no-any-return]


def writer(project: Project) -> User:
    return MembershipFactory(project=project, role=Membership.Role.WRITER).user  # type: ignore[no-any-return]


class WritingRoundFactory(Numbered):
    """An open round of all three types, without clips."""

    class Meta:
        model = WritingRound

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence("round {}".format)


class WritingClipFactory(Numbered):
    """A clip of 90 s without subtitles; its video has a file."""

    class Meta:
        model = WritingClip

    round = factory.SubFactory(WritingRoundFactory)
    video = factory.SubFactory(
        VideoFactory,
        corpus=factory.SelfAttribute("..round.project.dataset.corpus"),
        file="videos/clip.mp4",
        playback_state="not_needed",
    )


class ClipAssignmentFactory(Numbered):
    class Meta:
        model = ClipAssignment

    clip = factory.SubFactory(WritingClipFactory)
    project = factory.SelfAttribute("clip.round.project")
    writer = factory.LazyAttribute(lambda row: writer(row.project))
    type_requested = "v"
    expires_at = factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=20))


class WrittenQueryFactory(Numbered):
    class Meta:
        model = WrittenQuery

    assignment = factory.SubFactory(ClipAssignmentFactory)
    clip = factory.SelfAttribute("assignment.clip")
    writer = factory.SelfAttribute("assignment.writer")
    key = factory.LazyFunction(uuid4)
    text = factory.Sequence("A man in a blue coat opens door {}.".format)
    type = "v"
    start_s = 1.5
    end_s = 4.25


def query_waiting(**values: object) -> WrittenQuery:
    """Return a query that waits to be checked, counted with its clip; its video has a file."""
    query: WrittenQuery = WrittenQueryFactory(**values)
    query.clip.video.file.save("film.mp4", ContentFile(b"a video"))
    assignment, clip = query.assignment, query.clip
    assignment.n_queries = clip.n_queries = 1
    assignment.state, assignment.ended_at = ClipAssignment.State.FINISHED, timezone.now()
    assignment.save()
    clip.save()
    return query


def checker(project: Project) -> User:
    return MembershipFactory(project=project, role=Membership.Role.CHECKER).user  # type: ignore[no-any-return]


class QueryCheckFactory(Numbered):
    """A rejected query; its state, and its place in the clip, are as they were."""

    class Meta:
        model = QueryCheck

    query = factory.SubFactory(WrittenQueryFactory)
    checker = factory.LazyAttribute(lambda row: checker(row.query.clip.round.project))
    decision = "reject"
    reason = "wrong"
    start_s = factory.SelfAttribute("query.start_s")
    end_s = factory.SelfAttribute("query.end_s")


class VerificationStudyFactory(Numbered):
    """An open study of one statement, one person a pair; without pairs."""

    class Meta:
        model = VerificationStudy
        skip_postgeneration_save = True

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence("study {}".format)
    seed = 1
    n_pairs = 1

    @factory.post_generation
    def statement(self, create: bool, extracted: object, **values: object) -> None:
        VerificationStatement.objects.create(study=self, position=1, text="The query describes the moment.")


class VerificationPairFactory(Numbered):
    """An imported description whose video has a file."""

    class Meta:
        model = VerificationPair

    study = factory.SubFactory(VerificationStudyFactory)
    position = factory.Sequence(int)
    description = factory.SubFactory(
        DescriptionFactory,
        moment__video__corpus=factory.SelfAttribute("....study.project.dataset.corpus"),
        moment__video__file="videos/clip.mp4",
        moment__video__playback_state="not_needed",
    )
    start_s = 1.5
    end_s = 4.25


class VerificationAssignmentFactory(Numbered):
    class Meta:
        model = VerificationAssignment

    pair = factory.SubFactory(VerificationPairFactory)
    verifier = factory.LazyAttribute(lambda row: checker(row.pair.study.project))
    expires_at = factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=20))


class VerificationAnswerFactory(Numbered):
    class Meta:
        model = VerificationAnswer

    assignment = factory.SubFactory(VerificationAssignmentFactory)
    statement = factory.LazyAttribute(lambda row: row.assignment.pair.study.statements.get())
    value = 4


class VerificationInspectionFactory(Numbered):
    class Meta:
        model = VerificationInspection

    pair = factory.SubFactory(VerificationPairFactory)


class WebhookFactory(Numbered):
    class Meta:
        model = Webhook

    project = factory.SubFactory(ProjectFactory)
    url = factory.Sequence("https://example.org/hook/{}".format)
    secret = factory.LazyFunction(partial(encrypt, "whsec_tests"))
    events = Event.values
