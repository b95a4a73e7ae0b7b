"""Reads of queries: those to judge, those to train on, and how their candidates were found."""

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Candidate, Measure, Project, Query


def queries_to_judge(project_id: int) -> QuerySet[Query]:
    """Every query of the project that is or will be judged: of the judged splits, once per text."""
    return Query.objects.filter(
        project=project_id,
        judged_as__isnull=True,
        is_placeholder=False,
        split__in=[Query.Split.VAL, Query.Split.TEST],
    )


def queries_to_train_on(project_id: int) -> QuerySet[Query]:
    """Training queries in the order of published files; a text may be that of several."""
    return Query.objects.filter(project=project_id, split=Query.Split.TRAIN, is_placeholder=False).order_by("number")


def measures_of(project: Project) -> QuerySet[Measure]:
    """How the similarities of the project's candidates were computed."""
    theirs = Candidate.objects.filter(measure=OuterRef("pk"), query__project=project)
    return Measure.objects.filter(Exists(theirs)).order_by("pk")
