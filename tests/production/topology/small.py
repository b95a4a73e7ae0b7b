"""The site on one small machine: what a load is measured on."""

from pathlib import Path

from tests.production.topology.hosts import Host
from tests.production.topology.server import Server
from tests.production.topology.site import Site


class SmallSite(Site):
    """One web host of two processes, a judging worker of one, one worker host of two, beat, nginx, PostgreSQL, Redis;
    files on disk."""

    def __init__(self, *, cache_folder: Path) -> None:
        super().__init__(cache_folder=cache_folder)
        self.web, self.workers = self.web[:1], self.workers[:1]
        self.nginx.web = list(self.web)

    @property
    def hosts(self) -> list[Host]:
        return [*self.web, self.judging, *self.workers, self.beat]

    @property
    def stores(self) -> list[Server]:
        return [self.postgres, self.redis]
