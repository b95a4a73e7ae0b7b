"""Query sets and what they hold."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import NamedQuerySet, Project, Query
from annotation.selectors import queries_to_judge
from judging.models import Batch


def query_sets_with_counts(project: Project) -> QuerySet[NamedQuerySet]:
    """The sets, each with how many ``queries`` it has, and how many of their batches are ``open`` and ``done``."""
    batches = Batch.objects.filter(query__query_set=OuterRef("pk")).order_by().values("query__query_set")
    counted = {
        state: Coalesce(Subquery(batches.filter(state=state).annotate(n=Count("pk")).values("n")), 0)
        for state in Batch.State.values
    }
    return project.query_sets.annotate(size=Count("queries"), **counted).order_by("-priority", "name")


def queries_outside_sets(project: Project) -> QuerySet[Query]:
    return queries_to_judge(project.pk).filter(query_set__isnull=True)


def queries_matching(project: Project, *, split: str, words: str) -> QuerySet[Query]:
    """Queries to be judged, of a split or any, whose text holds the words."""
    found = queries_to_judge(project.pk)
    if split:
        found = found.filter(split=split)
    return found.filter(text__icontains=words.replace("\0", "").strip()) if words.strip() else found
