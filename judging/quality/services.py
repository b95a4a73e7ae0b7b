"""Gold pairs among those an annotator is asked; figures about the work, computed by a task; and alerts to the lead.

Annotators cannot distinguish gold from other pairs. Its grades go into a table of their own, so that consensus,
releases and figures about pairs never meet them.
"""

import logging
import random
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import Project, User
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import durable, swept
from core.messages import send_on_commit
from core.sql import only_one
from judging.guidelines.selectors import policy_in_force
from judging.models import Assignment, Batch, GoldGrade, Policy, QualityAlert, QualityReport
from judging.quality import selectors
from judging.quality.rules import quality as rules
from judging.quality.rules.quality import gold_among, gold_due, gold_least
from judging.review.selectors import annotator_numbers
from judging.work.rules import rules_of, with_change
from judging.work.selectors.assignments import OpenAssignment, PairView, slots_taken

GIVE_GOLD = """
WITH renewed AS (UPDATE judging_assignment SET expires_at = %(until)s
    WHERE id = %(assignment)s AND state = 'open' AND expires_at = %(expires_at)s RETURNING id)
INSERT INTO judging_goldgrade (uuid, pair_id, assignment_id, annotator_id, grade, truth, revision, history, position,
    comment, active_ms, source, guideline_id, policy_id, created_at)
SELECT %(key)s, pair.id, renewed.id, %(annotator)s, %(grade)s,
    CASE WHEN (SELECT count(*) = batch.judges AND min(given.grade) = max(given.grade) FROM judging_judgment given
        WHERE given.pair_id = pair.id) THEN pair.relevance END, 0,
    jsonb_build_array(jsonb_build_array(%(key)s::text, %(grade)s::int, %(now)s::timestamptz)), %(position)s,
    %(comment)s, %(active_ms)s, %(source)s, %(guideline)s, %(policy)s, %(now)s
FROM renewed JOIN judging_pair pair ON pair.id = %(pair)s JOIN judging_batch batch ON batch.id = pair.batch_id
ON CONFLICT DO NOTHING RETURNING id"""


def gold_for(batch: Batch, annotator: User, *, others: int, policy: Policy, seed: int) -> list[int]:
    """Pairs of the batch itself to mix among ``others`` of its second round."""
    if not policy.gold_percent or batch.round == 1:
        return []  # in the first round no pair of the batch is known
    due = _due(batch.project_id, annotator, policy, more=others)
    known_ids = selectors.gold_in(batch_id=batch.pk, annotator_id=annotator.pk) if due else []
    return random.Random(seed).sample(known_ids, min(len(known_ids), gold_among(others, due=due)))


def gold_batch_for(project: Project, annotator: User, *, policy: Policy) -> tuple[Batch, list[int]] | None:
    """A finished batch of which the annotator is due some pairs again, locked; None when nothing is due or fits."""
    if not policy.gold_percent:
        return None
    due = _due(project.pk, annotator, policy, more=0)
    if due < project.batch_size:
        return None
    least = gold_least(project.batch_size)
    batch_id = selectors.gold_batch(project_id=project.pk, annotator_id=annotator.pk, least=least)
    if batch_id is None:
        return None
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    if slots_taken(batch.pk):
        return None  # somebody was faster; it is due the next time
    # all of it, those not known for company: a batch of another size than others would be known for what it is
    return batch, selectors.gold_in(batch_id=batch.pk, annotator_id=annotator.pk, only_known=False)


def gold_slot(batch: Batch) -> int:
    """A slot of the finished batch; nobody holds one."""
    slots = rules_of(batch).slots
    return slots[batch.pk % len(slots)]


def _due(project_id: int, annotator: User, policy: Policy, *, more: int) -> int:
    n_shown, gold = selectors.gold_share(project_id=project_id, annotator_id=annotator.pk)
    return gold_due(n_shown=n_shown + more, gold=gold, percent=policy.gold_percent)


def gold_change(
    assignment: OpenAssignment, pair_view: PairView, *, grade: int, comment: str, active_ms: int, now: datetime
) -> None:
    """Replace the grade of a gold pair; what was said before stays in its history."""
    gold_grade = GoldGrade.objects.get(assignment=assignment.assignment_id, pair=pair_view.pair_id)
    if grade != gold_grade.grade:
        gold_grade.history = [*gold_grade.history, [str(assignment.key_of(pair_view)), grade, now.isoformat()]]
        gold_grade.grade, gold_grade.revision = grade, gold_grade.revision + 1
        gold_grade.policy_id, gold_grade.guideline_id = assignment.policy_id, assignment.guideline_id
        gold_grade.active_ms = with_change(gold_grade.active_ms, active_ms)
    gold_grade.comment = comment
    gold_grade.save(update_fields=["grade", "comment", "revision", "history", "active_ms", "policy", "guideline"])


def gold_given_under(key: UUID, pair_view: PairView) -> tuple[int, datetime] | None:
    """The grade that the form of this key gave the gold pair, and when."""
    gold_grade = GoldGrade.objects.filter(pk=pair_view.judgment_id).first() if pair_view.judgment_id else None
    for form_key, grade, at in gold_grade.history if gold_grade else []:
        if form_key == str(key):
            return int(grade), datetime.fromisoformat(at)
    return None


logger = logging.getLogger(__name__)
TASK = "judging.tasks.quality_compute"
FRESH = timedelta(minutes=5)  # figures are computed anew no sooner by themselves
SEED = 20260101


@durable(TASK)
def quality_compute(*, project_id: int, now: datetime | None = None) -> bool:
    """Compute the figures of a project from its rows; False when somebody else is at it."""
    project = Project.objects.filter(pk=project_id).first()
    with only_one("quality", project_id) as alone:
        if not alone or project is None:
            return False
        policy, newest = policy_in_force(project.pk), selectors.newest_judgment(project.pk)
        _store(project, policy, _figures(project, policy), newest, now or timezone.now())
    return True


def _figures(project: Project, policy: Policy) -> dict[str, Any]:
    judgments = rules.judgments_of(selectors.final_columns(project_id=project.pk, zone=policy.time_zone))
    numbers, gold = annotator_numbers(project), selectors.gold_counts(project)
    scale = rules_of(project)
    agreed, partners = rules.agreed_with_partner(judgments, scale), rules.partners(judgments, scale)
    people = {}
    for annotator, partner_figures in partners.items():
        mask = judgments["annotator"] == annotator
        n_gold, misaligned = gold.get(annotator, (0, 0))
        people[str(numbers[annotator])] = {
            **rules.annotator_figures(
                judgments[mask], scale, agreed=agreed[mask], fast_s=policy.alert_fast_s, seed=SEED
            ),
            "partners": [{**partner, "annotator": numbers[partner["annotator"]]} for partner in partner_figures],
            "with_partners": rules.mean_with_partners(partner_figures),
            "gold": {"judgments": n_gold, "misaligned": misaligned / n_gold if n_gold else None},
        }
    return {"project": rules.project_figures(judgments, scale), "annotators": people}


@transaction.atomic
def _store(project: Project, policy: Policy, figures: dict[str, Any], newest: int, now: datetime) -> None:
    QualityReport.objects.update_or_create(
        project=project, defaults={"data": figures, "last_judgment": newest, "computed_at": now}
    )
    names = ("from", "kappa", "bias", "gold", "fast_streak", "run")
    limits = {name: float(getattr(policy, f"alert_{name}")) for name in names}
    people = {number: user for user, number in annotator_numbers(project).items()}
    for number, person_figures in figures["annotators"].items():
        for past in rules.alerts(person_figures, limits):
            _alert_raise(project, people[int(number)], past, person_figures["judgments"], again_after=policy.alert_from)


def _alert_raise(project: Project, annotator_id: int, past: rules.Past, judgments: int, *, again_after: int) -> None:
    """Raise an alert for the lead, unless they have seen it and little has been judged since. An alert that nobody has
    seen yet follows the figures, its base included: a value over more judgments than are named beside it could not be
    true."""
    figures = {"value": past.value, "threshold": past.threshold, "judgments": judgments}
    last = QualityAlert.objects.filter(project=project, annotator=annotator_id, kind=past.kind).first()
    if last and last.seen_at is None:
        QualityAlert.objects.filter(pk=last.pk).update(**figures)
    elif last is None or judgments >= last.judgments + again_after:
        QualityAlert.objects.create(project=project, annotator_id=annotator_id, kind=past.kind, **figures)
        logger.info("alert %s of annotator %s in project %s", past.kind, annotator_id, project.pk)


@transaction.atomic
def alert_see(*, alert: QualityAlert, lead: User, note: str = "") -> None:
    """A lead has looked at it, and what they make of it is kept. It may be raised again after more judgments. Raises
    NotPossible: somebody has looked at it already."""
    now = timezone.now()
    unseen = QualityAlert.objects.filter(pk=alert.pk, seen_at__isnull=True)
    if not unseen.update(seen_at=now, seen_by=lead, note=note[:1000]):
        raise NotPossible("Somebody has looked at this already.")
    number = annotator_numbers(alert.project).get(alert.annotator_id)
    data = {"annotator": number, "kind": alert.kind, "value": round(alert.value, 3), "note": note}
    audit_record(project=alert.project, actor=lead, action="alert.see", subject=alert.uuid, **data)


@swept
def quality_sweep(now: datetime) -> None:
    """Send the computing of projects that have new judgments and no fresh figures. No ``JobKind``: no row asks for it,
    the age of the figures does."""
    for project in Project.objects.filter(batches__isnull=False).distinct():
        report = selectors.quality_report(project)
        if report and (report.computed_at > now - FRESH):
            continue
        is_stale = selectors.newest_judgment(project.pk) > (report.last_judgment if report else 0)
        if report and not is_stale:  # figures are over what is final: work that ended, batches that were decided
            ended = Assignment.objects.filter(project=project, ended_at__gt=report.computed_at)
            is_stale = ended.exists() or project.batches.filter(done_at__gt=report.computed_at).exists()
        if is_stale:
            send_on_commit(TASK, project.pk)
