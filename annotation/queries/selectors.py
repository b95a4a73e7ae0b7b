"""Reads of queries, those to judge and to train on, and of splits: what a draw would give, and what depends on one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.models import Membership, Project
from annotation.captions.selectors import captions_serving
from annotation.models import Candidate, Caption, Description, Measure, Query
from annotation.queries.rules import Size, draw
from core.models import AuditEvent

DRAWS = ("queries.draw", "queries.redraw")


def queries_to_judge(project_id: int) -> QuerySet[Query]:
    """Every query of the project that is or will be judged: of the judged splits, once per text."""
    return Query.objects.filter(
        project=project_id, judged_as__isnull=True, is_placeholder=False, split__in=[Query.Split.VAL, Query.Split.TEST]
    )


def queries_to_train_on(project_id: int) -> QuerySet[Query]:
    """Training queries in the order of published files; a text may be that of several."""
    return Query.objects.filter(project=project_id, split=Query.Split.TRAIN, is_placeholder=False).order_by("number")


def measures_of(project: Project) -> QuerySet[Measure]:
    """How the similarities of the project's candidates were computed."""
    theirs = Candidate.objects.filter(measure=OuterRef("pk"), query__project=project)
    return Measure.objects.filter(Exists(theirs)).order_by("pk")


@dataclass(frozen=True)
class Source:
    """The video-only captions of a corpus: those that may become queries, and those that may not yet."""

    captions: int
    texts: int
    waiting: int  # for a person
    unwritten: int  # among ``captions``: still the description itself

    @property
    def suits_the_paper(self) -> bool:
        """Whether the sizes of the paper leave more than half of the texts to train."""
        return self.texts > 2 * (500 + 2781)


class Draft(NamedTuple):
    """Result of a draw before it is made: its counts, and number, caption, text and split of each query, by number."""

    counts: dict[str, int]
    rows: list[tuple[int, int, str, str]]


def draft_of(corpus_id: int, sizes: Mapping[str, Size], seed: int) -> Draft:
    """The draw that the corpus' captions give now. Raises NoSplit where it cannot be."""
    rows = _candidates(corpus_id).values_list("description__source_id", "pk", "text")
    captions = {number: (pk, text) for number, pk, text in rows.iterator(chunk_size=5000)}
    sample = draw({number: text for number, (_, text) in captions.items()}, sizes, seed)
    counts = sample.counts | {"waiting": waiting_for_queries(corpus_id)}
    return Draft(counts, [(number, *captions[number], split) for number, split in sorted(sample.split_of.items())])


def source_of(corpus_id: int) -> Source:
    counts = _candidates(corpus_id).aggregate(
        captions=Count("pk"),
        texts=Count("text", distinct=True),
        unwritten=Count("pk", filter=Q(provider=Caption.Provider.AS_DESCRIBED)),
    )
    return Source(**counts, waiting=waiting_for_queries(corpus_id))


def waiting_for_queries(corpus_id: int) -> int:
    """Video-only captions that are left out until a person has decided."""
    captions = Caption.objects.filter(description__corpus=corpus_id, description__kind=Description.Kind.VIDEO)
    return captions.filter(state__in=[Caption.State.PROPOSED, Caption.State.IN_REVIEW]).count()


def _candidates(corpus_id: int) -> QuerySet[Caption]:
    return captions_serving(corpus_id).filter(description__kind=Description.Kind.VIDEO)


def last_draw(project: Project) -> AuditEvent | None:
    """The draw in force, as it was written down: its seed, what was asked for, what came out, by whom and when."""
    return project.audit_events.filter(action__in=DRAWS).select_related("actor").first()


def uses_of_queries(project: Project) -> list[str]:
    """List what depends on the project's queries, in whichever app, in words: candidates, batches, ..."""
    uses = []
    for relation in Query._meta.related_objects:
        model, field = relation.related_model, relation.field.name
        if not isinstance(model, str) and model is not Query:
            rows = model._default_manager.filter(**{f"{field}__project": project})
            uses += [str(model._meta.verbose_name_plural)] if rows.exists() else []
    return uses


def split_counts(project: Project) -> dict[str, int]:
    """Queries of each split, placeholders left out."""
    rows = project.queries.filter(is_placeholder=False).values_list("split").annotate(n=Count("pk")).order_by()
    counts = dict(rows)
    return {split: counts.get(split, 0) for split in Query.Split.values}


def drawn_by(project: Project, event: AuditEvent) -> str:
    """Who drew, by their roles: names are for leads."""
    if event.actor_id is None:
        return "a command"
    member = Membership.objects.filter(project=project, user=event.actor_id).first()
    return f"the {member.label}" if member else "somebody without a role here"
