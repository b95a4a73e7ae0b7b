"""A web process is ready for annotators before the first of them comes."""

import logging
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from core.sql import sql_rows
from judging.work import warm_up
from judging.work.selectors.assignments import ASSIGNMENT, READINESS, REQUESTED_PAIRS, TO_BE_TAKEN
from tests.factories import JudgmentFactory

PLANNED = "SELECT statement FROM pg_prepared_statements WHERE custom_plans >= 5"  # the next plan may be for all times


@pytest.mark.django_db
def test_a_connection_has_planned_what_annotators_wait_for() -> None:
    warm_up.statements_plan()
    planned = [text for (text,) in sql_rows(PLANNED, {})]
    for statement in (ASSIGNMENT, READINESS, REQUESTED_PAIRS, TO_BE_TAKEN):
        opening = statement.partition("%")[0]
        assert any(text.startswith(opening) for text in planned), opening


@pytest.mark.parametrize(("error", "plans", "warnings"), [(None, 3, 0), (OperationalError("it is away"), 1, 1)])
def test_each_connection_of_the_pool_plans_and_no_missing_database_stops_it(
    error: OperationalError | None,
    plans: int,
    warnings: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    plan, pooled, templates = Mock(side_effect=error), Mock(), Mock()
    monkeypatch.setattr(warm_up, "get_template", templates)
    monkeypatch.setattr(warm_up, "statements_plan", plan)
    monkeypatch.setattr(warm_up, "connection", pooled)
    monkeypatch.setattr(warm_up, "tables_are_known", lambda: True)
    monkeypatch.setitem(settings.DATABASES["default"]["OPTIONS"], "pool", {"max_size": 3})
    with caplog.at_level(logging.WARNING):
        warm_up.warm_up()
    assert plan.call_count == plans
    assert pooled.close.call_count == plans - warnings
    assert len(caplog.records) == warnings
    read = {call.args[0] for call in templates.call_args_list}
    assert {"base.html", "judging/work/judge.html", "judging/work/desk.html"} <= read


@pytest.mark.django_db(transaction=True)
def test_nothing_is_planned_for_tables_that_postgresql_takes_for_empty() -> None:
    """Such a plan is kept, and is slow when they fill."""
    assert not warm_up.tables_are_known()
    JudgmentFactory()
    assert not warm_up.tables_are_known()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE judging_judgment")
    assert warm_up.tables_are_known()
