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


def test_a_broker_that_is_gone_is_named(site: Site) -> None:
    site.redis.stop()
    eventually(lambda: readiness(site) == (503, {"database": "ok", "broker": "not reachable", "storage": "ok"}))
    assert site.visitor().get("/healthz").status_code == 200
    site.redis.start()
    eventually(lambda: readiness(site)[0] == 200)


def test_a_database_that_hangs_is_named(site: Site) -> None:
    site.postgres.pause()
    try:
        eventually(lambda: readiness(site)[1]["database"] in ("no answer", "not reachable"))
        assert site.visitor().get("/healthz").status_code == 200  # whoever asked the database would say 503
    finally:
        site.postgres.resume()
    eventually(lambda: readiness(site)[0] == 200)


def test_a_database_before_its_migration_is_named(site: Site) -> None:
    with site.postgres.connect() as connection:
        row = connection.execute(
            "DELETE FROM django_migrations WHERE app = 'judging' AND name LIKE '0002%' RETURNING app, name, applied"
        ).fetchone()
        eventually(lambda: readiness(site)[1]["database"] == "not migrated")
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)", row)
    eventually(lambda: readiness(site)[0] == 200)
