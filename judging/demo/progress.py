"""Taking the demo from rows to a living project, one idempotent step at a time."""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files import File
from django.db import transaction
from django.utils import timezone

from accounts.models import Project
from annotation.demo import render_episode
from annotation.models import Moment, Video
from annotation.pools.services.candidates import candidates_rank
from annotation.previews.services import video_cut_previews
from core.jobs import durable, job_finish, job_set
from core.locks import only_one
from core.messages import send_on_commit
from core.models import Job
from judging.demo.seeding import JOB, RENDER_TASK
from judging.demo.simulation import examples_add, script_of, story_play, training_play, visitors_answer
from judging.models import Release
from judging.releases.services import release_create
from judging.work.services.batches import batches_open

logger = logging.getLogger(__name__)
RESEND_AFTER_S = 45


@durable("judging.tasks.demo_render", autoretry_for=())
def demo_render(*, video_id: int) -> None:
    """Render one video, store it, cut its previews; what is done already is left alone."""
    video = Video.objects.select_related("corpus").filter(pk=video_id).first()
    if video is None:
        return
    project = Project.objects.get(dataset__corpus=video.corpus, demo_videos__isnull=False)
    if not video.file:
        assert project.demo_seed is not None and project.demo_videos is not None
        episode = script_of(project.demo_seed, project.demo_videos)[video.index]
        with TemporaryDirectory(prefix="momentjudge-demo-") as folder:
            path = Path(folder) / "video.mp4"
            render_episode(episode, path)
            _file_save(video, path)
    video_cut_previews(video_id=video_id)
    _progress(project)


def _file_save(video: Video, path: Path) -> None:
    with transaction.atomic():
        held = Video.objects.select_for_update().get(pk=video.pk)
        if not held.file:
            with path.open("rb") as source:
                held.file.save(path.name, File(source), save=True)


def demo_advance() -> None:
    """Do whatever the demo needs next; called every few seconds, at once harmless and cheap when nothing is due."""
    project = Project.objects.filter(demo_videos__isnull=False).first()
    if project is None:
        return
    with only_one("demo") as alone:
        if not alone:
            return
        job = Job.objects.filter(project=project, kind=JOB, state=Job.State.RUNNING).first()
        if job is None:
            visitors_answer(project)
        elif _rendered(project):
            _steps(project, job)
        else:
            _resend(project, job)


def _rendered(project: Project) -> bool:
    return not Moment.objects.filter(
        video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.MISSING
    ).exists()


def _progress(project: Project) -> None:
    job = Job.objects.filter(project=project, kind=JOB, state=Job.State.RUNNING).first()
    if job:
        waiting = Video.objects.filter(corpus=project.dataset.corpus_id, moments__preview_state=Moment.Preview.MISSING)
        left = waiting.distinct().count()
        videos = project.demo_videos or 0
        title = f"Rendering the demo videos: {videos - left} of {videos}" if left else "Embedding captions and queries"
        job_set(job=job, done=videos - left, title=title)
        if not left:
            send_on_commit("judging.tasks.demo_advance")


def _resend(project: Project, job: Job) -> None:
    """Wake the rendering again when nothing has moved for a while: its messages may have been lost."""
    if (timezone.now() - job.updated_at).total_seconds() > RESEND_AFTER_S:
        Job.objects.filter(pk=job.pk).update(updated_at=timezone.now())
        waiting = Video.objects.filter(corpus=project.dataset.corpus_id, moments__preview_state=Moment.Preview.MISSING)
        for pk in waiting.distinct().values_list("pk", flat=True):
            send_on_commit(RENDER_TASK, pk)


def _steps(project: Project, job: Job) -> None:
    videos = project.demo_videos or 0
    candidates_rank(project_id=project.pk)
    job_set(job=job, done=videos + 1, title="Simulated annotators sit the exam")
    examples_add(project)
    training_play(project)
    job_set(job=job, done=videos + 2, title="Simulated annotators are grading")
    batches_open(project_id=project.pk)
    story_play(project)
    job_set(job=job, done=videos + 4, title="Making the first release")
    if not Release.objects.filter(project=project, manifest__counts__queries__gt=0).exists():
        release_create(project=project, actor=None)
    job_finish(job=job, title="The demo is ready")
