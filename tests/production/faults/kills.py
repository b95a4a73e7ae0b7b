"""kill -9 of servers by name, and their start; this process's own connections do not outlive PostgreSQL."""

from django.db import connections

from tests.production.topology import Site


def kill(site: Site, *names: str) -> None:
    for name in names:
        site[name].kill()
    if "postgres" in names:
        connections.close_all()


def start(site: Site, *names: str) -> None:
    for name in names:
        site[name].start(wait=False)
    for name in names:
        site[name].await_ready()
