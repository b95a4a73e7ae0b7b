"""What annotators flagged, and whether people have judged."""

from django.db.models import Case, Max, QuerySet, When

from annotation.models import Project
from judging.models import Flag, Judgment, Pair


def flagged_pairs(project: Project) -> QuerySet[Pair]:
    """Pairs with a flag that stands: undecided ones first, the newest flag first."""
    return (
        Pair.objects.filter(batch__project=project, flags__withdrawn_at__isnull=True, flags__isnull=False)
        .annotate(newest=Max("flags__id"))
        .select_related("batch__query", "candidate__moment")
        .order_by(Case(When(state__in=["open", "escalated"], then=0), default=1), "-newest")
    )


def flags_of(pair: Pair, numbers: dict[int, int]) -> list[tuple[int | None, Flag]]:
    """The pair's standing flags with the numbers of who raised them."""
    standing = pair.flags.filter(withdrawn_at__isnull=True).order_by("id")
    return [(numbers.get(flag.annotator_id), flag) for flag in standing]


def people_have_judged(project: Project) -> bool:
    return Judgment.objects.filter(assignment__project=project, source=Judgment.Source.PERSON).exists()
