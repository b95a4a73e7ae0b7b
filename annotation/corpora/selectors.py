"""Reads of corpora and of their imports."""

from dataclasses import dataclass

from django.db.models import Count, Model, Q, QuerySet

from accounts.models import Membership, Project, User
from annotation.models import Corpus, CorpusImport, Description, Moment, Subtitle, Video


@dataclass(frozen=True)
class CorpusSummary:
    """A corpus and how much of everything it holds."""

    corpus: Corpus
    projects: list[Project]
    videos: int
    moments: int
    descriptions: int
    subtitles: int


def projects_run_by(user: User) -> QuerySet[Project]:
    """The projects that ``user`` leads or administers, by name."""
    staff = Q(user=user, role__in=[Membership.Role.LEAD, Membership.Role.ADMIN])
    return Project.objects.filter(pk__in=Membership.objects.filter(staff).values("project")).order_by("name")


def corpora_within_reach(user: User) -> QuerySet[Corpus]:
    """The corpora of the projects that ``user`` leads or administers, and those of their imports, by name."""
    imported = CorpusImport.objects.filter(owner=user, state=CorpusImport.State.DONE).values("corpus_name")
    mine = Q(pk__in=projects_run_by(user).order_by().values("dataset__corpus")) | Q(
        name__in=imported, datasets__isnull=True
    )
    return Corpus.objects.filter(mine).distinct().order_by("name")


def corpora_of(user: User) -> list[CorpusSummary]:
    """The corpora within reach of ``user`` with what they hold, and the user's projects over them."""
    projects, corpora = list(projects_run_by(user).select_related("dataset")), list(corpora_within_reach(user))
    counts = [
        _counts(Video, "corpus", corpora),
        _counts(Moment, "video__corpus", corpora),
        _counts(Description, "corpus", corpora),
        _counts(Subtitle, "video__corpus", corpora),
    ]
    return [
        CorpusSummary(
            corpus,
            [project for project in projects if project.dataset.corpus_id == corpus.pk],
            *(count.get(corpus.pk, 0) for count in counts),
        )
        for corpus in corpora
    ]


def _counts(model: type[Model], place: str, corpora: list[Corpus]) -> dict[int, int]:
    """How many rows of each corpus there are."""
    rows = model._default_manager.filter(**{f"{place}__in": corpora})
    return dict(rows.values_list(place).annotate(n=Count("pk")).order_by())


def corpus_is_seen(corpus_id: int) -> bool:
    """Whether the corpus has a video to look at, or a preview."""
    ready = Moment.objects.filter(video__corpus=corpus_id, preview_state=Moment.Preview.READY)
    return Video.objects.filter(corpus=corpus_id).exclude(file="").exists() or ready.exists()
