"""Pages about hours and money: what they say, and to whom."""

import csv
import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project, User
from core.models import AuditEvent
from judging.models import HoursCorrection, PayRate
from judging.pay.services import hours_correct, pay_rate_set
from tests.factories import BatchFactory, MembershipFactory, ProjectFactory, QueryFactory, annotator, lead
from tests.judging.money import judged, local, policy_from, project_in

pytestmark = pytest.mark.django_db
MARCH = {"month": "2026-03"}
TVR_RANKING = '96,483 pairs in 4,825 batches</th><td class="number">227,808</td><td class="number">1,202.32</td>'


@pytest.fixture
def project() -> Project:
    return project_in("Asia/Singapore", pay_cap_s=3600)


@pytest.fixture
def person(project: Project) -> User:
    """Annotator 7, who worked for half an hour on 2 March and for a quarter on 5 March."""
    member = MembershipFactory(project=project, number=7)
    for day, seconds in ((2, 1800), (5, 900)):
        judged(project, member.user, local(f"2026-03-0{day}T09:00", "Asia/Singapore"), seconds)
    return member.user  # type: ignore[no-any-return]


@pytest.fixture
def leading(project: Project, client: Client) -> Client:
    client.force_login(lead(project))
    return client


def url(name: str, project: Project, *more: int) -> str:
    return reverse(f"judging:{name}", args=[project.uuid, *more])


def words(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


def table(answer: HttpResponse) -> list[dict[str, str]]:
    return list(csv.DictReader(answer.content.decode().splitlines()))


def words_read(page: str, person: User, number: int) -> str:
    """A page without what names the person."""
    page = re.sub(r'csrf\w*"(?: value=|: )"\w+"', "", page, flags=re.IGNORECASE)
    return page.replace(person.username, "").replace(f"Annotator {number}", "").replace(f"annotator {number}", "")


class TestPay:
    def test_everybody_by_number(self, leading: Client, project: Project, person: User) -> None:
        annotator(project)
        judged(project, person, local("2026-03-06T09:00", "Asia/Singapore"), None)
        page = words(leading.get(url("pay", project), MARCH))
        assert "Annotator 7</a>" in page
        assert "10.50 SGD" in page  # 2,700 s at 14 an hour
        assert "No hours in this period: <a" in page
        assert person.username not in page
        assert "1 March 2026 to 31 March 2026. Days begin at midnight in Asia/Singapore." in page
        assert "1 judgment came with a file: nobody knows how long it took" in page
        assert "No hours in this period" in words(leading.get(url("pay", project), {"month": "2026-04"}))

    def test_the_same_as_csv_is_written_down(self, leading: Client, project: Project, person: User) -> None:
        day = {"project": project, "annotator": person, "actor": lead(project)}
        pay_rate_set(rate=Decimal(20), currency="EUR", from_day=date(2026, 3, 5), **day)
        hours_correct(day=date(2026, 3, 5), seconds=-300, reason="asleep", **day)
        assert leading.get(url("pay-csv", project), MARCH).content.decode().splitlines() == [
            '"annotator","first_day","last_day","judgments","judging_s","training_s","correction_s","total_s","hours",'
            '"rate","currency","amount","unit","queries","checks","writing_s","checking_s"',
            '7,"2026-03-02","2026-03-02",1,1800.000,0.000,0.000,1800.000,0.50,14.00,"SGD",7.00,"hour",0,0,0.000,0.000',
            '7,"2026-03-05","2026-03-05",1,900.000,0.000,-300.000,600.000,0.17,20.00,"EUR",3.33,"hour",0,0,0.000,0.000',
        ]
        assert AuditEvent.objects.filter(action="pay.export", data__first_day="2026-03-01").count() == 1

    def test_pilot_batches_are_left_out_when_that_is_ticked(
        self, leading: Client, project: Project, person: User
    ) -> None:
        judged(project, person, local("2026-03-06T09:00", "Asia/Singapore"), 3600, pilot=True)
        whole, part = (
            words(leading.get(url("pay", project), {**MARCH, **more})) for more in ({}, {"without_pilot": "on"})
        )
        assert "1.00 h in pilot batches are left out" in part
        assert "annotators see and expect them" in part
        assert "10.50 SGD" in part
        assert "24.50 SGD" in whole
        assert "left out" not in whole
        assert "first=2026-03-01&amp;last=2026-03-31&amp;without_pilot=on" in part

    def test_periods_that_are_none(self, leading: Client, project: Project) -> None:
        periods: list[tuple[dict[str, str], str]] = [
            ({"month": "March"}, "Write a month as 2026-03."),
            ({"first": "2026-03-02", "last": "2026-03-01"}, "The period ends before it begins."),
            ({"first": "2026-02-30", "last": "2026-03-01"}, "Write a day as 2026-03-31."),
            ({"first": "2026-03-01"}, "A period has a first day and a last one."),
            ({"first": "0001-01-01", "last": "9999-12-31"}, "Choose a day from 2000 to 2100."),
        ]
        for period, message in periods:
            answer = leading.get(url("pay", project), period)
            assert (answer.status_code, message in words(answer)) == (422, True)
            assert leading.get(url("pay-csv", project), period).status_code == 302
        assert not AuditEvent.objects.filter(action="pay.export").exists()


class TestPerson:
    def test_days_lines_and_corrections(self, leading: Client, project: Project, person: User) -> None:
        correction = {"day": date(2026, 3, 2), "seconds": -90, "reason": "The clip would not load."}
        hours_correct(project=project, annotator=person, actor=lead(project), **correction)
        page = words(leading.get(url("pay-person", project, 7), MARCH))
        assert "Mon 2 Mar 2026" in page
        assert "-1.5 minutes: The clip would not load." in page
        assert "10.15 SGD" in page  # 2,610 s
        days = table(leading.get(url("pay-person-csv", project, 7), MARCH))
        assert [(row["day"], row["total_s"], row["rate"]) for row in days] == [
            ("2026-03-02", "1710.000", "14.00"),
            ("2026-03-05", "900.000", "14.00"),
        ]
        assert leading.get(url("pay-person", project, 99)).status_code == 404
        for number in (99, "", "seven"):
            assert leading.post(url("pay-rate-set", project), {"annotator": number}).status_code == 404

    def test_setting_the_rate(self, leading: Client, project: Project, person: User) -> None:
        form = {"annotator": 7, "rate": "16.5", "currency": "EUR", "from_day": "2026-03-05"}
        for wrong, message in (
            ({"rate": "-1"}, "greater than or equal to 0"),
            ({"rate": "14.005"}, "2 decimal places"),
            ({"rate": "NaN"}, "A rate is an amount, as 14.50."),
            ({"rate": ""}, "Say what an hour is paid."),
            ({"currency": "sgd"}, "three capital letters"),
            ({"currency": "SGDX"}, "three capital letters"),
            ({"from_day": "yesterday"}, "Write a day as 2026-03-31."),
        ):
            answer = leading.post(url("pay-rate-set", project), {**form, **wrong})
            assert (answer.status_code, message in words(answer)) == (422, True), wrong
        assert not PayRate.objects.exists()
        answer = leading.post(url("pay-rate-set", project), form)
        assert answer.headers["Location"] == url("pay-person", project, 7) + "?month=2026-03"
        rate = PayRate.objects.get()
        assert (rate.annotator, rate.rate, rate.currency) == (person, Decimal("16.50"), "EUR")
        assert "16.50 EUR from 5 Mar 2026" in words(leading.get(answer.headers["Location"]))

    def test_correcting_hours(self, leading: Client, project: Project, person: User) -> None:
        form = {"annotator": 7, "day": "2026-03-05", "minutes": "-15", "reason": "asleep"}
        for wrong, status, message in (
            ({"minutes": "-16"}, 409, "5 March 2026 holds 15 minutes: no more can be taken away."),
            ({"minutes": "0"}, 409, "Say how much time to add or to take away, and why."),
            ({"day": "2100-01-01"}, 409, "1 January 2100 has not come yet."),
            ({"minutes": "1.5"}, 422, "Write whole minutes"),
            ({"minutes": "1441"}, 422, "A day has 1440 minutes."),
            ({"reason": "  "}, 422, "Say why: the person reads it, too."),
        ):
            answer = leading.post(url("hours-correct", project), {**form, **wrong})
            assert (answer.status_code, message in words(answer)) == (status, True), wrong
        assert not HoursCorrection.objects.exists()
        assert leading.post(url("hours-correct", project), form).status_code == 302
        assert HoursCorrection.objects.get().seconds == -900


class TestOwnHours:
    def own(self, client: Client, project: Project, person: User, **filters: Any) -> str:
        client.force_login(person)
        return words(client.get(url("hours", project), {**MARCH, **filters}))

    def test_hours_pay_and_progress(self, client: Client, project: Project, person: User) -> None:
        judged(project, person, local("2026-03-06T09:00", "Asia/Singapore"), None)
        page = self.own(client, project, person)
        assert "10.50 SGD" in page
        assert "Mon 2 Mar 2026" in page
        assert '<a href="?month=2026-03">March 2026</a>' in page
        assert "<dt>Batches finished</dt><dd>2</dd>" in page
        assert "<dt>Grades given</dt><dd>3</dd>" in page
        assert "1 judgment has no measured time" in page
        assert "No hours in this period" in self.own(client, project, annotator(project))
        assert client.get(url("hours", project), {"month": "x"}).status_code == 422
        assert client.get(url("hours-csv", project), {"month": "x"}).status_code == 302

    def test_nobody_elses(self, client: Client, project: Project, person: User) -> None:
        other = annotator(project)
        judged(project, other, local("2026-03-04T09:00", "Asia/Singapore"), 3600)
        theirs = {"project": project, "annotator": other, "actor": lead(project)}
        hours_correct(day=date(2026, 3, 4), seconds=60, reason="of somebody else", **theirs)
        pay_rate_set(rate=Decimal(99), currency="EUR", from_day=date(2026, 3, 1), **theirs)
        page = self.own(client, project, person, annotator=Membership.objects.get(user=other).number)
        assert "10.50 SGD" in page
        assert not any(words in page for words in ("4 Mar 2026", "of somebody else", "99.00", "EUR"))
        rows = table(client.get(url("hours-csv", project), MARCH))
        assert [(row["annotator"], row["day"]) for row in rows] == [("7", "2026-03-02"), ("7", "2026-03-05")]

    def test_a_pilot_batch_counts_like_any_other(self, client: Client, project: Project, person: User) -> None:
        """Everything of both people is equal but for the mark: every number they read must be, too."""
        other = MembershipFactory(project=project, number=8).user
        for one, pilot in ((person, True), (other, False)):
            judged(project, one, local("2026-03-06T09:00", "Asia/Singapore"), 3600, pilot=pilot)
        for day, seconds in ((2, 1800), (5, 900)):
            judged(project, other, local(f"2026-03-0{day}T09:00", "Asia/Singapore"), seconds)
        pages, files = [], []
        for one, number in ((person, 7), (other, 8)):
            pages.append(words_read(self.own(client, project, one, pilot="on", without_pilot="on"), one, number))
            rows = table(client.get(url("hours-csv", project), {**MARCH, "without_pilot": "on"}))
            files.append([{**row, "annotator": ""} for row in rows])
        assert pages[0] == pages[1]
        assert files[0] == files[1]
        assert "24.50 SGD" in pages[0]
        assert "pilot" not in pages[0].lower()


class TestForecast:
    def test_it_begins_with_tvr_ranking_and_changing_one_value_leaves_the_others_unrounded(
        self, leading: Client, project: Project
    ) -> None:
        """Shares are shown to a tenth of a per cent and computed with in full, whatever button leads here."""
        page = words(leading.get(url("forecast", project)))
        assert TVR_RANKING in page
        assert "<dt>Hours</dt><dd>1,214.46</dd>" in page
        assert "17,002.42 SGD" in page
        fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', page))
        values = [fields[name] for name in ("queries", "pairs", "second", "escalated")]
        assert values == ["3281", "20", "47.1", "18.1"]
        assert TVR_RANKING in words(leading.get(url("forecast", project), fields))
        without_exam = words(leading.get(url("forecast", project), {**fields, "exam_pairs": 0}))
        assert "<dt>Judgments</dt><dd>227,808</dd></div> <div><dt>Hours</dt><dd>1,202.32</dd>" in without_exam
        other = words(leading.get(url("forecast", project), {**fields, "second": "47.2"}))
        assert TVR_RANKING not in other

    def test_what_is_measured_here_is_computed_with_in_full(
        self, leading: Client, project: Project, person: User
    ) -> None:
        """Two batches of 1 pair and one of 5 hold 7 / 3 pairs, shown as 2.3: 3,000 queries have 4,412 batches."""
        BatchFactory(query=QueryFactory(project=project), pairs=5)
        policy_from(project, local("2026-03-01"), pay_rate=Decimal("9.50"), gold_percent=5)
        page = words(leading.get(url("forecast", project), {"from": "here"}))
        fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', page))
        figures = {"queries": "3", "pairs": "2.3", "seconds": "1350", "gold": "5", "annotators": "1", "rate": "9.50"}
        share = {"second": "47.1"}  # nothing decided yet: that of TVR-Ranking
        assert {name: fields[name] for name in (*figures, *share)} == figures | share
        page = words(leading.get(url("forecast", project), {**fields, "queries": 3000}))
        assert "10,294 pairs in 4,412 batches" in page

    def test_the_rules_lead_to_the_projects_own_numbers(self, leading: Client, project: Project) -> None:
        page = words(leading.get(url("rules", project)))
        assert f'href="{url("forecast", project)}?from=here"' in page

    def test_it_begins_by_the_rules_of_the_project(self, client: Client) -> None:
        """By yes or no three people judge 10 pairs, and more of these are graded once more than the paper's 18.1 %."""
        project = ProjectFactory(top_grade=1, judges=3, max_spread=0, batch_size=10, has_second_batch=False)
        client.force_login(lead(project))
        fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', words(client.get(url("forecast", project)))))
        assert [fields[name] for name in ("pairs", "judges", "second", "escalated")] == ["10", "3", "0", "39.4"]

    def test_numbers_that_do_not_do(self, leading: Client, project: Project) -> None:
        values = {"queries": 10, "pairs": 4, "second": 20, "escalated": 25, "seconds": 20, "gold": 25, "annotators": 2}
        values |= {"judges": 2}
        form = {**values, "exam_pairs": 10, "rate": "15.01", "currency": "EUR"}
        page = words(leading.get(url("forecast", project), form))
        assert "15.01 EUR" in page and "<dt>Hours</dt><dd>1.00</dd>" in page
        for wrong in ({"gold": "51"}, {"seconds": "nan"}, {"annotators": "0"}, {"rate": ""}):
            answer = leading.get(url("forecast", project), {**form, **wrong})
            assert (answer.status_code, 'role="alert"' in words(answer)) == (422, True), wrong
