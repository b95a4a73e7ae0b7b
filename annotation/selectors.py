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


def corpora_of(user: User) -> list[CorpusSummary]:
    """The corpora of the projects that ``user`` leads or administers, and those of their imports, by name."""
    staff = Q(user=user, role__in=[Membership.Role.LEAD, Membership.Role.ADMIN])
    projects = list(Project.objects.filter(pk__in=Membership.objects.filter(staff).values("project")).order_by("name"))
    imported = CorpusImport.objects.filter(owner=user, state=CorpusImport.State.DONE).values("corpus_name")
    mine = Q(pk__in=[project.corpus_id for project in projects]) | Q(name__in=imported, projects__isnull=True)
    corpora = list(Corpus.objects.filter(mine).distinct().order_by("name"))
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
