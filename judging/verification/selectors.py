"""Reads of verification studies: what may be drawn, which pair is next for whom, and what was answered."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Avg, Count, Min, Q, QuerySet

from accounts.models import Project, User
from annotation.corpora.models import PlaybackState
from annotation.models import Description
from judging.models import (
    QueryCheck,
    VerificationAnswer,
    VerificationAssignment,
    VerificationInspection,
    VerificationPair,
    VerificationStudy,
    WritingRound,
    WrittenQuery,
)
from judging.people.selectors import actor_names
from judging.verification.rules import NEUTRAL, Answer, Inspected, Line, inspected, lines_of

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))["tvr"]
IS_IN_FORCE = Q(answered_at__isnull=False, undone_at__isnull=True)
KINDS = {Description.Kind.VIDEO: "Video", Description.Kind.SUBTITLE: "Subtitle", Description.Kind.BOTH: "Both"}
IMPORTED = "imported"  # no writer of the site
GONE = "somebody who has left"
ALL = ""
CSV_COLUMNS = ["pair", "desc_id", "query", "type", "video", "start_s", "end_s", "writer", "verifier"]
CSV_COLUMNS += ["statement", "text", "value", "answered_at"]


def _playable(video: str) -> Q:
    """Return that browsers play a video and that it has a file; ``video`` is the path to it."""
    states = (PlaybackState.NOT_NEEDED, PlaybackState.READY)
    return Q(**{f"{video}__playback_state__in": states}) & ~Q(**{f"{video}__file": ""})


def descriptions_to_draw(project: Project, *, round: WritingRound | None = None) -> QuerySet[Description]:
    """Return the descriptions that a study may draw: of the corpus, or of one round, with a video that plays."""
    rows = Description.objects.filter(_playable("moment__video"), corpus=project.dataset.corpus_id)
    return rows.filter(written_query__clip__round=round) if round else rows


def studies_of(project: Project) -> QuerySet[VerificationStudy]:
    """Return the studies of a project, newest first."""
    return project.verification_studies.select_related("round").order_by("-pk")


def study_counts(study: VerificationStudy) -> dict[str, int]:
    """Count the pairs of a study, those with all their answers, the answers there are and shall be, and the people."""
    rows = VerificationAssignment.objects.filter(IS_IN_FORCE, pair__study=study)
    by_pair = rows.order_by().values("pair").annotate(n=Count("pk"))
    return {
        "pairs": study.n_pairs,
        "complete": by_pair.filter(n__gte=study.answers_per_pair).count(),
        "answers": rows.count(),
        "target": study.n_pairs * study.answers_per_pair,
        "people": rows.order_by().values("verifier").distinct().count(),
    }


def pairs_to_verify(study: VerificationStudy, verifier: User, *, now: datetime) -> QuerySet[VerificationPair]:
    """Return the pairs that a person may answer for: those with the fewest people first, then as drawn.

    None that they wrote, checked, inspected or answered for already.
    """
    own = WrittenQuery.objects.filter(Q(writer=verifier) | Q(checks__checker=verifier), description__isnull=False)
    answered = VerificationAssignment.objects.filter(IS_IN_FORCE, verifier=verifier, pair__study=study)
    others = Q(assignments__undone_at__isnull=True) & ~Q(assignments__verifier=verifier)
    others &= Q(assignments__answered_at__isnull=False) | Q(assignments__expires_at__gt=now)
    rows = VerificationPair.objects.filter(_playable("description__moment__video"), study=study)
    rows = rows.exclude(description__in=own.values("description")).exclude(pk__in=answered.values("pair"))
    rows = rows.exclude(pk__in=VerificationInspection.objects.filter(checker=verifier).values("pair"))
    rows = rows.annotate(n_people=Count("assignments", filter=others))
    return rows.filter(n_people__lt=study.answers_per_pair).order_by("n_people", "position")


def assignment_at_hand(study: VerificationStudy, verifier: User, *, now: datetime) -> VerificationAssignment | None:
    """Return the pair of a study that a person has just now."""
    rows = VerificationAssignment.objects.filter(pair__study=study, verifier=verifier, answered_at=None)
    return rows.filter(expires_at__gt=now).order_by("pk").first()


def answers_by(project: Project, verifier: User) -> QuerySet[VerificationAssignment]:
    """Return what a person answered in a project, newest first."""
    rows = VerificationAssignment.objects.filter(verifier=verifier, pair__study__project=project)
    rows = rows.filter(answered_at__isnull=False).prefetch_related("answers")
    return rows.select_related("pair__study", "pair__description").order_by("-answered_at", "-pk")


def inspections_waiting(project: Project, checker: User) -> QuerySet[VerificationInspection]:
    """Return the pairs that wait for another look, which the checker neither wrote nor verified, oldest first."""
    rows = VerificationInspection.objects.filter(pair__study__project=project, decision="")
    own = VerificationAssignment.objects.filter(verifier=checker, answered_at__isnull=False)
    own_texts = Description.objects.filter(written_query__writer=checker)
    rows = rows.exclude(pair__in=own.values("pair")).exclude(pair__description__in=own_texts)
    return rows.filter(_playable("pair__description__moment__video")).order_by("pk")


@dataclass(frozen=True)
class Worst:
    """A pair of which somebody disagrees with a statement: its writer, its lowest and its mean answer."""

    pair: VerificationPair
    writer: str
    lowest: int
    mean: float
    inspection: VerificationInspection | None

    @property
    def lowest_label(self) -> str:
        return VerificationAnswer.Value(self.lowest).label


def worst_pairs(study: VerificationStudy) -> QuerySet[VerificationPair]:
    """Return the pairs with an answer below neutral, the lowest mean first, each with ``lowest`` and ``mean``."""
    in_force = Q(assignments__answered_at__isnull=False, assignments__undone_at__isnull=True)
    value = "assignments__answers__value"
    rows = study.pairs.annotate(lowest=Min(value, filter=in_force), mean=Avg(value, filter=in_force))
    rows = rows.filter(lowest__lt=NEUTRAL).order_by("mean", "position")
    return rows.select_related("inspection", "description__written_query", "description__moment__video")


def worst_of(rows: Any, names: dict[int, str]) -> list[Worst]:
    """Return the lines of ``worst_pairs`` with the names of writers."""
    return [Worst(row, _writer_of(row, names), row.lowest, row.mean, getattr(row, "inspection", None)) for row in rows]


def _writer_of(row: VerificationPair, names: dict[int, str]) -> str:
    query = getattr(row.description, "written_query", None)
    return names.get(query.writer_id, GONE) if query else IMPORTED


@dataclass(frozen=True)
class Report:
    """The shares of a study over all answers, by statement, by writer and by type; and the inspections."""

    overall: list[Line]
    statements: list[Line]
    writers: list[Line]
    types: list[Line]
    inspected: list[Inspected]


def report_of(study: VerificationStudy, names: dict[int, str]) -> Report:
    """Return the shares of a study so far; ``names`` of writers by their key."""
    rows = list(
        VerificationAnswer.objects.filter(
            assignment__pair__study=study, assignment__answered_at__isnull=False, assignment__undone_at__isnull=True
        )
        .order_by()
        .values_list(
            "assignment__pair",
            "statement__position",
            "value",
            "assignment__pair__description__kind",
            "assignment__pair__description__written_query__writer",
        )
    )
    answers = [(pair, statement, value) for pair, statement, value, _, _ in rows]
    writers = [IMPORTED if writer is None else names.get(writer, GONE) for *_, writer in rows]
    types = [KINDS[Description.Kind(kind)] for *_, kind, _ in rows]
    return Report(
        overall=lines_of(Answer(pair, ALL, 0, value) for pair, _, value in answers),
        statements=lines_of(Answer(pair, ALL, *rest) for pair, *rest in answers),
        writers=lines_of(Answer(pair, group, *rest) for (pair, *rest), group in zip(answers, writers, strict=True)),
        types=lines_of(Answer(pair, group, *rest) for (pair, *rest), group in zip(answers, types, strict=True)),
        inspected=inspected(_inspections(study)),
    )


def _inspections(study: VerificationStudy) -> list[tuple[int, bool]]:
    """Return, of each pair that was inspected, its lowest answer and whether it stayed acceptable."""
    rows = worst_pairs(study).exclude(inspection=None).exclude(inspection__decision="")
    worst = worst_of(rows.select_related("inspection"), {})
    return [(row.lowest, row.inspection.decision != QueryCheck.Decision.REJECT) for row in worst if row.inspection]


def answer_lines(study: VerificationStudy) -> Iterator[list[object]]:
    """Yield the lines of the CSV, one for each answer in force; people by role and number, as every export."""
    names = actor_names(study.project, to_lead=False)
    rows = VerificationAnswer.objects.filter(
        assignment__pair__study=study, assignment__answered_at__isnull=False, assignment__undone_at__isnull=True
    ).select_related("assignment__pair__description__written_query", "assignment__pair__description__moment__video")
    rows = rows.select_related("statement").order_by("assignment__pair__position", "assignment", "statement__position")
    for row in rows:
        pair, description = row.assignment.pair, row.assignment.pair.description
        answered_at = row.assignment.answered_at
        yield [
            *(pair.uuid, description.source_id, description.text, description.kind, description.moment.video.name),
            *(pair.start_s, pair.end_s, _writer_of(pair, names), names.get(row.assignment.verifier_id, GONE)),
            *(row.statement.position, row.statement.text, row.value, answered_at and answered_at.isoformat()),
        ]
