"""The API and the pages are doors to one room: what one writes the other shows, keys included."""

import html
import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judging.models import Assignment, Pair
from tests.factories import BatchFactory
from tests.judging.api.acts import Program
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import hold, key

pytestmark = pytest.mark.django_db
PAIRS = 3
KEY = re.compile(r'name="key" value="([^"]+)"')
PRESSED = re.compile(r'<button[^>]*value="(\d)"[^>]*aria-pressed="true"')
steps = st.lists(
    st.tuples(
        st.sampled_from(["api", "page"]), st.sampled_from(["grade", "flag", "unflag"]), st.integers(0, PAIRS - 1),
        st.integers(0, 4),
    ),
    max_size=8,
)  # fmt: skip


@pytest.fixture
def open_assignment() -> Assignment:
    return hold(BatchFactory(pairs=PAIRS))


@given(steps=steps)
@settings(max_examples=15, suppress_health_check=list(HealthCheck), database=None)
def test_api_and_pages_show_the_same(open_assignment: Assignment, steps: list[tuple[str, str, int, int]]) -> None:
    with transaction.atomic():
        channels: dict[str, Any] = {"api": Api(open_assignment), "page": Page(open_assignment)}
        for channel, act, index, grade in steps:
            getattr(channels[channel], act)(pairs_in_order(open_assignment)[index], grade)
        assert channels["api"].shows() == channels["page"].shows() == read_tables(open_assignment)
        transaction.set_rollback(True)


class Api:
    def __init__(self, assignment: Assignment) -> None:
        self.assignment, self.program = assignment, Program(assignment.annotator)

    def grade(self, pair: Pair, grade: int) -> None:
        assert self.program.grade(self.assignment, pair, grade).status_code == (
            409 if flagged(self.assignment, pair) else 200
        )

    def flag(self, pair: Pair, _: int) -> None:
        assert self.program.post("flag", pair, reason="broken").status_code == 200

    def unflag(self, pair: Pair, _: int) -> None:
        assert self.program.delete("flag", pair).status_code == 200

    def shows(self) -> list[tuple[str, str, int | None, bool]]:
        """UUID, key, grade and flag of each pair in the order shown."""
        pairs = self.program.get("assignment", self.assignment.project).json()["pairs"]
        return [(pair["uuid"], pair["key"], pair["grade"], pair["flag"] is not None) for pair in pairs]


class Page:
    def __init__(self, assignment: Assignment) -> None:
        self.assignment, self.client = assignment, Client()
        self.client.force_login(assignment.annotator)

    def send(self, name: str, pair: Pair, *, status: int = 302, **data: object) -> None:
        assert self.client.post(reverse(f"judging:{name}", args=[pair.uuid]), data).status_code == status

    def grade(self, pair: Pair, grade: int) -> None:
        status = 409 if flagged(self.assignment, pair) else 302
        self.send("judgment-create", pair, status=status, grade=grade, key=key(self.assignment, pair))

    def flag(self, pair: Pair, _: int) -> None:
        self.send("flag-set", pair, reason="broken")

    def unflag(self, pair: Pair, _: int) -> None:
        self.send("flag-withdraw", pair)

    def shows(self) -> list[tuple[str, str, int | None, bool]]:
        return [self.pair(pair) for pair in pairs_in_order(self.assignment)]

    def pair(self, pair: Pair) -> tuple[str, str, int | None, bool]:
        page = html.unescape(self.client.get(reverse("judging:pair", args=[pair.uuid])).content.decode())
        grade = PRESSED.search(page)
        keys = {value for value in KEY.findall(page) if value not in self.flag_keys()}
        flagged = reverse("judging:flag-withdraw", args=[pair.uuid]) in page
        assert len(keys) == 1
        return str(pair.uuid), keys.pop(), int(grade[1]) if grade else None, flagged

    def flag_keys(self) -> set[str]:
        """Return keys of the form to withdraw a flag."""
        return {str(uuid) for uuid in self.assignment.flags.values_list("uuid", flat=True)}


def flagged(assignment: Assignment, pair: Pair) -> bool:
    """Whether its judge said that it cannot be judged: it takes no grade then."""
    return assignment.flags.filter(pair=pair, withdrawn_at=None).exists()


def read_tables(assignment: Assignment) -> list[tuple[str, str, int | None, bool]]:
    """Read the tables."""
    grades = dict(assignment.judgments.values_list("pair", "grade"))
    flags = set(assignment.flags.filter(withdrawn_at=None).values_list("pair", flat=True))
    return [(str(p.uuid), str(key(assignment, p)), grades.get(p.pk), p.pk in flags) for p in pairs_in_order(assignment)]
