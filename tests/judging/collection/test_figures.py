"""Figures of a collection: by hand, at a steady cost, and with nobody's name but for leads."""

import csv
import io
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.collection.figures import FIGURES
from judging.models import ClipAssignment, WritingRound, WrittenQuery
from tests.factories import (
    ClipAssignmentFactory,
    WritingClipFactory,
    WritingRoundFactory,
    WrittenQueryFactory,
    admin,
    lead,
    triggers_asleep,
    writer,
)

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 3, 2, 10, tzinfo=UTC)
NAMES = [figure.name for figure in FIGURES]


def write(row: WritingRound, person: object, types: str, *, day: int = 0) -> None:
    """Write a query of each of these types, v or t, in a clip of its own; upper case for one that is rejected."""
    for letter in types:
        assignment = ClipAssignmentFactory(clip=WritingClipFactory(round=row), writer=person)
        query = WrittenQueryFactory(assignment=assignment, type=letter.lower())
        state = "rejected" if letter.isupper() else "waiting"
        with transaction.atomic(), triggers_asleep():
            WrittenQuery.objects.filter(pk=query.pk).update(
                created_at=MONDAY + timedelta(day), state=state, active_ms=360_000
            )
        ClipAssignment.objects.filter(pk=assignment.pk).update(state="finished", ended_at=MONDAY)


def client_of(person: object) -> Client:
    client = Client()
    client.force_login(person)  # type: ignore[arg-type]
    return client


def rows(client: Client, row: WritingRound, name: str, **query: object) -> list[dict[str, str]]:
    answer = client.get(reverse("judging:collection-figure-csv", args=[row.project.uuid, name]), query)
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_types_beside_the_shares_of_their_rounds() -> None:
    """A visual round of 3 : 1 has four queries, one of speech three: to be 3, 3 and 1 of 7; a rejected one is none."""
    visual = WritingRoundFactory(share_v=75, share_t=0, share_vt=25)
    speech = WritingRoundFactory(project=visual.project, share_v=0, share_t=100, share_vt=0)
    write(visual, writer(visual.project), "vvvvV")
    write(speech, writer(visual.project), "ttt")
    client = client_of(lead(visual.project))
    figures = [(row["queries"], row["share"], row["share_asked_for"]) for row in rows(client, visual, "types")]
    assert figures == [("4", "0.571429", "0.428571"), ("3", "0.428571", "0.428571"), ("0", "0.0", "0.142857")]
    [video, *_] = rows(client, visual, "types", round=visual.uuid)
    assert (video["share"], video["share_asked_for"], video["share_tvr"]) == ("1.0", "0.75", "0.75")


def test_checks_by_writer_and_day_and_whose_they_are() -> None:
    row = WritingRoundFactory()
    person = writer(row.project)
    write(row, person, "vvV")
    write(row, person, "V", day=40)
    figures = [tuple(line.values()) for line in rows(client_of(lead(row.project)), row, "checks")]
    assert figures == [
        (person.username, "2026-03-02", "3", "0", "1", "2", "0.0"),
        (person.username, "2026-04-11", "1", "0", "1", "0", "0.0"),
    ]
    client = client_of(admin(row.project))
    assert {line["writer"] for line in rows(client, row, "checks")} == {"writer 1"}
    page = client.get(reverse("judging:collection-figures", args=[row.project.uuid])).content.decode()
    assert "writer 1" in page and person.username not in page


def test_queries_an_hour_count_what_was_measured_up_to_the_cap() -> None:
    """Two queries of 6 minutes and one of an hour, of which 10 minutes count: 3 in 22 minutes; one nobody measured."""
    row = WritingRoundFactory()
    person = writer(row.project)
    write(row, person, "vvvV")
    keys = WrittenQuery.objects.order_by("pk").values_list("pk", flat=True)
    with transaction.atomic(), triggers_asleep():
        WrittenQuery.objects.filter(pk=keys[0]).update(active_ms=3_600_000)
        WrittenQuery.objects.filter(pk=keys[1]).update(active_ms=None)
    [line] = rows(client_of(lead(row.project)), row, "pace")
    assert tuple(line.values()) == (person.username, "2026-03-02", "4", "0.366667", "8.181818")


def test_page_pictures_and_numbers_cost_the_same_whatever_there_is() -> None:
    row, counts = WritingRoundFactory(), []
    client = client_of(lead(row.project))
    address = reverse("judging:collection-figures", args=[row.project.uuid])
    assert client.get(address).content.decode().count("Nothing to draw yet") == len(FIGURES)
    for n in (1, 5):
        for _ in range(n):
            write(WritingRoundFactory(project=row.project), writer(row.project), "vt", day=n)
        with CaptureQueriesContext(connection) as capture:
            page = client.get(address).content.decode()
        counts.append(len(capture))
        assert page.count('role="img"') == 2 * len(FIGURES) + 1  # types are one chart, lengths four
    assert counts[0] == counts[1] < 20
    for name in NAMES:
        answer = client.get(reverse("judging:collection-figure-svg", args=[row.project.uuid, name]))
        assert ET.fromstring(answer.content).tag.endswith("svg")
        assert rows(client, row, name), name
    other = WritingRoundFactory()
    unknown = reverse("judging:collection-figure-svg", args=[row.project.uuid, "x"])
    for wrong in (f"{address}?round={other.uuid}", unknown):
        assert client.get(wrong).status_code == 404
