"""Reads of what there is to judge."""

from django.db.models import QuerySet

from annotation.models import Caption, Query


def queries_to_judge(project_id: int) -> QuerySet[Query]:
    """Every query of the project that is or will be judged: of the judged splits, once per text."""
    return Query.objects.filter(
        project=project_id,
        judged_as__isnull=True,
        is_placeholder=False,
        split__in=[Query.Split.VAL, Query.Split.TEST],
    )


def captions_serving(corpus_id: int) -> QuerySet[Caption]:
    """Captions that may become queries and candidates: accepted by the checks or a person, or edited by one."""
    serving = [Caption.State.ACCEPTED, Caption.State.EDITED]
    return Caption.objects.filter(description__corpus=corpus_id, state__in=serving)
