"""Servers are killed (-9), or hang, while people judge: what was answered is kept once, what was not is asked again."""

import time
from contextlib import suppress

import pytest
import requests
from django.urls import reverse

from accounts.services.credentials import token_create
from judging.models import Assignment, Batch, Judgment, Pair
from tests.production.faults.crowd import Crowd, swept_until
from tests.production.header_lines import lacking
from tests.production.test_nginx_logs import SECRET
from tests.production.topology import Site
from tests.production.topology.project import Scenario, always, grade_form, judge_all, take
from tests.production.topology.site import eventually

HANG_S = 10
WITHOUT = {  # what is killed -> whether people judge on meanwhile
    ("web-1",): True,
    ("web-1", "web-2"): False,
    ("judging", "worker-1", "worker-2"): True,
    ("postgres",): False,
    ("nginx",): False,
}


@pytest.mark.parametrize("names", WITHOUT, ids="+".join)
def test_every_grade_that_was_answered_is_saved_once(site: Site, names: tuple[str, ...]) -> None:
    with Crowd(site) as crowd:
        crowd.await_grades(10)
        site.kill(*names)
        if WITHOUT[names]:
            crowd.await_grades(15)
        else:
            crowd.await_trouble()
        site.bring_back(*names)
        crowd.await_done()
    crowd.check()


def test_people_judge_on_while_the_storage_is_unavailable(bucket: Site) -> None:
    with Crowd(bucket, batches=3) as crowd:
        crowd.await_grades(10)
        bucket.storage.kill()
        crowd.await_grades(15)
        bucket.storage.start()
        crowd.await_done()
    assert not crowd.troubles
    crowd.check()


def test_people_judge_on_while_the_broker_is_unavailable(site: Site) -> None:
    with Crowd(site, batches=2) as crowd:
        crowd.await_grades(5)
        site.redis.kill()
        eventually(lambda: finished(crowd.scenario) >= 2)
        site.redis.start()
        crowd.await_done()
    assert not crowd.troubles
    crowd.check()


def test_people_judge_on_while_the_broker_hangs_and_everything_settles_afterwards(site: Site) -> None:
    """SIGSTOP: nothing is refused and nothing is answered. No page waits for it: tests/core/test_messages.py."""
    with Crowd(site, batches=16) as crowd:
        crowd.await_grades(10)
        site.redis.pause()
        try:
            eventually(lambda: all("the broker is away" in web.log_output() for web in site.web))
            crowd.await_grades(10)
        finally:
            site.redis.resume()
        crowd.await_done()
    assert not crowd.troubles, crowd.troubles
    crowd.check()


def test_people_wait_while_the_database_hangs_and_every_grade_is_saved_once(site: Site) -> None:
    with Crowd(site) as crowd:
        crowd.await_grades(5)
        site.postgres.pause()
        try:
            time.sleep(HANG_S)
        finally:
            site.postgres.resume()
        crowd.await_grades(5)
        crowd.await_done()
    crowd.check()


def finished(scenario: Scenario) -> int:
    return Assignment.objects.filter(project=scenario.project, state=Assignment.State.FINISHED).count()


class TestEscalation:
    """The second judgment is given, the message that decides it is lost with the broker or the worker."""

    PAIRS = 3

    def test_a_third_and_fourth_are_requested_though_worker_and_broker_died_before_the_round_was_decided(
        self, site: Site
    ) -> None:
        scenario = Scenario.make(annotators=4)
        batch = scenario.batch(pairs=self.PAIRS)
        first, second, third, fourth = (scenario.person(site, user) for user in scenario.annotators)
        judge_all(first, scenario, always(0))
        site.judging.pause()
        judge_all(second, scenario, always(4))
        site.kill("judging", "redis")
        batch.refresh_from_db()
        assert (batch.round, set(batch.pairs.values_list("state", flat=True))) == (1, {Pair.State.OPEN})

        site.bring_back("redis", "judging")
        swept_until(lambda: Batch.objects.get(pk=batch.pk).round == 2)
        for person in (third, fourth):
            judge_all(person, scenario, always(3))
        swept_until(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)
        assert list(batch.pairs.values_list("state", "relevance")) == [(Pair.State.SETTLED, 3)] * self.PAIRS
        assert Judgment.objects.filter(pair__batch=batch).count() == 4 * self.PAIRS

    def test_beat_itself_finds_the_round_whose_message_was_lost(self, site: Site) -> None:
        scenario = Scenario.make(annotators=2)
        batch = scenario.batch(pairs=1)
        site.judging.pause()
        for user in scenario.annotators:
            judge_all(scenario.person(site, user), scenario, always(2))
        site.kill("judging", "beat")
        site.redis.kill()
        site.redis.start()
        site.redis.client().flushall()
        site.bring_back("judging", "beat")
        eventually(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)


class TestWords:
    """Messages to people and programs meanwhile."""

    UNAVAILABLE = "The database does not answer just now."

    def test_without_the_database_every_page_says_so_and_the_same_form_is_taken_later(self, site: Site) -> None:
        scenario = Scenario.make(annotators=1)
        batch = scenario.batch(pairs=2)
        person, lead = scenario.person(site, scenario.annotators[0]), scenario.person(site, scenario.lead)
        form, data = grade_form(take(person, scenario), 3)
        secret = token_create(user=scenario.lead, name="a program")
        site.kill("postgres")

        overview = reverse("judging:overview", args=[scenario.project.uuid])
        for answer in (person.get(scenario.path("desk")), person.post(form, data), lead.get(overview)):
            self.assert_says_so(answer)
            assert answer.text.startswith("<!doctype html>")
        part = person.post(form, data, headers={"HX-Request": "true"})
        self.assert_says_so(part)
        assert "<!doctype" not in part.text and part.headers["HX-Retarget"] == "main"
        api_answer = site.visitor().get("/api/v1/projects/", headers={"Authorization": f"Bearer {secret}"})
        self.assert_says_so(api_answer)
        assert api_answer.json()["code"] == "database_away"

        site.postgres.start()
        eventually(lambda: person.post(form, data).status_code == 200)
        assert [judgment.grade for judgment in Judgment.objects.filter(pair__batch=batch)] == [3]

    def assert_says_so(self, answer: requests.Response) -> None:
        assert answer.status_code == 503, answer.text[:300]
        assert self.UNAVAILABLE in answer.text and "Traceback" not in answer.text
        assert answer.headers["Retry-After"] and answer.headers["Cache-Control"] == "no-store"

    def test_without_a_web_host_nginx_says_so(self, site: Site) -> None:
        scenario = Scenario.make(annotators=1)
        person = scenario.person(site, scenario.annotators[0])
        site.kill("web-1", "web-2")
        page, data = person.get(scenario.path("desk")), person.get("/api/v1/projects/")
        for answer in (page, data):
            assert (answer.status_code, lacking(answer)) == (503, [])
            assert answer.raw.headers.getlist("Retry-After") == ["10"]
            assert answer.raw.headers.getlist("Cache-Control") == ["no-store"]
        assert "MomentJudge does not answer just now" in page.text and "nginx" not in page.text
        assert page.headers["Content-Type"].startswith("text/html")
        assert data.json()["code"] == "site_away"
        assert person.get(f"/password/choose/{SECRET}/").status_code == 503
        eventually(lambda: "/password/choose/" in site.nginx.access_log.read_text())
        logs = site.nginx.log.read_text() + "".join(path.read_text() for path in site.nginx.logs.iterdir())
        assert SECRET.partition("/")[2] not in logs
        site.bring_back("web-1", "web-2")
        eventually(lambda: person.get(scenario.path("desk")).status_code == 200)

    def test_a_grade_whose_answer_was_lost_is_one_judgment_however_often_it_is_sent(self, site: Site) -> None:
        scenario = Scenario.make(annotators=1)
        batch = scenario.batch(pairs=2)
        person = scenario.person(site, scenario.annotators[0])
        form, data = grade_form(take(person, scenario), 2)
        judgments = Judgment.objects.filter(pair__batch=batch)
        with suppress(requests.RequestException):
            person.post(form, data, timeout=(60, 0.001))  # it is sent wholly before its answer is waited for
        eventually(judgments.exists)
        site.kill("web-1", "web-2")
        site.bring_back("web-1", "web-2")
        eventually(lambda: person.post(form, data).status_code == 200)
        assert [one.grade for one in judgments] == [2]
