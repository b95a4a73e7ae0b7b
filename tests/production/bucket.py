"""The site with its files in the double of object storage, for the length of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.test import override_settings

from tests.production.topology import Site
from tests.production.topology.stores import BUCKET


@contextmanager
def files_in_a_bucket(site: Site) -> Iterator[None]:
    """Web and worker hosts, and this process, keep files in the bucket."""
    said = site.storage_environment()
    options = {
        "bucket_name": BUCKET,
        "endpoint_url": said["S3_ENDPOINT_URL"],
        "public_url": said["S3_ENDPOINT_URL"],
        "region_name": said["S3_REGION"],
        "access_key": said["S3_ACCESS_KEY_ID"],
        "secret_key": said["S3_SECRET_ACCESS_KEY"],
        "addressing": "path",
    }
    storage = {"BACKEND": "config.storage.S3Media", "OPTIONS": options}
    site.extra.update(said)
    try:
        _hosts_again(site)
        with override_settings(STORAGES={**settings.STORAGES, "default": storage}):
            yield
    finally:
        for name in said:
            site.extra.pop(name, None)
        _hosts_again(site)


def _hosts_again(site: Site) -> None:
    for host in [*site.web, *site.workers]:
        host.stop()
    for host in [*site.web, *site.workers]:
        host.start(wait=False)
    for host in [*site.web, *site.workers]:
        host.await_ready()
