"""Gold: pairs of known truth among those an annotator is asked. Nothing they can see tells them apart.

Their grades go into a table of their own, so that consensus, releases and figures about pairs never meet them.
"""

import random
from datetime import datetime
from uuid import UUID

from accounts.models import User
from annotation.pools.rules.pooling import BATCH_SIZE
from judging.models import SEATS, Batch, GoldGrade, Policy
from judging.quality.rules.quality import BATCH_LEAST, gold_among, gold_due
from judging.quality.selectors import gold_batch, gold_in, gold_share
from judging.work import rules
from judging.work.selectors.held import Card, Held
from judging.work.selectors.seats import seats_held

GIVE_GOLD = """
WITH renewed AS (UPDATE judging_assignment SET expires_at = %(until)s WHERE id = %(assignment)s)
INSERT INTO judging_goldgrade (uuid, pair_id, assignment_id, annotator_id, grade, truth, revision, history, position,
    comment, active_ms, source, guideline_id, policy_id, created_at)
SELECT %(key)s, pair.id, %(assignment)s, %(annotator)s, %(grade)s,
    CASE WHEN (SELECT count(*) = 2 AND min(given.grade) = max(given.grade) FROM judging_judgment given
        WHERE given.pair_id = pair.id) THEN pair.relevance END, 0,
    jsonb_build_array(jsonb_build_array(%(key)s::text, %(grade)s::int, %(now)s::timestamptz)), %(position)s,
    %(comment)s, %(active_ms)s, %(source)s, %(guideline)s, %(policy)s, %(now)s
FROM judging_pair pair WHERE pair.id = %(pair)s
RETURNING id"""


def gold_for(batch: Batch, annotator: User, *, others: int, policy: Policy, seed: int) -> list[int]:
    """Pairs of the batch itself to mix among ``others`` of its second round."""
    if not policy.gold_percent or batch.round == 1:
        return []  # in the first round no pair of the batch is known
    due = _due(batch.project_id, annotator, policy, more=others)
    known = gold_in(batch_id=batch.pk, annotator_id=annotator.pk) if due else []
    return random.Random(seed).sample(known, min(len(known), gold_among(others, due=due)))


def gold_batch_for(project_id: int, annotator: User, *, policy: Policy) -> tuple[Batch, list[int]] | None:
    """A finished batch of which the annotator is due some pairs again, locked; None when nothing is due or fits."""
    if not policy.gold_percent:
        return None
    due = _due(project_id, annotator, policy, more=0)
    if due < BATCH_SIZE:
        return None
    found = gold_batch(project_id=project_id, annotator_id=annotator.pk, least=BATCH_LEAST)
    if found is None:
        return None
    batch = Batch.objects.select_for_update().get(pk=found)
    if seats_held(batch.pk):
        return None  # somebody was faster; it is due the next time
    # all of it, those not known for company: a batch of another size than others would be known for what it is
    return batch, gold_in(batch_id=batch.pk, annotator_id=annotator.pk, known=False)


def gold_seat(batch: Batch) -> int:
    """A seat of the finished batch; nobody holds one."""
    return SEATS[batch.pk % len(SEATS)]


def _due(project_id: int, annotator: User, policy: Policy, *, more: int) -> int:
    share = gold_share(project_id=project_id, annotator_id=annotator.pk)
    return gold_due(shown=share.shown + more, gold=share.gold, percent=policy.gold_percent)


def gold_change(held: Held, card: Card, *, grade: int, comment: str, active_ms: int, now: datetime) -> None:
    """Replace the grade of a gold pair; what was said before stays in its history."""
    given = GoldGrade.objects.get(assignment=held.assignment_id, pair=card.pair_id)
    if grade != given.grade:
        given.history = [*given.history, [str(held.key_of(card)), grade, now.isoformat()]]
        given.grade, given.revision = grade, given.revision + 1
        given.policy_id, given.guideline_id = held.policy_id, held.guideline_id
        given.active_ms = rules.with_change(given.active_ms, active_ms)
    given.comment = comment
    given.save(update_fields=["grade", "comment", "revision", "history", "active_ms", "policy", "guideline"])


def gold_given_under(key: UUID, card: Card) -> tuple[int, datetime] | None:
    """The grade that the form of this key gave the gold pair, and when."""
    given = GoldGrade.objects.filter(pk=card.judgment_id).first() if card.judgment_id else None
    for said, grade, at in given.history if given else []:
        if said == str(key):
            return int(grade), datetime.fromisoformat(at)
    return None
