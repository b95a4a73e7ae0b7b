"""Each constraint and trigger is dropped once: what it alone refuses is then written, what it keeps true no longer is.

``make mutations`` runs this. A constraint's cases are the entries of ``constraints``; a trigger's are those whose words
its function raises, or a test of what it counts. Constraints that bear their table's name come from a column's type
(``unique=True``, positive numbers) and are Django's own; django-allauth's tables are its own.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial

import pytest
from django.db import IntegrityError, connection, transaction

from tests.factories import ProjectFactory, lead, triggers_asleep
from tests.judging.constraints.writes import Prepare
from tests.judging.projects import test_caption_edit_counts
from tests.judging.review import test_reviews
from tests.judging.test_constraints import CASES, REFUSED, TRIGGERS
from tests.judging.work import test_tallies

pytestmark = [pytest.mark.mutations, pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
NAMED = """
SELECT conname, format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
WHERE contype IN ('c', 'u', 'x') AND connamespace = 'public'::regnamespace
  AND NOT starts_with(conname, conrelid::regclass::text || '_')
  AND conrelid::regclass::text !~ '^(account|mfa|socialaccount)_'
UNION ALL
SELECT relname, format('DROP INDEX %I', relname) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indisunique AND relnamespace = 'public'::regnamespace
  AND NOT starts_with(relname, indrelid::regclass::text || '_')
  AND indrelid::regclass::text !~ '^(account|mfa|socialaccount)_'
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype <> 'f')
"""
RAISED = """
SELECT tgname, format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass),
  replace(prosrc, '%', tgrelid::regclass::text)  -- whose rows are kept
FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE NOT tgisinternal
"""


def tallied(*steps: tuple[str, int]) -> Callable[[], object]:
    test = test_tallies.TestPairsAndBatches.test_whatever_is_written.hypothesis.inner_test  # type: ignore[attr-defined]
    return partial(test, None, list(steps))


def queue() -> None:
    test_reviews.TestQueue().test_a_trigger_says_what_waits_whoever_writes(ProjectFactory())


def caption_dated() -> None:
    project = ProjectFactory()
    tests = test_caption_edit_counts.TestCandidates()
    tests.test_an_edit_after_freezing_is_reported_and_not_applied(project, lead(project))


NOTICED: dict[str, Callable[[], object]] = {  # triggers that refuse nothing: a test that fails without each
    "batch_awaits_review": queue,
    "review_ends_waiting": queue,
    "pairs_added_are_tallied": tallied(("add", 1)),
    "pairs_changed_are_tallied": tallied(("add", 3), ("set", 3)),
    "pairs_deleted_are_tallied": tallied(("add", 3), ("delete", 2)),
    "batch_added_or_deleted_is_tallied": tallied(("add", 0)),
    "batch_changed_is_tallied": tallied(("add", 0), ("round", 1)),
    "judgments_are_counted": test_tallies.TestJudgments().test_a_change_is_no_second_judgment,
    "caption_change_is_dated": caption_dated,
}

TWICE = {  # refused by a constraint, too: no row can break the one rule and keep the other
    "no grade without an assignment": "judgment_given_under_an_assignment_unless_imported"
}


def execute(statement: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def undone() -> Iterator[None]:
    """Whatever the block writes and drops is rolled back, whether or not an error leaves it."""
    with transaction.atomic():
        try:
            yield
        finally:
            transaction.set_rollback(True)


def refusal(prepare: Prepare, drop: str, *, only_constraints: bool) -> str:
    """Return the write's error without what ``drop`` drops; nothing where it is not refused."""
    with undone():
        execute(drop)
        write = prepare()
        execute("SET CONSTRAINTS ALL IMMEDIATE")  # what was prepared is sound
        execute("SET CONSTRAINTS ALL DEFERRED")
        try:
            with transaction.atomic(), triggers_asleep() if only_constraints else nullcontext():
                write()
                execute("SET CONSTRAINTS ALL IMMEDIATE")
        except IntegrityError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("case", [case for case, (words, _) in CASES.items() if words in REFUSED])
def test_a_bad_row_is_refused_by_its_constraint_alone(case: str) -> None:
    name, prepare = CASES[case]
    assert refusal(prepare, dict(execute(NAMED))[name], only_constraints=True) == ""


def test_every_named_constraint_is_dropped() -> None:
    assert {name for name, _ in execute(NAMED)} == set(REFUSED)


@cache
def refusing(case: str) -> frozenset[str]:
    """Names of the triggers without which the case is not refused."""
    words, prepare = CASES[case]
    raised = [(name, drop) for name, drop, source in execute(RAISED) if re.search(words, source)]
    refusals = {name: refusal(prepare, drop, only_constraints=False) for name, drop in raised}
    return frozenset(
        name for name, message in refusals.items() if not message or (case in TWICE and TWICE[case] in message)
    )


WORDED = [case for case, (words, _) in CASES.items() if words not in REFUSED]


@pytest.mark.parametrize("case", WORDED)
def test_a_bad_row_is_refused_by_one_trigger_alone(case: str) -> None:
    assert len(refusing(case)) == 1


@pytest.mark.parametrize("trigger", sorted(TRIGGERS))
def test_every_trigger_is_missed(trigger: str) -> None:
    if trigger not in NOTICED:
        assert any(trigger in refusing(case) for case in WORDED)
        return
    with undone():
        NOTICED[trigger]()
    with undone():
        execute(next(drop for name, drop, _ in execute(RAISED) if name == trigger))
        with pytest.raises(AssertionError):
            NOTICED[trigger]()
