"""Verification studies: drawing a sample, handing out its pairs, taking answers, and another look at the worst."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.models import Project, User
from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible
from judging.checking.services import Verdict, verdict_complete
from judging.exceptions import LeaseLost, NotAssigned, NotPossibleNow
from judging.guidelines.selectors import policy_in_force
from judging.models import (
    VerificationAnswer,
    VerificationAssignment,
    VerificationInspection,
    VerificationPair,
    VerificationStatement,
    VerificationStudy,
    WritingRound,
)
from judging.verification import selectors
from judging.verification.rules import STATEMENTS, sample
from judging.work.rules import lease_until

logger = logging.getLogger(__name__)
State = VerificationStudy.State
CHANGES = {"close": State.CLOSED, "open": State.OPEN}


@transaction.atomic
def study_create(
    *,
    project: Project,
    name: str,
    n_pairs: int,
    seed: int,
    actor: User | None,
    answers_per_pair: int = 1,
    round: WritingRound | None = None,
    statements: Sequence[str] = STATEMENTS,
) -> VerificationStudy:
    """Draw a sample of descriptions with their moments, and open it to the checkers of the project.

    Args:
        n_pairs: size of the sample.
        seed: the same seed on the same descriptions draws the same.
        round: draw its accepted queries alone; of the whole corpus where it is None.

    Raises:
        NotPossible: the name is used, or there are fewer descriptions whose video plays.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if project.verification_studies.filter(name=name).exists():
        raise NotPossible(f"There is a study {name!r} in {project.name!r} already; choose another name.")
    rows = selectors.descriptions_to_draw(project, round=round)
    facts = {key: bounds for key, *bounds in rows.values_list("pk", "moment__start_s", "moment__end_s")}
    if len(facts) < n_pairs:
        source = f"The round {round.name!r}" if round else f"The corpus {project.dataset.corpus.name!r}"
        raise NotPossible(
            f"{source} has {len(facts)} accepted descriptions whose video plays in browsers, fewer than the {n_pairs}"
            " to be drawn: ask for fewer."
        )
    study = VerificationStudy.objects.create(
        project=project,
        name=name,
        round=round,
        seed=seed,
        n_pairs=n_pairs,
        answers_per_pair=answers_per_pair,
        created_by=actor,
    )
    VerificationStatement.objects.bulk_create(
        VerificationStatement(study=study, position=position, text=text)
        for position, text in enumerate(statements, start=1)
    )
    VerificationPair.objects.bulk_create(
        VerificationPair(study=study, position=position, description_id=key, start_s=facts[key][0], end_s=facts[key][1])
        for position, key in enumerate(sample(facts, n_pairs, seed=seed), start=1)
    )
    about = {"name": name, "pairs": n_pairs, "people": answers_per_pair, "seed": seed}
    audit_record(project=project, actor=actor, action="verification.create", subject=study.uuid, **about)
    return study


@transaction.atomic
def study_change(*, study: VerificationStudy, change: str, actor: User | None) -> VerificationStudy:
    """Close a study or open it again; the same again changes nothing.

    Args:
        change: one of CHANGES.
    """
    row = VerificationStudy.objects.select_for_update(no_key=True).select_related("project").get(pk=study.pk)
    if row.state != CHANGES[change]:
        row.state = CHANGES[change]
        row.save(update_fields=["state"])
        audit_record(project=row.project, actor=actor, action=f"verification.{change}", subject=row.uuid, name=row.name)
    return row


@transaction.atomic
def pair_take(
    *, study: VerificationStudy, verifier: User, now: datetime | None = None
) -> VerificationAssignment | None:
    """Return the pair that a person has, or the next one for them; None where there is none.

    It stays theirs for as long as the policy lets a batch. Never what they wrote or checked, nor more people at once
    than the study asks.

    Raises:
        NotPossibleNow: the study is closed.
    """
    now = now or clock.now()
    study = _study_lock(study.pk)
    until = lease_until(now, minutes=policy_in_force(study.project_id).lease_minutes)
    assignment = selectors.assignment_at_hand(study, verifier, now=now)
    if assignment is None:
        pair = selectors.pairs_to_verify(study, verifier, now=now).first()
        if pair is None:
            return None
        about = {"pair": pair, "verifier": verifier, "undone_at": None}
        assignment, _ = VerificationAssignment.objects.get_or_create(**about, defaults={"expires_at": until})
    assignment.expires_at = until
    assignment.save(update_fields=["expires_at"])
    return assignment


@transaction.atomic
def answers_submit(
    *, assignment: UUID, verifier: User, values: Mapping[int, int], now: datetime | None = None
) -> VerificationAssignment:
    """Record how far a person agrees with each statement; the same again is answered as the first time.

    Args:
        values: by position of the statement, 1 (strongly disagree) to 5 (strongly agree).

    Raises:
        NotAssigned: the pair is not theirs.
        LeaseLost: their time ran out, and others have answered meanwhile.
        NotPossibleNow: the study is closed, or the answers are in with other values.
        NotPossible: a statement has no answer, or one that is no value of the scale.
    """
    now = now or clock.now()
    row = _own_assignment(assignment, verifier)
    if row.answered_at is not None:
        if row.undone_at is None and dict(row.answers.values_list("statement__position", "value")) == dict(values):
            return row
        raise NotPossibleNow("You have answered for this pair. Take that back to answer anew.")
    study = row.pair.study
    statements = {statement.position: statement for statement in study.statements.all()}
    if missing := sorted(statements.keys() - values.keys()):
        raise NotPossible(f"Say how far you agree with statement {missing[0]} as well.")
    if values.keys() - statements.keys() or not all(
        value in VerificationAnswer.Value.values for value in values.values()
    ):
        raise NotPossible("Choose one of the five answers for each statement.")
    if row.expires_at <= now and not selectors.pairs_to_verify(study, verifier, now=now).filter(pk=row.pair_id):
        raise LeaseLost("Your time with this pair has run out, and others have answered for it. Take the next one.")
    VerificationAnswer.objects.bulk_create(
        VerificationAnswer(assignment=row, statement=statements[position], value=value)
        for position, value in values.items()
    )
    row.answered_at = now
    row.save(update_fields=["answered_at"])
    logger.info("verification assignment %s answered", row.pk)
    return row


@transaction.atomic
def answers_undo(*, assignment: UUID, verifier: User, now: datetime | None = None) -> None:
    """Take one's answers back: the pair waits again. Repeating it changes nothing.

    Raises:
        NotAssigned: the person has answered nothing there.
        NotPossibleNow: the study is closed, or the pair is inspected already.
    """
    row = _own_assignment(assignment, verifier)
    if row.answered_at is None:
        raise NotAssigned("You have not answered for this pair.")
    if row.undone_at is None:
        if VerificationInspection.objects.filter(pair=row.pair).exists():
            raise NotPossibleNow("Your lead has sent this pair to another look: its answers stay.")
        row.undone_at = now or clock.now()
        row.save(update_fields=["undone_at"])


def _study_lock(key: int) -> VerificationStudy:
    """Return an open study, locked."""
    row = VerificationStudy.objects.select_for_update(no_key=True).get(pk=key)
    if row.state != State.OPEN:
        raise NotPossibleNow(f"The study {row.name!r} is closed: it takes no answers.")
    return row


def _own_assignment(uuid: UUID, verifier: User) -> VerificationAssignment:
    """Return an assignment of a person, locked after its study."""
    rows = VerificationAssignment.objects.filter(uuid=uuid, verifier=verifier)
    study = rows.values_list("pair__study", flat=True).first()
    if study is None:
        raise NotAssigned("This pair is not assigned to you.")
    locked_study = _study_lock(study)
    row = rows.select_for_update(of=("self",), no_key=True).select_related("pair").get()
    row.pair.study = locked_study
    return row


@transaction.atomic
def inspection_request(*, pair: VerificationPair, actor: User | None) -> VerificationInspection:
    """Send a pair to a checker for another look; the same again changes nothing."""
    row, is_new = VerificationInspection.objects.get_or_create(pair=pair, defaults={"requested_by": actor})
    if is_new:
        study = pair.study
        about = {"name": study.name, "pair": pair.position}
        audit_record(project=study.project, actor=actor, action="verification.inspect", subject=pair.uuid, **about)
    return row


@transaction.atomic
def inspection_take(*, project: Project, checker: User, now: datetime | None = None) -> VerificationInspection | None:
    """Return the pair that a checker looks at again, or the oldest that nobody else does; None where none waits."""
    now = now or clock.now()
    rows = selectors.inspections_waiting(project, checker)
    rows = rows.select_for_update(of=("self",), no_key=True, skip_locked=True)
    row = rows.filter(checker=checker, checker_until__gt=now).first() or rows.exclude(checker_until__gt=now).first()
    if row is not None:
        row.checker, row.checker_until = checker, lease_until(now, minutes=policy_in_force(project.pk).lease_minutes)
        row.save(update_fields=["checker", "checker_until"])
    return row


@transaction.atomic
def inspection_decide(
    *, inspection: UUID, checker: User, verdict: Verdict, now: datetime | None = None
) -> VerificationInspection:
    """Record what a checker finds at another look; the same again is answered as the first time.

    It stands in the report alone; the description and its moment stay in the corpus as they are.

    Raises:
        NotAssigned: there is no such inspection.
        NotPossibleNow: somebody else has decided.
        NotPossible: the checker wrote or verified the pair, or a reason is missing, or the bounds are no moment.
    """
    rows = VerificationInspection.objects.select_for_update(of=("self",), no_key=True)
    row = rows.select_related("pair__study", "pair__description__moment__video").filter(uuid=inspection).first()
    if row is None:
        raise NotAssigned("There is no such pair to look at again.")
    if row.decision:
        if (row.checker_id, row.decision) == (checker.pk, verdict.decision):
            return row
        raise NotPossibleNow("Somebody has decided about this pair already. Here is the next one.")
    if not selectors.inspections_waiting(row.pair.study.project, checker).filter(pk=row.pk):
        raise NotPossible("You wrote this query or verified it: somebody else looks at it again.")
    pair, video = row.pair, row.pair.description.moment.video
    verdict = verdict_complete(verdict, start_s=pair.start_s, end_s=pair.end_s, duration_s=video.duration_s)
    for name, value in verdict._asdict().items():
        setattr(row, name, value)
    row.checker, row.checker_until, row.decided_at = checker, None, now or clock.now()
    row.save()
    logger.info("verification inspection %s: %s", row.pk, row.decision)
    return row
