"""Have a web process ready for annotators before the first of them comes: after a restart all of them come at once."""

import logging
from threading import Thread
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.template.loader import get_template
from django.urls import reverse

from core import clock
from core.sql import sql_rows
from judging.work.selectors import assignments

logger = logging.getLogger(__name__)
TEMPLATES = ("base.html", "judging/work/*.html", "judging/guidelines/_*.html")
RUNS = 9  # psycopg prepares a statement at its third run; PostgreSQL plans the first five of a prepared one anew
NOBODY, NOTHING = 0, UUID(int=0)


def warm_up_aside() -> None:
    """Warm up in a thread, so that the server answers meanwhile."""
    reverse("judging:desk", args=[NOTHING])  # imports all views, which two threads should not do at once
    Thread(target=warm_up, daemon=True).start()


def warm_up() -> None:
    """Read the templates that annotators see, and have each connection of the pool plan the statements of judging.

    A database that does not answer is no reason not to start: pages say so themselves.
    """
    for pattern in TEMPLATES:
        for path in (settings.BASE_DIR / "templates").glob(pattern):
            get_template(str(path.relative_to(settings.BASE_DIR / "templates")))
    pool = settings.DATABASES["default"]["OPTIONS"].get("pool")
    try:
        for _ in range(pool["max_size"] if pool and tables_are_known() else 0):  # it hands out what lay idle longest
            statements_plan()
            connection.close()  # back into the pool
    except DatabaseError as error:
        logger.warning("statements of judging are not planned ahead: %s", error)


def tables_are_known() -> bool:
    """Whether PostgreSQL has looked at the table of judgments: a plan for empty tables would be kept, and is slow when
    they fill."""
    return bool(sql_rows("SELECT reltuples > 0 FROM pg_class WHERE oid = 'judging_judgment'::regclass", {})[0][0])


def statements_plan() -> None:
    """Ask for what is not there, as often as it takes until the statements that annotators wait for are planned."""
    for _ in range(RUNS):
        assignments.assignment_by_pair(annotator_id=NOBODY, pair=NOTHING)
        assignments.current_assignment(annotator_id=NOBODY, project_id=NOBODY)
        assignments.readiness(project_id=NOBODY, annotator_id=NOBODY, now=clock.now())
        assignments.pairs_requested(batch_id=NOBODY, annotator_id=NOBODY)
        with transaction.atomic():
            assignments.batch_to_be_taken(project_id=NOBODY, annotator_id=NOBODY, lock=True)
