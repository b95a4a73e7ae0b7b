"""The rows of the demo: people, videos, moments, queries. Nothing is rendered here."""

from collections.abc import Sequence

from django.db import transaction

from accounts.models import Identity, Membership, Project, StandingChange, User
from annotation.corpora.services.corpora import project_over
from annotation.demo import Episode
from annotation.models import Caption, Corpus, Description, Moment, Subtitle, Video
from annotation.queries.services import queries_draw
from core.audit import audit_record
from core.jobs import job_start
from core.messages import send_on_commit
from judging.demo.simulation import CONTRARY_NAME, GRADERS, SIMULATED, script_of
from judging.guidelines.texts import BODY, LEVELS
from judging.models import GuidelineConfirmation
from judging.projects.policies import guideline_in_force, guideline_publish, policy_publish

PROJECT_NAME = "Demo: six shows"
JOB = "demo"
STEPS_AFTER_RENDERING = 5
LOGINS = {"lead": Membership.Role.LEAD, "admin": Membership.Role.ADMIN, "annotator": Membership.Role.ANNOTATOR}
QUERIES = {"val": (6, 0.25), "test": (10, 0.5)}  # judged: at most, and as a share of the texts
RENDER_TASK = "judging.tasks.demo_render"


@transaction.atomic
def demo_seed(*, videos: int, seed: int) -> Project | None:
    """Make the demo project and wake its rendering; None when there is a project already."""
    if Project.objects.exists():
        return None
    script = script_of(seed, videos)
    corpus = Corpus.objects.create(name=PROJECT_NAME)
    project = project_over(corpus=corpus, name=PROJECT_NAME, demo_videos=videos, demo_seed=seed)
    policy_publish(project=project, actor=None)
    guideline_publish(project=project, actor=None, body=BODY, levels=list(LEVELS))
    _people(project)
    for index, episode in enumerate(script):
        _episode(corpus, index, episode)
    queries_draw(project=project, sizes=_sizes(script), seed=seed)
    total = videos + STEPS_AFTER_RENDERING
    job_start(project=project, kind=JOB, title="Rendering the demo videos", total=total)
    audit_record(project=project, actor=None, action="demo.seed", subject=project.uuid, videos=videos, seed=seed)
    for pk in corpus.videos.order_by("index").values_list("pk", flat=True):
        send_on_commit(RENDER_TASK, pk)
    return project


def _sizes(script: Sequence[Episode]) -> dict[str, int]:
    """How many queries to judge: those of the full demo, or most of what a short one has texts for."""
    texts = {moment.caption for episode in script for moment in episode.moments if moment.kind == "video"}
    return {split: min(wanted, int(len(texts) * share)) for split, (wanted, share) in QUERIES.items()}


def _people(project: Project) -> None:
    """Log-ins for every role. The demo's annotator judges at once, the simulated ones sit the exam first."""
    for username, role in LOGINS.items():
        user = User.objects.create_user(username, f"{username}-demo")
        Identity.objects.create(user=user, name=f"Demo {username}")
        if role == Membership.Role.ANNOTATOR:
            _annotator(project, user, number=len(GRADERS) + 2, standing=Membership.Standing.QUALIFIED)
        else:
            Membership.objects.create(project=project, user=user, role=role)
    for number, name in enumerate([*(SIMULATED.format(grader.seed) for grader in GRADERS), CONTRARY_NAME], start=1):
        user = User.objects.create_user(name, is_simulated=True)
        _annotator(project, user, number=number, standing=Membership.Standing.EXAM)


def _annotator(project: Project, user: User, *, number: int, standing: str) -> None:
    member = Membership.objects.create(
        project=project, user=user, role=Membership.Role.ANNOTATOR, number=number, standing=standing
    )
    StandingChange.objects.create(membership=member, to_standing=standing, reason="Comes with the demo.")
    GuidelineConfirmation.objects.create(guideline=guideline_in_force(project.pk), annotator=user)


def _episode(corpus: Corpus, index: int, episode: Episode) -> None:
    video = Video.objects.create(
        corpus=corpus, name=episode.name, duration_s=episode.duration_s, index=index, source_split="demo"
    )
    Subtitle.objects.bulk_create(
        Subtitle(video=video, start_s=line.start_s, end_s=line.end_s, text=line.text) for line in episode.subtitles
    )
    for place, scripted in enumerate(episode.moments):
        moment = Moment.objects.create(video=video, start_s=scripted.start_s, end_s=scripted.end_s)
        description = Description.objects.create(
            corpus=corpus,
            moment=moment,
            source_id=(index + 1) * 100 + place,
            text=scripted.description,
            kind=scripted.kind,
        )
        Caption.objects.create(
            moment=moment, description=description, text=scripted.caption, provider=Caption.Provider.DEMO
        )
