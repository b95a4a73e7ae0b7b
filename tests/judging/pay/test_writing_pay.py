"""Hours and pay of writers and checkers."""

import csv
from datetime import date, datetime
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Project, User
from core.models import AuditEvent
from judging.models import WrittenQuery
from judging.pay.rules import Pieces, Time, piece_lines_of
from judging.pay.selectors import Statement, pay_statement
from tests.factories import ProjectFactory, admin, annotator, checker, lead, writer
from tests.judging.money import found_nothing, judged, local, policy_from, project_in, query_checked, wrote

pytestmark = pytest.mark.django_db
MARCH = {"first_day": date(2026, 3, 1), "last_day": date(2026, 3, 31)}


def at(day: int, hour: int = 9) -> datetime:
    return local(f"2026-03-{day:02}T{hour:02}:00")


def statement(project: Project, **period: date) -> Statement:
    return pay_statement(project_id=project.pk, zone="UTC", **MARCH | period)


def money(project: Project, person: User) -> list[tuple[str, int, Decimal, Decimal]]:
    lines = statement(project).account_of(person.pk).piece_lines
    return [(line.kind, line.n, line.rate.rate, line.amount) for line in lines]


def test_hours_of_a_writer_and_a_checker_by_hand() -> None:
    """Queries of 5 and 20 minutes, of which 10 count, and a clip of 2 minutes in vain: 17 minutes. Checks of 1 and 10
    minutes, of which 5 count, and one taken back of half a minute: 6.5 minutes. At 14 SGD an hour."""
    project = project_in()
    author, reader = writer(project), checker(project)
    first = wrote(project, author, at(2), 300)
    wrote(project, author, at(2), 1200)
    wrote(project, author, at(3), None)
    found_nothing(project, author, at(3), 120)
    query_checked(first, reader, at(4), 30, undone_at=at(4))
    query_checked(first, reader, at(4), 60)
    query_checked(wrote(project, author, at(5), 0), reader, at(5), 600)
    account, checks = (statement(project).account_of(person.pk) for person in (author, reader))
    assert [(worked.time.writing, worked.queries) for worked in account.days] == [(900_000, 2), (120_000, 1), (0, 1)]
    assert (account.amounts, checks.amounts) == ([("SGD", Decimal("3.97"))], [("SGD", Decimal("1.52"))])
    assert (checks.time, checks.checks, account.untimed) == (Time(checking=390_000), 2, 0)


def test_a_policy_may_pay_by_the_piece_alone() -> None:
    project = project_in(writing_hours=False, query_price=Decimal("0.40"), check_price=Decimal("0.05"))
    author, reader = writer(project), checker(project)
    query = wrote(project, author, at(2), 300)
    query_checked(query, reader, at(9), 60)
    policy_from(project, at(8), query_price=Decimal(9), check_price=Decimal("0.07"))
    WrittenQuery.objects.filter(pk=query.pk).update(state="sent_back")
    type(query.assignment).objects.filter(pk=query.assignment_id).update(state="sent_back", n_sent_back=1)
    assert statement(project).time == Time()
    assert money(project, author) == [("query", 1, Decimal("0.40"), Decimal("0.40"))]  # the price when it was written
    assert money(project, reader) == [("check", 1, Decimal("0.07"), Decimal("0.07"))]
    before = statement(project, last_day=date(2026, 3, 8))
    assert before.amounts == [("SGD", 0)]  # it is paid on the day of the check


@pytest.mark.parametrize(
    ("paid_for", "states"),
    [("accepted", set()), ("open", {"sent back"}), ("all", {"sent back", "given up", "rejected", "waiting"})],
)
def test_which_queries_have_a_price(paid_for: str, states: set[str]) -> None:
    project = project_in(query_price=Decimal(1), query_price_for=paid_for)
    people = {state: writer(project) for state in ("sent back", "given up", "rejected", "waiting")}
    for state, person in people.items():
        query = wrote(project, person, at(2), 300)
        if state != "waiting":
            query_checked(query, checker(project), at(3), 60)
            of_query = "rejected" if state == "rejected" else "sent_back"
            WrittenQuery.objects.filter(pk=query.pk).update(state=of_query)
        if state == "sent back":
            about = {"state": "sent_back", "n_sent_back": 1}
            type(query.assignment).objects.filter(pk=query.assignment_id).update(**about)
    assert {state for state, person in people.items() if money(project, person)} == states


@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 28), st.sampled_from("wce"), st.integers(0, 900)), max_size=6)
)
def test_the_time_of_all_people_is_that_of_all_days_and_halves_add_up(
    acts: list[tuple[int, int, str, int]],
) -> None:
    project = project_in()
    people = [writer(project) for _ in range(3)]
    readers = [checker(project) for _ in range(3)]
    total_ms = 0
    for who, day, act, seconds in acts:
        total_ms += 1000 * min(seconds, 300 if act == "c" else 600)
        if act == "c":
            query_checked(wrote(project, people[who], at(day), 0), readers[who], at(day), seconds)
        else:
            (wrote if act == "w" else found_nothing)(project, people[who], at(day), seconds)
    whole = statement(project)
    assert sum(account.time.total for account in whole.accounts) == total_ms
    assert sum(day.time.total for day in whole.days) == total_ms
    halves = [statement(project, last_day=date(2026, 3, 14)), statement(project, first_day=date(2026, 3, 15))]
    assert sum(half.time.total for half in halves) == total_ms


@given(
    st.lists(
        st.builds(
            Pieces,
            st.dates(),
            st.sampled_from(["query", "check"]),
            st.decimals(0, 9, places=2),
            st.sampled_from(["EUR", "SGD"]),
            st.integers(1, 99),
        )
    )
)
def test_lines_by_the_piece_add_up(pieces: list[Pieces]) -> None:
    lines = piece_lines_of(pieces)
    assert sum(line.amount for line in lines) == sum(piece.price * piece.n for piece in pieces)
    assert len({(line.kind, line.rate.rate, line.rate.currency) for line in lines}) == len(lines)


def words(client: Client, name: str, *more: object) -> str:
    answer = client.get(reverse(f"judging:{name}", args=more), {"month": "2026-03"})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_pages_and_files_of_a_writer(client: Client) -> None:
    project = project_in(query_price=Decimal("0.40"), query_price_for="all")
    author = writer(project)
    wrote(project, author, at(2), 360)
    judged(project, annotator(project), at(2), 60)
    client.force_login(lead(project))
    address = reverse("judging:pay-member", args=[project.uuid, author.uuid])
    page = words(client, "pay", project.uuid)
    assert f'<a href="{address}?first=2026-03-01' in page and f"{author.username}</a>" in page
    form = {"member": author.uuid, "day": "2026-03-02", "minutes": "6", "reason": "the player hung"}
    answer = client.post(reverse("judging:hours-correct", args=[project.uuid]), form)
    assert answer.headers["Location"] == f"{address}?month=2026-03"
    assert AuditEvent.objects.get(action="pay.correct").data["person"] == "writer 1"
    page = words(client, "pay-member", project.uuid, author.uuid)
    assert "0.20</b>" in page and "1 query at 0.40 SGD" in page and "3.20 SGD" in page
    table = client.get(reverse("judging:pay-csv", args=[project.uuid]), {"month": "2026-03"}).content.decode()
    rows = [(row["annotator"], row["unit"], row["amount"]) for row in csv.DictReader(table.splitlines())]
    assert rows[1:] == [("writer 1", "hour", "2.80"), ("writer 1", "query", "0.40")]
    assert author.username not in table
    client.force_login(author)
    page = words(client, "hours", project.uuid)
    assert "3.20 SGD" in page and "the player hung" in page and "Grades given" not in page
    table = client.get(reverse("judging:hours-csv", args=[project.uuid]), {"month": "2026-03"}).content.decode()
    assert [(row["day"], row["writing_s"]) for row in csv.DictReader(table.splitlines())] == [("2026-03-02", "360.000")]


def test_who_neither_writes_nor_checks_has_no_page_of_pay(client: Client) -> None:
    project = project_in()
    client.force_login(lead(project))
    for person in (admin(project), writer(ProjectFactory())):
        assert client.get(reverse("judging:pay-member", args=[project.uuid, person.uuid])).status_code == 404
