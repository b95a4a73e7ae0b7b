"""Hours, pay and the work that is left of a project: one statement reads the time, one what is paid by the piece, one
the rates, whatever it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property

from django.db.models import F

from accounts.models import Membership, Project
from annotation.pools.rules import BATCH_SIZE
from annotation.queries.selectors import queries_to_judge
from core.sql import sql_named, sql_rows
from judging.models import ClipAssignment, HoursCorrection, Policy, QueryCheck
from judging.pay.rules import (
    TVR_RANKING,
    Assumptions,
    Day,
    Line,
    PieceLine,
    Pieces,
    Rate,
    Time,
    amounts_of,
    day_time,
    escalated_share,
    lines_of,
    month_of,
    piece_lines_of,
    rate_on,
    total_time,
)
from judging.people.selectors import actor_names
from judging.work.rules import rules_of

# A day is one of the project's time zone. What was given under a version of the policy is capped by that version; a
# exam attempt names none, so the one that was in force at the time caps it and says whether training is paid. Time that
# nobody measured is none (LEAST would pass over the null and count the cap).
OF_PERIOD = """graded.created_at >= bound.first AND graded.created_at < bound.beyond
        AND (%(annotator)s::bigint IS NULL OR graded.annotator_id = %(annotator)s)"""
TIMED = f"""
    SELECT graded.annotator_id, graded.created_at, 'judging' AS kind, batch.is_pilot,
        CASE WHEN graded.active_ms IS NOT NULL THEN least(graded.active_ms, 1000 * policy.pay_cap_s) END AS ms
    FROM bound CROSS JOIN {{table}} graded
    JOIN judging_assignment held ON held.id = graded.assignment_id AND held.project_id = %(project)s
    JOIN judging_batch batch ON batch.id = held.batch_id
    JOIN judging_policy policy ON policy.id = graded.policy_id
    WHERE {OF_PERIOD}"""  # noqa: S608  # nosec B608 - constants
# Writing and checking name no version either. Time that ended without a query is time of writing, too; whoever took a
# check back has spent the time of it.
OF_ROUND = """JOIN judging_writingclip clip ON clip.id = query.clip_id
    JOIN judging_writinground round ON round.id = clip.round_id AND round.project_id = %(project)s"""
QUERIES = f"""SELECT query.writer_id AS annotator_id, query.created_at, query.active_ms, 'writing' AS kind
    FROM judging_writtenquery query {OF_ROUND}"""  # noqa: S608  # nosec B608 - constants
EMPTY = """SELECT writer_id AS annotator_id, empty_at AS created_at, empty_ms AS active_ms, 'empty' AS kind
    FROM judging_clipassignment WHERE project_id = %(project)s AND empty_at IS NOT NULL"""
CHECKS = f"""SELECT given.checker_id AS annotator_id, given.created_at, given.active_ms,
    CASE WHEN given.undone_at IS NULL THEN 'checking' ELSE 'undone' END AS kind
    FROM judging_querycheck given JOIN judging_writtenquery query ON query.id = given.query_id {OF_ROUND}"""  # noqa: S608  # nosec B608 - constants
IN_FORCE = "graded.created_at >= version.since AND graded.created_at < version.until"
BY_VERSION = f"""
    SELECT graded.annotator_id, graded.created_at, graded.kind, false, CASE
        WHEN version.writing_hours AND graded.active_ms IS NOT NULL THEN least(graded.active_ms, 1000 * {{cap}}) END
    FROM bound CROSS JOIN ({{rows}}) graded JOIN version ON {IN_FORCE}
    WHERE {OF_PERIOD}"""  # noqa: S608  # nosec B608 - constants
BOUND = """
WITH bound AS (SELECT %(first)s::date::timestamp AT TIME ZONE %(zone)s AS first,
    (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s AS beyond),
version AS (SELECT pay_cap_s, pays_training, writing_hours, writing_cap_s, checking_cap_s, query_price, query_price_for,
    check_price, pay_currency,
    CASE WHEN row_number() OVER (ORDER BY version) = 1 THEN '-infinity' ELSE created_at END AS since,
    lead(created_at, 1, 'infinity') OVER (ORDER BY version) AS until
    FROM judging_policy WHERE project_id = %(project)s)"""
HOURS = f"""{BOUND},
given AS ({TIMED.format(table="judging_judgment")}
    UNION ALL {TIMED.format(table="judging_goldgrade")}
    UNION ALL
    SELECT graded.annotator_id, graded.created_at, 'judging', batch.is_pilot, NULL
    FROM bound CROSS JOIN judging_judgment graded
    JOIN judging_pair pair ON pair.id = graded.pair_id
    JOIN judging_batch batch ON batch.id = pair.batch_id AND batch.project_id = %(project)s
    WHERE graded.assignment_id IS NULL AND {OF_PERIOD}
    UNION ALL
    SELECT graded.annotator_id, graded.created_at, 'training', false,
        CASE WHEN graded.active_ms IS NOT NULL THEN least(graded.active_ms, 1000 * version.pay_cap_s) END
    FROM bound CROSS JOIN judging_examgrade graded
    JOIN judging_examattempt attempt ON attempt.id = graded.exam_attempt_id AND attempt.project_id = %(project)s
    JOIN version ON {IN_FORCE} AND version.pays_training
    WHERE {OF_PERIOD}
    UNION ALL {BY_VERSION.format(rows=QUERIES, cap="version.writing_cap_s")}
    UNION ALL {BY_VERSION.format(rows=EMPTY, cap="version.writing_cap_s")}
    UNION ALL {BY_VERSION.format(rows=CHECKS, cap="version.checking_cap_s")}),
spent AS (
    SELECT annotator_id, (created_at AT TIME ZONE %(zone)s)::date AS day,
        CASE WHEN is_pilot AND NOT %(pilot)s THEN 'left out' ELSE kind END AS kind, coalesce(sum(ms), 0) AS ms,
        count(ms) AS timed, count(*) - count(ms) AS untimed
    FROM given GROUP BY 1, 2, 3
    UNION ALL
    SELECT annotator_id, day, 'correction', 1000 * sum(seconds), 0, 0 FROM judging_hourscorrection
    WHERE project_id = %(project)s AND day BETWEEN %(first)s AND %(last)s
        AND (%(annotator)s::bigint IS NULL OR annotator_id = %(annotator)s)
    GROUP BY 1, 2)
SELECT annotator_id, day,
    coalesce(sum(ms) FILTER (WHERE kind = 'judging'), 0)::bigint AS judging,
    coalesce(sum(ms) FILTER (WHERE kind = 'training'), 0)::bigint AS training,
    coalesce(sum(ms) FILTER (WHERE kind IN ('writing', 'empty')), 0)::bigint AS writing,
    coalesce(sum(ms) FILTER (WHERE kind IN ('checking', 'undone')), 0)::bigint AS checking,
    coalesce(sum(ms) FILTER (WHERE kind = 'correction'), 0)::bigint AS correction,
    coalesce(sum(ms) FILTER (WHERE kind = 'left out'), 0)::bigint AS left_out,
    coalesce(sum(timed) FILTER (WHERE kind = 'judging'), 0)::bigint AS judgments,
    coalesce(sum(untimed) FILTER (WHERE kind = 'judging'), 0)::bigint AS untimed,
    coalesce(sum(timed + untimed) FILTER (WHERE kind = 'writing'), 0)::bigint AS queries,
    coalesce(sum(timed + untimed) FILTER (WHERE kind = 'checking'), 0)::bigint AS checks
FROM spent GROUP BY annotator_id, day ORDER BY annotator_id, day"""  # noqa: S608  # nosec B608 - constants

# A query has the price of the version that it was written under. What is paid whatever becomes of it is paid on its own
# day, the rest on the day of the check that counts.
PRICES = f"""{BOUND},
priced AS (
    SELECT graded.writer_id AS annotator_id, 'query' AS kind, version.query_price AS price,
        version.pay_currency AS currency,
        CASE version.query_price_for WHEN 'all' THEN graded.created_at ELSE given.created_at END AS created_at
    FROM (SELECT query.* FROM judging_writtenquery query {OF_ROUND}) graded
    JOIN version ON {IN_FORCE} AND version.query_price > 0
    JOIN judging_clipassignment assignment ON assignment.id = graded.assignment_id
    LEFT JOIN judging_querycheck given ON given.query_id = graded.id AND given.undone_at IS NULL
    WHERE version.query_price_for = 'all' OR graded.state = 'accepted' OR (version.query_price_for = 'open'
        AND graded.state = 'sent_back' AND assignment.state IN ('sent_back', 'open'))
    UNION ALL
    SELECT graded.annotator_id, 'check', version.check_price, version.pay_currency, graded.created_at
    FROM ({CHECKS}) graded JOIN version ON {IN_FORCE} AND version.check_price > 0 WHERE graded.kind = 'checking')
SELECT graded.annotator_id, (graded.created_at AT TIME ZONE %(zone)s)::date, graded.kind, graded.price, graded.currency,
    count(*)
FROM bound CROSS JOIN priced graded WHERE {OF_PERIOD}
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3"""  # noqa: S608  # nosec B608 - constants

# The policy's rates come with nobody's name.
RATES = """
SELECT annotator_id, from_day, rate, currency FROM (
    SELECT annotator_id, from_day, rate, currency, id AS place FROM judging_payrate
    WHERE project_id = %(project)s AND (%(annotator)s::bigint IS NULL OR annotator_id = %(annotator)s)
    UNION ALL
    SELECT NULL, (created_at AT TIME ZONE %(zone)s)::date, pay_rate, pay_currency, version FROM judging_policy
    WHERE project_id = %(project)s) rate
ORDER BY place"""


@dataclass(frozen=True)
class Rates:
    """Past and present hourly pay in a project."""

    own: Mapping[int, Sequence[Rate]]
    default: Sequence[Rate]

    def on(self, annotator_id: int, day: date) -> Rate:
        return rate_on(day, self.own.get(annotator_id, ()), self.default)


@dataclass(frozen=True)
class Worked:
    """Days of one annotator or of all, and what they sum up to."""

    days: Sequence[Day]

    @cached_property
    def time(self) -> Time:
        return total_time(self.days)

    @property
    def judgments(self) -> int:
        return sum(worked.judgments for worked in self.days)

    @property
    def untimed(self) -> int:
        return sum(worked.untimed for worked in self.days)

    @property
    def queries(self) -> int:
        return sum(worked.queries for worked in self.days)

    @property
    def checks(self) -> int:
        return sum(worked.checks for worked in self.days)


@dataclass(frozen=True)
class Account(Worked):
    """One person's part of a statement: their time, and what is paid by the piece."""

    annotator_id: int
    rates: Rates
    pieces: Sequence[Pieces] = ()

    @cached_property
    def lines(self) -> list[Line]:
        return lines_of(self.days, self.rates.own.get(self.annotator_id, ()), self.rates.default)

    @cached_property
    def piece_lines(self) -> list[PieceLine]:
        return piece_lines_of(self.pieces)

    @property
    def first_day(self) -> date | None:
        """The first day with anything on it."""
        return min(self._days, default=None)

    @property
    def _days(self) -> list[date]:
        return [*(worked.day for worked in self.days), *(piece.day for piece in self.pieces)]

    @property
    def grades(self) -> int:
        """All judgments, whether their time is known or not."""
        return self.judgments + self.untimed

    @property
    def amounts(self) -> list[tuple[str, Decimal]]:
        return amounts_of(self.all_lines)

    @property
    def all_lines(self) -> list[Line | PieceLine]:
        return [*self.lines, *self.piece_lines]

    def part(self, first_day: date, last_day: date) -> "Account":
        days = [worked for worked in self.days if first_day <= worked.day <= last_day]
        return replace(self, days=days, pieces=[piece for piece in self.pieces if first_day <= piece.day <= last_day])

    def by_month(self) -> list["Account"]:
        """A part for each month with anything in it, the newest first."""
        months = sorted({day.replace(day=1) for day in self._days}, reverse=True)
        return [self.part(*month_of(month)) for month in months]


@dataclass(frozen=True)
class Statement(Worked):
    """Hours and pay of a period, both days included."""

    accounts: Sequence[Account]
    rates: Rates
    left_out: Time  # spent on pilot batches, where these are left out

    @property
    def amounts(self) -> list[tuple[str, Decimal]]:
        """Money by currency: the sum of all lines as they are shown."""
        return amounts_of(line for account in self.accounts for line in account.all_lines)

    @property
    def has_judging(self) -> bool:
        return bool(self.judgments or self.untimed or self.time.judging or self.time.training)

    @property
    def has_writing(self) -> bool:
        """Whether anybody wrote or checked, or is paid for it by the piece."""
        return any(account.queries or account.checks or account.pieces for account in self.accounts) or bool(
            self.time.writing or self.time.checking
        )

    def account_of(self, annotator_id: int) -> Account:
        theirs = (account for account in self.accounts if account.annotator_id == annotator_id)
        return next(theirs, Account((), annotator_id, self.rates))


def pay_statement(
    *, project_id: int, zone: str, first_day: date, last_day: date, annotator_id: int | None = None, pilot: bool = True
) -> Statement:
    """Return hours and pay of one person, or of everybody who has any, from ``first_day`` to ``last_day``.

    Time spent on pilot batches counts unless ``pilot`` is False. What an annotator reads must never leave it out:
    a batch that adds grades but no hours would be known as a pilot.
    """
    values = {"project": project_id, "annotator": annotator_id, "zone": zone}
    period = {"first": first_day, "last": last_day, "pilot": pilot}
    days: dict[int, list[Day]] = {}
    left_out_ms = 0
    for row in sql_named(HOURS, values | period):
        spent = {name: getattr(row, name) for name in Time._fields}
        worked = Day(row.day, day_time(**spent), row.judgments, row.untimed, row.queries, row.checks)
        days.setdefault(row.annotator_id, []).append(worked)
        left_out_ms += row.left_out
    pieces: dict[int, list[Pieces]] = {}
    for person, *piece in sql_rows(PRICES, values | period):
        pieces.setdefault(person, []).append(Pieces(*piece))
    own: dict[int, list[Rate]] = {}
    default: list[Rate] = []
    for person, *rate in sql_rows(RATES, values):
        (default if person is None else own.setdefault(person, [])).append(Rate(*rate))
    rates = Rates(own, default)
    people = sorted({*days, *pieces})
    accounts = [Account(days.get(person, ()), person, rates, pieces.get(person, ())) for person in people]
    all_days = [day for account in accounts for day in account.days]
    return Statement(all_days, accounts, rates, left_out=Time(judging=left_out_ms))


@dataclass(frozen=True)
class Person:
    """Somebody who may have hours: as leads call them, and as files and all others do."""

    member: Membership
    name: str
    label: str | int

    @property
    def is_annotator(self) -> bool:
        return self.member.number is not None


def people_of(project: Project) -> dict[int, Person]:
    """Return the members of a project by account: annotators by number, then the others."""
    names, labels = actor_names(project, to_lead=True), actor_names(project, to_lead=False)
    members = project.memberships.select_related("user").order_by(F("number").asc(nulls_last=True), "pk")
    return {
        member.user_id: Person(member, names[member.user_id].capitalize(), member.number)
        if member.number is not None
        else Person(member, names[member.user_id], labels[member.user_id])
        for member in members
    }


def has_written(project: Project, user_id: int) -> bool:
    """Say whether somebody had a clip or a check in the project, whatever their roles are now."""
    clips = ClipAssignment.objects.filter(project=project, writer=user_id)
    checks = QueryCheck.objects.filter(checker=user_id, query__clip__round__project=project)
    return clips.exists() or checks.exists()


def corrections_of(project: Project, annotator_id: int, first_day: date, last_day: date) -> list[HoursCorrection]:
    rows = project.hours_corrections.filter(annotator=annotator_id, day__range=(first_day, last_day))
    return list(rows.order_by("day", "id"))


MEASURED = """
WITH batch AS (SELECT batch.id, batch.number, review.id IS NOT NULL AS reviewed
    FROM judging_batch batch LEFT JOIN judging_batchreview review ON review.batch_id = batch.id
    WHERE batch.project_id = %(project)s),
decided AS (SELECT count(*) AS pairs, count(*) FILTER (WHERE pair.state = 'escalated' OR EXISTS (
        SELECT 1 FROM judging_judgment judgment WHERE judgment.pair_id = pair.id AND judgment.round = 2)) AS escalated
    FROM judging_pair pair JOIN batch ON batch.id = pair.batch_id WHERE pair.state NOT IN ('open', 'withdrawn'))
SELECT (SELECT count(*)::float FROM judging_pair pair JOIN batch ON batch.id = pair.batch_id AND batch.number <= 2)
        / nullif((SELECT count(*) FROM batch WHERE number <= 2), 0),
    (SELECT count(*) FILTER (WHERE number = 2)::float / nullif(count(*) FILTER (WHERE number = 1 AND reviewed), 0)
        FROM batch),
    (SELECT escalated::float / nullif(pairs, 0) FROM decided),
    (SELECT avg(least(judgment.active_ms, 1000 * policy.pay_cap_s))::float / 1000 FROM judging_judgment judgment
        JOIN judging_assignment held ON held.id = judgment.assignment_id
        JOIN judging_policy policy ON policy.id = judgment.policy_id
        WHERE held.project_id = %(project)s AND judgment.active_ms IS NOT NULL),
    (SELECT queries * depth FROM judging_exam WHERE project_id = %(project)s ORDER BY id DESC LIMIT 1)"""


def expected_of(project: Project) -> Assumptions:
    """Return what to expect by the rules of the project: what the paper found, where these are the paper's."""
    return replace(
        TVR_RANKING,
        judges=project.judges,
        pairs=TVR_RANKING.pairs * (project.batch_size / BATCH_SIZE),
        escalated=escalated_share(rules_of(project)) * (project.max_rounds - 1),
        second=TVR_RANKING.second * project.has_second_batch,
    )


def forecast_measured(project: Project, policy: Policy) -> dict[str, float | None]:
    """Values for a forecast's assumptions, by name; None where there is no data yet."""
    [(pairs, second, escalated, seconds, exam_pairs)] = sql_rows(MEASURED, {"project": project.pk})
    qualified = project.memberships.filter(status=Membership.Status.QUALIFIED).count()
    return {
        "queries": queries_to_judge(project.pk).count() or None,
        "pairs": pairs,
        "judges": project.judges,
        "second": None if second is None else min(1.0, second),
        "escalated": escalated,
        "seconds": seconds or None,
        "gold": policy.gold_percent / 100,
        "annotators": qualified or None,
        "exam_pairs": exam_pairs,
    }
