"""The running site's answers at /healthz and /readyz."""

import requests

from tests.production.topology import Site
from tests.production.topology.site import eventually


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
