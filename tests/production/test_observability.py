"""Logs, ids and figures of the running site, over both web hosts and the workers."""

import http.client
import json
import re
from typing import Any

import pytest
from django.urls import reverse

from judging.models import Release
from tests.production.topology import Site
from tests.production.topology.hosts import Web
from tests.production.topology.site import eventually
from tests.production.topology.world import World

TOKEN = "only-for-this-test-of-figures"
LOG_INS = re.compile(
    r'^momentjudge_request_seconds_count\{method="GET",route="login",status="2xx"\} (\S+)$', re.MULTILINE
)


def logged(said: str) -> list[dict[str, Any]]:
    """Lines of a log that are JSON."""
    found = []
    for line in said.splitlines():
        if line.startswith("{"):
            found.append(json.loads(line))
    return found


def asked(web: Web, path: str, **headers: str) -> tuple[int, str]:
    """Past nginx, as Prometheus asks: by address, without TLS."""
    connection = http.client.HTTPConnection(web.address, web.port, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_one_id_leads_through_nginx_web_and_worker(site: Site) -> None:
    world = World.make(annotators=1)
    lead = world.person(site, world.lead)
    lead.get("/login/")
    request_id = f"release-of-{world.project.pk}-000"
    place = reverse("judging:release-create", args=[world.project.uuid])
    answer = lead.post(place, headers={"X-Request-ID": request_id}, allow_redirects=False)
    assert (answer.status_code, answer.headers["X-Request-ID"]) == (302, request_id)
    eventually(lambda: Release.objects.get(project=world.project).state != Release.State.PREPARING, seconds=60)
    of_web = [line for web in site.web for line in logged(web.said()) if line.get("request_id") == request_id]
    assert [line["route"] for line in of_web if line["event"] == "request"] == ["judging:release-create"]

    def of_workers() -> list[dict[str, Any]]:
        lines = [line for worker in site.workers for line in logged(worker.said())]
        return [line for line in lines if line.get("request_id") == request_id]

    eventually(lambda: "judging.tasks.release_build" in {line["task"] for line in of_workers()})
    assert {line["member"] for line in of_workers()} == {"lead"}
    said = "".join(server.said() for server in [*site.web, *site.workers])
    assert world.lead.username not in said


@pytest.fixture
def told(site: Site) -> Site:
    """Both web hosts have a token for their figures."""
    site.extra["METRICS_TOKEN"] = TOKEN
    for web in site.web:
        web.restart()
    return site


def test_the_processes_of_a_host_count_together(told: Site) -> None:
    web = told.web[0]
    site_host = {"Host": web.asked_as(), "X-Forwarded-Proto": "https"}
    for _ in range(20):
        assert asked(web, "/login/", **site_host)[0] == 200
    answers = [asked(web, "/metrics", Authorization=f"Bearer {TOKEN}") for _ in range(6)]
    assert {status for status, _ in answers} == {200}
    assert {float(LOG_INS.findall(text)[0]) for _, text in answers} == {20.0}
    text = answers[-1][1]
    assert 'momentjudge_up{part="broker"} 1.0' in text and 'momentjudge_up{part="database"} 1.0' in text
    assert 'momentjudge_workers{queue="celery"} 2.0' in text
    assert 'momentjudge_workers{queue="gpu"} 1.0' in text
    assert "momentjudge_task_runs_total{" in text
    assert 'momentjudge_database_pool{what="size"}' in text


def test_figures_are_for_the_token_alone_and_not_through_nginx(told: Site) -> None:
    assert asked(told.web[0], "/metrics")[0] == 401
    assert told.visitor().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 403


def test_a_worker_that_is_killed_is_missed(told: Site) -> None:
    """It is spoken of until it has been silent for long; one that ends as it should is forgotten at once."""
    told.workers[0].stop()
    told.workers[1].kill()
    text = asked(told.web[0], "/metrics", Authorization=f"Bearer {TOKEN}")[1]
    assert f'worker="{told.workers[0].name}@{told.workers[0].address}"' not in text
    assert f'worker="{told.workers[1].name}@{told.workers[1].address}"' in text
