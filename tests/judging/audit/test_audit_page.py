"""The audit page: who learns which names, what is found, leafing; and what was judged under which versions."""

import csv
import html
import io
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from core.audit import audit_record
from core.models import AuditEvent
from judging.guidelines.services import guideline_publish, policy_publish
from judging.work.services.pairs import pair_withdraw
from tests.factories import (
    NOW,
    AssignmentFactory,
    BatchFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    QualityAlertFactory,
    admin,
    lead,
    triggers_asleep,
)

pytestmark = pytest.mark.django_db
Look = Callable[..., str]


@pytest.fixture
def leader(project: Project) -> User:
    return lead(project)


@pytest.fixture
def look(project: Project, leader: User) -> Look:
    """Provide the text of a project page, to its lead or somebody else."""

    def read(name: str = "judging:audit", to: User | None = None, **filters: object) -> str:
        client = Client()
        client.force_login(to or leader)
        return text_of(client.get(reverse(name, args=[project.uuid]), filters))

    return read


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


def event(project: Project, actor: User | None, action: str = "release.create", **data: object) -> AuditEvent:
    audit_record(project=project, actor=actor, action=action, subject=uuid4(), **data)
    return AuditEvent.objects.latest("pk")


def at(audit_event: AuditEvent, when: datetime) -> AuditEvent:
    with triggers_asleep():
        AuditEvent.objects.filter(pk=audit_event.pk).update(created_at=when)
    return audit_event


class TestNames:
    """An admin never learns who somebody is; a lead's user name is one."""

    PAGES = (
        *("judging:audit", "judging:audit-csv", "judging:policy", "judging:withdrawn", "judging:withdrawn-csv"),
        *("judging:guideline-versions", "judging:alerts"),
    )

    @pytest.fixture(autouse=True)
    def traces(self, project: Project, leader: User) -> None:
        """A lead has left one on every page that says who."""
        batch = BatchFactory(query__project=project)
        pair_withdraw(pair=batch.pairs.first(), lead=leader, reason="broken")
        policy_publish(project=project, actor=leader, lease_minutes=30)
        guideline_publish(project=project, actor=leader, body="x", levels=["a"] * 5)
        QualityAlertFactory(project=project, seen_at=NOW, seen_by=leader)

    @pytest.mark.parametrize("page", PAGES)
    def test_only_leads_see_user_names(self, page: str, look: Look, project: Project, leader: User) -> None:
        lead(project)
        filters = {"seen": 1} if page == "judging:alerts" else {}
        to_admin = look(page, admin(project), **filters)
        assert leader.username not in to_admin
        assert ("lead 1" in to_admin) is (page != "judging:guideline-versions")
        assert leader.username in look(page, **filters)


class TestFinding:
    def test_by_who_what_object_and_words(self, look: Look, project: Project, leader: User) -> None:
        mine = event(project, leader, "batch.close", query="A woman opens a door", reason="enough, 40 pairs")
        event(project, None, "batch.close", query="A man waits", automatic=True)
        event(project, lead(project), "release.create", version=3)
        event(ProjectFactory(), leader, "batch.close", query="A woman opens a door elsewhere")
        for filters, names in (
            ({}, {"woman", "man", "release 3"}),
            ({"who": leader.uuid}, {"woman"}),
            ({"who": "system"}, {"man"}),
            ({"kind": "Reviews"}, {"woman", "man"}),
            ({"kind": "release.create"}, {"release 3"}),
            ({"object": mine.subject}, {"woman"}),
            ({"q": "OPENS"}, {"woman"}),
            ({"q": "op door"}, {"woman"}),
            ({"q": "40"}, {"woman"}),
            ({"q": "';&|!"}, {"woman", "man", "release 3"}),
            ({"q": "release 3"}, {"release 3"}),  # of the sentence itself
            ({"q": "nothing"}, set()),
            ({"who": "nobody", "kind": "x", "object": "y", "since": "z"}, {"woman", "man", "release 3"}),
        ):
            page = look(**filters)
            texts = {"woman": "A woman opens a door”", "man": "A man waits", "release 3": "release 3"}
            assert {name for name, words in texts.items() if words in page} == names, filters
            assert "elsewhere" not in page

    def test_words_that_are_not_nearby(self, look: Look, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("judging.audit.selectors.NEARBY", 1)
        for version in (7, 8, 9):
            event(project, None, version=version, note="rare")
        event(project, None, version=10)
        page = look(q="rare")
        assert [page.index(f"release {version}") for version in (9, 8, 7)] == sorted(
            page.index(f"release {version}") for version in (9, 8, 7)
        )
        assert "release 10" not in page
        assert look("judging:audit-csv", q="rare").count("release.create") == 3

    def test_by_days_the_last_one_whole(self, look: Look, project: Project) -> None:
        for version, day in ((11, 0), (12, 1), (13, 2)):
            at(event(project, None, version=version), NOW.replace(hour=23) + timedelta(days=day))
        turned = "The first day is after the last one."
        page = look(since="2026-01-02", until="2026-01-02")
        assert [f"release {version}" in page for version in (11, 12, 13)] == [False, True, False]
        assert turned not in page
        assert "release 11" in look(until="2026-01-01")
        assert turned in look(since="2026-01-03", until="2026-01-02")
        assert "release 11" in look(after=uuid4()) and "release 11" in look(before="nonsense")

    def test_the_file_holds_what_was_requested(self, look: Look, project: Project, leader: User) -> None:
        event(project, leader, "batch.close", query="=A woman", reason="")
        event(project, leader, "release.create", version=3)
        rows = list(csv.DictReader(io.StringIO(look("judging:audit-csv", kind="Reviews"))))
        assert [(row["who"], row["action"], row["in_words"]) for row in rows] == [
            (leader.username, "batch.close", "closed “=A woman”")
        ]
        assert rows[0]["details"] == '{"query": "=A woman", "reason": ""}'


def test_leafing_over_events_of_one_time(look: Look, project: Project, client: Client, leader: User) -> None:
    """51 events of the same time and 70 older ones: three pages, nothing twice, nothing left out."""
    for number in range(121):
        at(event(project, None, "exam.open", pairs=10_000 + number), NOW + timedelta(hours=number > 69))
    client.force_login(leader)
    base_url, last_day = reverse("judging:audit", args=[project.uuid]), NOW.date().isoformat()
    url, pages = f"{base_url}?until={last_day}", []
    for link in ("Older →", "Older →", "← Newer", "Older →", "⇤ Newest", ""):
        answer = client.get(url)
        pages.append(answer.context["page"])
        page = answer.content.decode()
        assert f'value="{last_day}"' in page and "Show everything" in page
        if link:
            [href] = re.findall(rf'<a href="([^"]+)">{link}</a>', page)
            url = base_url + html.unescape(href)
    numbers = [row.data["pairs"] for page in pages[:3] for row in page.events]
    assert numbers == list(range(10_120, 9_999, -1))
    assert [len(page.events) for page in pages] == [50, 50, 21, 50, 21, 50]
    assert [(page.is_newer, page.is_older) for page in pages[1:4]] == [(True, True), (True, False), (True, True)]
    assert (pages[3].events, pages[5].events) == (pages[1].events, pages[0].events)
    assert len(look("judging:audit-csv").splitlines()) == 122


def test_links_lead_to_what_was_decided_on(look: Look, project: Project, leader: User) -> None:
    batch = BatchFactory(query__project=project)
    pair_withdraw(pair=batch.pairs.first(), lead=leader, reason="broken")
    member = MembershipFactory(project=project, number=4)
    event(project, leader, "annotator.suspended", number=4, was="qualified", reason="slow")
    page, to_admin = look(), look(to=admin(project))
    pair = reverse("judging:pair-batch", args=[batch.pairs.first().uuid])
    person = reverse("judging:person", args=[project.uuid, member.number])
    assert [pair in page, pair in to_admin, person in page, person in to_admin] == [True, True, True, False]


def test_what_was_judged_under_which_versions(look: Look, project: Project, client: Client, leader: User) -> None:
    """Two pairs under guideline 1 and policy 1, one of them also under policy 2."""
    batch = BatchFactory(query__project=project, query__text="A dog runs")
    first = AssignmentFactory(batch=batch)
    for pair in batch.pairs.all():
        JudgmentFactory(assignment=first, pair=pair)
    policy_publish(project=project, actor=None, lease_minutes=33)
    JudgmentFactory(assignment=AssignmentFactory(batch=batch, slot=2), grade=1)
    JudgmentFactory()  # of another project
    rows = list(csv.DictReader(io.StringIO(look("judging:audit-versions-csv"))))
    counts = [[row[name] for name in ("guideline_version", "policy_version", "judgments", "pairs")] for row in rows]
    assert counts == [["1", "1", "2", "2"], ["1", "2", "1", "1"]]
    page = look("judging:audit-versions")
    assert page.count("Show them") == 2 and "A dog runs" not in page
    filters = {"guideline": "1", "policy": "2"}
    assert look("judging:audit-versions", **filters).count("A dog runs") == 1
    (row,) = csv.DictReader(io.StringIO(look("judging:audit-versions-csv", **filters)))
    assert (row["query"], row["rank"], row["grade"], row["round"]) == ("A dog runs", "1", "1", "1")
    client.force_login(leader)
    url = reverse("judging:audit-versions", args=[project.uuid])
    for odd in ({"guideline": "2", "policy": "1"}, {"guideline": "x"}, {"guideline": "9" * 30, "policy": "1"}):
        assert client.get(url, odd).status_code == 404
