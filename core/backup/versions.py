"""Files in a bucket that keeps versions: a backup lists them, a restore brings the listed versions back."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.files.storage import Storage

from core.backup.pool import Entry, Outcome


def keeps_versions(storage: Storage) -> bool:
    """Whether it is a bucket that keeps what is deleted."""
    client = _client(storage)
    return bool(client) and client.get_bucket_versioning(Bucket=bucket_of(storage)).get("Status") == "Enabled"


def bucket_of(storage: Storage) -> str:
    return str(getattr(storage, "bucket_name", ""))


def listed(storage: Storage, names: Iterable[str]) -> Iterator[Entry]:
    """The current version of each, by one listing of the bucket."""
    left = set(names)
    for page in _client(storage).get_paginator("list_object_versions").paginate(Bucket=bucket_of(storage)):
        for one in page.get("Versions", []):
            if one["IsLatest"] and one["Key"] in left:
                left.remove(one["Key"])
                yield {"name": one["Key"], "bytes": one["Size"], "etag": one["ETag"], "version": one["VersionId"]}
    yield from ({"name": name, "missing": True} for name in sorted(left))


def bring_back(storage: Storage, entry: Entry, *, bucket: str) -> Outcome:
    """Make the listed version of ``bucket`` the current one here, unless the same bytes are, by their ETag."""
    current = _etag(storage, entry["name"])
    if current == entry["etag"]:
        return "equal"
    source = {"Bucket": bucket, "Key": entry["name"], "VersionId": entry["version"]}
    _client(storage).copy(source, bucket_of(storage), entry["name"])
    return "replaced" if current else "stored"


def _etag(storage: Storage, name: str) -> str:
    from botocore.exceptions import ClientError  # only where there is a bucket

    try:
        return str(_client(storage).head_object(Bucket=bucket_of(storage), Key=name)["ETag"])
    except ClientError:
        return ""


def _client(storage: Any) -> Any:
    return storage.connection.meta.client if hasattr(storage, "signed_url") else None
