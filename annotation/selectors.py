"""Reads of what there is to judge."""

import csv
import io
from dataclasses import dataclass
from itertools import islice

from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet

from annotation.models import (
    Candidate,
    Caption,
    Corpus,
    CorpusImport,
    Description,
    Measure,
    Membership,
    Moment,
    Project,
    Query,
    Subtitle,
    User,
    Video,
)

REMARKS_SHOWN = 50


def queries_to_judge(project_id: int) -> QuerySet[Query]:
    """Every query of the project that is or will be judged: of the judged splits, once per text."""
    return Query.objects.filter(
        project=project_id,
        judged_as__isnull=True,
        is_placeholder=False,
        split__in=[Query.Split.VAL, Query.Split.TEST],
    )


def measures_of(project: Project) -> QuerySet[Measure]:
    """How the similarities of the project's candidates were computed."""
    theirs = Candidate.objects.filter(measure=OuterRef("pk"), query__project=project)
    return Measure.objects.filter(Exists(theirs)).order_by("pk")


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
    mine = Q(pk__in=projects_run_by(user).order_by().values("corpus")) | Q(name__in=imported, projects__isnull=True)
    return Corpus.objects.filter(mine).distinct().order_by("name")


def corpora_of(user: User) -> list[CorpusSummary]:
    """The corpora within reach of ``user`` with what they hold, and the user's projects over them."""
    projects, corpora = list(projects_run_by(user)), list(corpora_within_reach(user))
    counts = [
        _counts(Video, "corpus", corpora),
        _counts(Moment, "video__corpus", corpora),
        _counts(Description, "corpus", corpora),
        _counts(Subtitle, "video__corpus", corpora),
    ]
    return [
        CorpusSummary(
            corpus,
            [project for project in projects if project.corpus_id == corpus.pk],
            *(count.get(corpus.pk, 0) for count in counts),
        )
        for corpus in corpora
    ]


def _counts(model: type[Model], place: str, corpora: list[Corpus]) -> dict[int, int]:
    """How many rows of each corpus there are."""
    rows = model._default_manager.filter(**{f"{place}__in": corpora})
    return dict(rows.values_list(place).annotate(n=Count("pk")).order_by())


def import_remarks(row: CorpusImport) -> list[dict[str, str]]:
    """The first lines of an import's report."""
    if not row.report:
        return []
    with row.report.open("rb") as source, io.TextIOWrapper(source, encoding="utf-8", newline="") as text:
        return list(islice(csv.DictReader(text), REMARKS_SHOWN))


def captions_serving(corpus_id: int) -> QuerySet[Caption]:
    """Captions that may become queries and candidates: accepted by the checks or a person, or edited by one."""
    serving = [Caption.State.ACCEPTED, Caption.State.EDITED]
    return Caption.objects.filter(description__corpus=corpus_id, state__in=serving)


def corpus_is_seen(corpus_id: int) -> bool:
    """Whether the corpus has a video to look at, or a preview."""
    ready = Moment.objects.filter(video__corpus=corpus_id, preview_state=Moment.Preview.READY)
    return Video.objects.filter(corpus=corpus_id).exclude(file="").exists() or ready.exists()


def captions_to_train_on(corpus_id: int) -> QuerySet[Caption]:
    """Captions whose moments training queries are ranked over: all that serve.

    A preview is not needed, since nobody watches; a moment that could not be cut is none that the video has.
    """
    return captions_serving(corpus_id).exclude(moment__preview_state=Moment.Preview.FAILED)


def queries_to_train_on(project_id: int) -> QuerySet[Query]:
    """Training queries in the order of published files; a text may be that of several."""
    return Query.objects.filter(project=project_id, split=Query.Split.TRAIN, is_placeholder=False).order_by("number")
