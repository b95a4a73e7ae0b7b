"""Versions in a bucket, listed and brought back."""

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from core.backup.files import bring_back, versions_of
from tests.buckets import NAME, bucket

KEY = "previews/0a.gif"


def test_a_listed_version_comes_back_where_another_is_current_or_none() -> None:
    with bucket() as client:
        client.put_bucket_versioning(Bucket=NAME, VersioningConfiguration={"Status": "Enabled"})
        default_storage.save(KEY, ContentFile(b"moving"))
        (entry,) = versions_of(default_storage, [KEY])
        assert bring_back(default_storage, entry, bucket=NAME) == "equal"
        client.put_object(Bucket=NAME, Key=KEY, Body=bytes(6))
        assert bring_back(default_storage, entry, bucket=NAME) == "replaced"
        default_storage.delete(KEY)
        assert bring_back(default_storage, entry, bucket=NAME) == "stored"
        assert client.get_object(Bucket=NAME, Key=KEY)["Body"].read() == b"moving"
