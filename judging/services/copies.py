"""A new project as a copy of another's settings."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.exceptions import NotPossible
from annotation.models import NamedQuerySet, Project, Query, User
from annotation.services.audit import audit_record
from judging.guideline import BODY, LEVELS
from judging.models import GateQuestion, Guideline, KnownPair, Policy
from judging.models.policy import POLICY_VALUES
from judging.services.policies import Example, guideline_publish, policy_publish

CHUNK = 5000


@transaction.atomic
def settings_copy(*, source: Project, project: Project, actor: User | None, with_queries: bool = False) -> None:
    """Give a project that has nothing yet what ``source`` has in force.

    Policy, text of the guideline and similarity always; what shows moments (examples, questions of the gate) where the
    corpus is the same; queries, their sets and the training pairs where ``with_queries`` asks for them. People, their
    rates, exams, candidates and judgments stay where they are.

    Raises:
        NotPossible: queries are asked for, and the corpus is another or the source has none.
    """
    held = Project.objects.select_for_update(of=("self",)).get(pk=source.pk)  # nothing of it changes meanwhile
    same = held.corpus_id == project.corpus_id
    copied: dict[str, Any] = {"policy": None, "guideline": None}
    if same:
        copied["gate questions"] = _gate(held, project)
    copied["policy"] = _policy(held, project, actor, gate_stays=same)
    copied["guideline"] = _guideline(held, project, actor, with_examples=same)
    Project.objects.filter(pk=project.pk).update(similarity=held.similarity)
    if with_queries:
        if not same:
            raise NotPossible("Queries can be taken along only from a project over the same corpus.")
        queries = _queries(held, project)
        copied |= {"queries": len(queries), "training pairs": _training(held, project, queries)}
    said = [f"{name} {count}" for name, count in copied.items() if count]
    of = {"source": held.uuid, "source_name": held.name}
    audit_record(project=project, actor=actor, action="project.copy", subject=project.uuid, **of, copied=said)


def _policy(source: Project, project: Project, actor: User | None, *, gate_stays: bool) -> str:
    """A gate without its questions is closed."""
    held = Policy.objects.filter(project=source).order_by("-version").first()
    values = {name: getattr(held, name) for name in POLICY_VALUES} if held else {}
    if not gate_stays:
        values["gate_is_open"] = False
    policy_publish(project=project, actor=actor, **values)
    return f"version {held.version}" if held else ""


def _guideline(source: Project, project: Project, actor: User | None, *, with_examples: bool) -> str:
    held = Guideline.objects.filter(project=source).order_by("-version").first()
    if held is None:  # of historic judgments
        guideline_publish(project=project, actor=actor, body=BODY, levels=list(LEVELS))
        return ""
    shown = held.examples.values_list("grade", "query_text", "moment") if with_examples else []
    examples = [Example(*row) for row in shown]
    guideline_publish(project=project, actor=actor, body=held.body, levels=held.levels, examples=examples)
    return f"version {held.version}"


def _gate(source: Project, project: Project) -> int:
    asked = source.gate_questions.filter(is_retired=False).order_by("pk")
    fields = ("moment_id", "description", "options", "correct")
    made = [GateQuestion(project=project, **values) for values in asked.values(*fields)]
    return len(GateQuestion.objects.bulk_create(made))


def _queries(source: Project, project: Project) -> dict[int, int]:
    """The same queries in sets of the same names; the key of each copy by the key of what it copies."""
    sets = _sets(source, project)
    firsts, twins = (source.queries.filter(judged_as__isnull=is_first) for is_first in (True, False))
    made: dict[int, int] = {}
    for rows in (*_chunks(firsts), *_chunks(twins)):
        copies = Query.objects.bulk_create(_copy(row, project, sets, made) for row in rows)
        made |= {row.pk: copy.pk for row, copy in zip(rows, copies, strict=True)}
    if not made:
        raise NotPossible(f"The project {source.name!r} has no queries to take along.")
    return made


def _copy(row: Query, project: Project, sets: dict[int, NamedQuerySet], made: dict[int, int]) -> Query:
    return Query(
        project=project,
        number=row.number,
        text=row.text,
        split=row.split,
        caption_id=row.caption_id,
        query_set=sets.get(row.query_set_id or 0),
        judged_as_id=made[row.judged_as_id] if row.judged_as_id else None,
    )


def _chunks(queries: QuerySet[Query]) -> Iterator[Sequence[Query]]:
    rows = queries.order_by("pk").iterator(chunk_size=CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _sets(source: Project, project: Project) -> dict[int, NamedQuerySet]:
    """A pause is no setting: every set can be judged."""
    held = list(source.query_sets.order_by("pk"))
    made = NamedQuerySet.objects.bulk_create(
        NamedQuerySet(project=project, name=row.name, priority=row.priority, is_pilot=row.is_pilot) for row in held
    )
    return {row.pk: copy for row, copy in zip(held, made, strict=True)}


def _training(source: Project, project: Project, queries: dict[int, int]) -> int:
    """What leads graded and explained, the tutorial among it; not what exams found."""
    held = source.known_pairs.filter(source=KnownPair.Source.LEAD, is_retired=False, query__in=queries).order_by("pk")
    fields = ("moment_id", "rank", "source", "truth", "explanation", "tutorial_position", "query_id")
    made = [
        KnownPair(project=project, query_id=queries[query_id], **values)
        for query_id, values in ((row.pop("query_id"), row) for row in held.values(*fields))
    ]
    return len(KnownPair.objects.bulk_create(made, batch_size=CHUNK))
