"""The demo: its people, videos, moments and queries as rows, and each next step of it. Repeats are harmless."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.files import File
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Project, User
from accounts.services.identities import NewAccount, account_create
from accounts.services.members import member_add, simulated_user
from annotation.corpora.models import PlaybackState
from annotation.corpora.services.corpora import project_over, row_create, rows_create
from annotation.demo import Episode, video_path
from annotation.models import Caption, Corpus, Description, Moment, Query, Subtitle, Video
from annotation.pools.services.candidates import candidates_rank
from annotation.pools.services.poolings import Draw
from annotation.previews.services import previews_cut
from annotation.queries.services import queries_draw
from annotation.statistics.services import statistics_request
from annotation.train_sets.services import train_set_start
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import durable, job_finish, job_set, job_start
from core.messages import send_on_commit
from core.models import Job
from core.sql import only_one
from judging.demo.collection import LOGINS, collection_play
from judging.demo.simulation import (
    GRADERS,
    SEED,
    VAL_OF_STORY,
    examples_add,
    fill_free_slots,
    finish_with_simulated,
    lead_of,
    script_of,
    story_continue,
    story_play,
    training_play,
    visitors_answer,
)
from judging.guidelines.selectors import guideline_in_force
from judging.guidelines.services import guideline_begin, policy_begin, policy_publish
from judging.models import Batch, GuidelineConfirmation, Release
from judging.quality.services import TASK as QUALITY_TASK
from judging.releases.selectors import finished_queries
from judging.releases.services import release_build, release_create
from judging.studies.services import coverage_request, queries_chosen, queries_to_study
from judging.work.rules import PRESETS
from judging.work.services.batches import batch_create, batches_open

PROJECT_NAME, YES_OR_NO_NAME = "Demo: six shows", "Demo: yes or no"
YES_OR_NO = PRESETS["yes-or-no"][1] | {"batch_size": 10}
JOB = "demo"
STEPS_AFTER_PREVIEWS = 8
TRAIN_DEPTH = 10  # of the training set; releases hold those of 1, 20 and 40
STUDIED, STUDY = 2, Draw(seed=SEED, top=30, others=30)  # queries of the coverage study, and what is drawn for each
YES_OR_NO_QUERIES = 3
QUERIES = {"val": (6, 0.25), "test": (10, 0.5)}  # judged: of the full demo, and the share of a short one's texts
VIDEO_TASK, ADVANCE_TASK = "judging.tasks.demo_render", "judging.tasks.demo_advance"
LastStep = Callable[[Project], bool]
_last_steps: list[LastStep] = []


def register_last_step(step: LastStep) -> None:
    """Add a step of a higher app, taken once the demo has its releases. It says whether it is over; one that is not is
    called again within seconds, as a process may end at any time."""
    _last_steps.append(step)


@transaction.atomic
def demo_seed(*, videos: int, seed: int) -> Project | None:
    """Make the demo project and have its previews cut; None when there is a project already. Raises NotPossible where
    the videos of this seed are neither shipped nor drawn."""
    if Project.objects.exists():
        return None
    script = script_of(seed, videos)
    if missing := sum(not video_path(episode).exists() for episode in script):
        raise NotPossible(
            f"{missing} videos of the demo with seed {seed} are not there. Draw them in a clone of the repository:"
            f" python -m tools.demo_videos --seed {seed} --videos {videos}"
        )
    corpus = row_create(Corpus(name=PROJECT_NAME))
    project = project_over(corpus=corpus, name=PROJECT_NAME, demo_videos=videos, demo_seed=seed)
    policy_publish(project=project, actor=None)
    guideline_begin(project=project, actor=None)
    _people(project)
    for index, episode in enumerate(script):
        _episode(corpus, index, episode)
    texts = {moment.caption for episode in script for moment in episode.moments if moment.kind == "video"}
    sizes = {split: min(size, int(len(texts) * share)) for split, (size, share) in QUERIES.items()}
    queries_draw(project=project, sizes=sizes, seed=seed)
    total = videos + STEPS_AFTER_PREVIEWS
    job_start(project=project, kind=JOB, title="Cutting the previews of the demo", total=total)
    audit_record(project=project, actor=None, action="demo.seed", subject=project.uuid, videos=videos, seed=seed)
    send_on_commit(ADVANCE_TASK)  # the first batch is opened before the others' videos are cut
    for pk in corpus.videos.order_by("index").values_list("pk", flat=True):
        send_on_commit(VIDEO_TASK, pk)
    return project


def demo_project() -> Project | None:
    """Return the demo; the tiny second one is made after it."""
    return Project.objects.filter(demo_videos__isnull=False).order_by("pk").first()


def _people(project: Project) -> None:
    """Log-ins for every role. The demo's annotator judges at once, the simulated ones sit the exam first."""
    for name in GRADERS:
        _annotator(project, simulated_user(name), status=Membership.Status.EXAM)
    for username, role in LOGINS.items():
        user = account_create(NewAccount(username, password_of(username), f"Demo {username}"))
        if role == Membership.Role.ANNOTATOR:
            _annotator(project, user, status=Membership.Status.QUALIFIED)
        else:
            member_add(project=project, user=user, roles=[role])


def password_of(username: str) -> str:
    return f"{username}-demo"


class DemoLogin(NamedTuple):
    """Where anybody can try judging: the demo's annotator, who sees no captions."""

    project: Project
    username: str
    password: str  # as the demo was made


def demo_login() -> DemoLogin | None:
    """Return the log-in of the demo's annotator; None where the site has no demo, or nobody can log in there."""
    annotators = Membership.objects.filter(
        project__demo_videos__isnull=False,
        roles=[Membership.Role.ANNOTATOR],
        user__username__in=LOGINS,
        user__is_active=True,
    )
    member = annotators.select_related("project", "user").order_by("project").first()
    return DemoLogin(member.project, member.user.username, password_of(member.user.username)) if member else None


def _annotator(project: Project, user: User, *, status: str) -> None:
    roles, reason = [Membership.Role.ANNOTATOR], "Comes with the demo."
    member_add(project=project, user=user, roles=roles, status=status, reason=reason)
    GuidelineConfirmation.objects.create(guideline=guideline_in_force(project.pk), annotator=user)


def _episode(corpus: Corpus, index: int, episode: Episode) -> None:
    video = row_create(
        Video(corpus=corpus, name=episode.name, duration_s=episode.duration_s, index=index, source_split="demo")
    )
    rows_create(
        Subtitle(video=video, start_s=line.start_s, end_s=line.end_s, text=line.text) for line in episode.subtitles
    )
    for number, scripted in enumerate(episode.moments, start=(index + 1) * 100):
        moment = row_create(Moment(video=video, start_s=scripted.start_s, end_s=scripted.end_s))
        own = {"corpus": corpus, "moment": moment, "source_id": number, "kind": scripted.kind}
        description = row_create(Description(text=scripted.description, **own))
        caption = Caption(moment=moment, description=description, text=scripted.caption)
        caption.provider = Caption.Provider.DEMO
        row_create(caption)


RESEND_AFTER_S = 45


@durable(VIDEO_TASK, autoretry_for=())
def demo_render(*, video_id: int) -> None:
    """Store one of the shipped videos and cut its previews; what is done already is left alone."""
    video = Video.objects.select_related("corpus").filter(pk=video_id).first()
    if video is None:
        return
    project = demo_project()
    if project is None or project.dataset.corpus_id != video.corpus_id:
        return
    previews_cut(video=_video_store(project, video), moments=video.moments.all())
    _progress(project)


@transaction.atomic
def _video_store(project: Project, video: Video) -> Video:
    """Store the shipped file of the video unless it is there; return the row."""
    row = Video.objects.select_for_update().get(pk=video.pk)
    if not row.file:
        assert project.demo_seed is not None and project.demo_videos is not None
        episode = script_of(project.demo_seed, project.demo_videos)[video.index]
        row.playback_state = PlaybackState.NOT_NEEDED  # the shipped files play in browsers
        with video_path(episode).open("rb") as source:
            row.file.save("video.mp4", File(source), save=True)
    return row


@durable(ADVANCE_TASK, autoretry_for=())
def demo_advance() -> None:
    """Do whatever the demo needs next; called every few seconds, at once harmless and cheap when nothing is due."""
    project = demo_project()
    if project is None:
        return
    with only_one("demo") as alone:
        if not alone:
            return
        job = Job.objects.filter(project=project, kind=JOB, state=Job.State.RUNNING).first()
        if job is None:
            for one in Project.objects.filter(demo_videos__isnull=False):
                visitors_answer(one)
            return
        if not Batch.objects.filter(project=project).exists():
            _first_batch_open(project)
        if not _without_previews(project).exists():
            _steps(project, job)
        elif (timezone.now() - job.updated_at).total_seconds() > RESEND_AFTER_S:  # messages may have been lost
            Job.objects.filter(pk=job.pk).update(updated_at=timezone.now())
            for pk in _without_previews(project).values_list("pk", flat=True):
                send_on_commit(VIDEO_TASK, pk)


def _first_batch_open(project: Project) -> None:
    """Let somebody judge within seconds: rank the candidates, and open a batch that the story leaves to visitors once
    its own moments are cut."""
    candidates_rank(project_id=project.pk, previews=[Moment.Preview.READY, Moment.Preview.MISSING])
    queries = project.queries.filter(split=Query.Split.VAL).order_by("number")
    for query in queries[VAL_OF_STORY : VAL_OF_STORY + 1]:
        best = Moment.objects.filter(candidates__query=query, candidates__rank__lte=project.batch_size)
        for video in Video.objects.filter(moments__in=best).distinct():
            previews_cut(video=_video_store(project, video), moments=video.moments.filter(pk__in=best))
        batch_create(query=query, number=1)


def _without_previews(project: Project) -> QuerySet[Video]:
    videos = Video.objects.filter(corpus=project.dataset.corpus_id, moments__preview_state=Moment.Preview.MISSING)
    return videos.distinct()


def _progress(project: Project) -> None:
    job = Job.objects.filter(project=project, kind=JOB, state=Job.State.RUNNING).first()
    if job:
        n_left = _without_previews(project).count()
        videos = project.demo_videos or 0
        cutting = f"Cutting the previews of the demo: video {videos - n_left} of {videos}"
        title = cutting if n_left else "The previews are cut"
        job_set(job=job, n_done=videos - n_left, title=title)
        if not n_left:
            send_on_commit(ADVANCE_TASK)


def _steps(project: Project, job: Job) -> None:
    """Take the steps that are left, in order; where one has to wait, the next call goes on with it."""
    videos = project.demo_videos or 0
    job_set(job=job, n_done=videos + 1, title="Simulated annotators sit the exam")
    examples_add(project)
    training_play(project)
    job_set(job=job, n_done=videos + 2, title="Simulated annotators are grading")
    batches_open(project_id=project.pk)
    story_play(project)
    job_set(job=job, n_done=videos + 3, title="Making the first release")
    if not _release_made(project, number=1):
        return
    job_set(job=job, n_done=videos + 4, title="Making the second release")
    story_continue(project)
    if not _release_made(project, number=2):
        return
    job_set(job=job, n_done=videos + 5, title="Adding what was computed from the releases")
    _studies_order(project)
    if not all(step(project) for step in _last_steps):
        return
    job_set(job=job, n_done=videos + 6, title="Opening a round of writing")
    collection_play(project)
    job_set(job=job, n_done=videos + 7, title="Making a second project, of yes or no")
    _yes_or_no_play(_yes_or_no_make(project))
    job_finish(job=job, title="The demo is ready")


@transaction.atomic
def _yes_or_no_make(demo: Project) -> Project:
    """Return a tiny project over the same videos in which three judges say yes or no; made unless it is there."""
    if second := Project.objects.filter(name=YES_OR_NO_NAME, demo_videos__isnull=False).first():
        return second
    columns: dict[str, Any] = {"demo_videos": demo.demo_videos, "demo_seed": demo.demo_seed, **YES_OR_NO}
    project = project_over(corpus=demo.dataset.corpus, name=YES_OR_NO_NAME, **columns)
    policy_begin(project=project, actor=None)
    guideline_begin(project=project, actor=None)
    for user in User.objects.filter(username__in=GRADERS).order_by("pk"):
        _annotator(project, user, status=Membership.Status.QUALIFIED)
    for user in User.objects.filter(username__in=LOGINS, memberships__project=demo).order_by("pk"):
        role = LOGINS[user.username]
        if role == Membership.Role.ANNOTATOR:
            _annotator(project, user, status=Membership.Status.QUALIFIED)
        elif role in Membership.STAFF:
            member_add(project=project, user=user, roles=[role])
    queries_draw(project=project, sizes={Query.Split.VAL: YES_OR_NO_QUERIES}, seed=SEED)
    return project


def _yes_or_no_play(project: Project) -> None:
    """Have one query judged and another begun; the third is for visitors."""
    candidates_rank(project_id=project.pk)
    batches_open(project_id=project.pk)
    statistics_request(project=project)
    batches = Batch.objects.filter(project=project, number=1).order_by("query__number")
    for batch in batches[:1]:
        finish_with_simulated(project, batch)
    for batch in batches[1:2]:
        if not batch.assignments.exists():
            fill_free_slots(project, batch, limit=2)


def _release_made(project: Project, *, number: int) -> bool:
    """Make so many releases, at once: the next step changes what a release would hold. False where another process is
    still writing one; one that failed says so on its page, and keeps nothing back."""
    releases, judged = Release.objects.filter(project=project), Q()
    if finished_queries(project.pk).exists():  # in a demo of few videos none may be
        judged = Q(manifest__counts__queries__gt=0)  # a person may have made one before anything was judged
    ended = releases.filter(Q(state=Release.State.READY) & judged | Q(state=Release.State.FAILED))
    if ended.count() < number:
        preparing = releases.filter(state=Release.State.PREPARING).first()
        release_build(release_id=(preparing or release_create(project=project, actor=None, wake=False)).pk)
    return ended.count() >= number


def _studies_order(project: Project) -> None:
    """Order what workers compute while somebody already looks at the demo: a training set, the plan of a coverage
    study, the figures of quality, and those of the corpus."""
    if not project.train_sets.exists():
        with suppress(NotPossible):  # a demo of few videos may have nothing to train on
            train_set_start(project=project, depth=TRAIN_DEPTH, actor=None)
    queries = queries_chosen(queries_to_study(project), n=STUDIED, seed=SEED)
    if queries and not project.poolings.filter(seed__isnull=False).exists():
        coverage_request(project=project, queries=queries, draw=STUDY, actor=lead_of(project))
    send_on_commit(QUALITY_TASK, project.pk)
    statistics_request(project=project)
