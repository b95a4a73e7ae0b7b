"""Logs, ids, figures and health of the running site, over both web hosts and the workers."""

import http.client
import json
import re
from typing import Any

import requests
from django.urls import reverse

from judging.models import Release
from tests.production.topology import Site
from tests.production.topology.hosts import Web
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

LOG_INS = re.compile(
    r'^momentjudge_request_seconds_count\{method="GET",route="login",status="2xx"\} (\S+)$', re.MULTILINE
)


def logged(log: str) -> list[dict[str, Any]]:
    """Lines of a log that are JSON."""
    return [json.loads(line) for line in log.splitlines() if line.startswith("{")]


def get_directly(web: Web, path: str, **headers: str) -> tuple[int, str]:
    """Past nginx, as Prometheus asks: by address, without TLS."""
    connection = http.client.HTTPConnection(web.address, web.port, timeout=180)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_one_id_leads_through_nginx_web_and_worker(site: Site) -> None:
    scenario = Scenario.make(annotators=1)
    lead = scenario.person(site, scenario.lead)
    lead.get("/login/")
    request_id = f"release-of-{scenario.project.pk}-000"
    url = reverse("judging:release-create", args=[scenario.project.uuid])
    answer = lead.post(url, headers={"X-Request-ID": request_id}, allow_redirects=False)
    assert (answer.status_code, answer.headers["X-Request-ID"]) == (302, request_id)
    eventually(lambda: Release.objects.get(project=scenario.project).state != Release.State.PREPARING)
    of_web = [line for web in site.web for line in logged(web.log_output()) if line.get("request_id") == request_id]
    assert [line["route"] for line in of_web if line["event"] == "request"] == ["judging:release-create"]

    def of_workers() -> list[dict[str, Any]]:
        lines = [line for worker in site.workers for line in logged(worker.log_output())]
        return [line for line in lines if line.get("request_id") == request_id]

    eventually(lambda: "judging.tasks.release_build" in {line["task"] for line in of_workers()})
    assert {line["member"] for line in of_workers()} == {"lead"}
    logs = "".join(server.log_output() for server in [*site.web, *site.workers])
    assert scenario.lead.username not in logs


def figures(site: Site, web: Web) -> str:
    assert get_directly(web, "/metrics")[0] == 401
    status, text = get_directly(web, "/metrics", Authorization=f"Bearer {site.metrics_token}")
    assert status == 200
    return text


def test_the_processes_of_a_host_count_together(site: Site) -> None:
    web = site.web[0]
    before = float(LOG_INS.findall(figures(site, web))[0])
    for _ in range(20):
        assert get_directly(web, "/login/", **{"Host": web.public_host(), "X-Forwarded-Proto": "https"})[0] == 200
    answers = [figures(site, web) for _ in range(6)]
    assert {float(LOG_INS.findall(text)[0]) for text in answers} == {before + 20}
    ones = ['up{part="broker"}', 'up{part="database"}', 'workers{queue="judging"}', 'workers{queue="gpu"}']
    more = ['workers{queue="celery"} 2.0', "task_runs_total{", 'database_pool{what="size"}']
    for words in [*(f"{name} 1.0" for name in ones), *more]:
        assert f"momentjudge_{words}" in answers[-1]


def test_a_worker_that_is_killed_is_missed(site: Site) -> None:
    """It is spoken of until it has been silent for long; one that ends as it should is forgotten at once."""
    site.workers[0].stop()
    site.workers[1].kill()
    ended, killed = (f'worker="{worker.name}@{worker.address}"' for worker in site.workers)
    eventually(lambda: ended not in figures(site, site.web[0]))
    assert killed in figures(site, site.web[0])


def readiness(site: Site) -> tuple[int, dict[str, str]]:
    answer: requests.Response = site.visitor().get("/readyz")
    return answer.status_code, answer.json()


def test_all_is_well(site: Site) -> None:
    assert readiness(site) == (200, {"database": "ok", "broker": "ok", "storage": "ok"})
    assert site.visitor().get("/healthz").text == "ok\n"


def test_a_broker_that_is_gone_and_a_database_that_hangs_are_named(site: Site) -> None:
    site.redis.stop()
    eventually(lambda: readiness(site) == (503, {"database": "ok", "broker": "not reachable", "storage": "ok"}))
    assert site.visitor().get("/healthz").status_code == 200
    site.redis.start()
    site.postgres.pause()
    try:
        eventually(lambda: readiness(site)[1]["database"] in ("no answer", "not reachable"))
        assert site.visitor().get("/healthz").status_code == 200  # whoever asked the database would say 503
    finally:
        site.postgres.resume()
    eventually(lambda: readiness(site)[0] == 200)
