"""A bucket for a test: moto answers in place of Amazon, inside this process. It is a double, not a store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3  # type: ignore[import-untyped]
from django.conf import settings
from django.test import override_settings
from moto import mock_aws

NAME, REGION = "clips", "us-east-1"
ORIGIN = f"https://{NAME}.s3.{REGION}.amazonaws.com"
OPTIONS = {
    "bucket_name": NAME,
    "endpoint_url": f"https://s3.{REGION}.amazonaws.com",
    "public_url": f"https://s3.{REGION}.amazonaws.com",
    "region_name": REGION,
    "access_key": "only-for-tests",
    "secret_key": "only-for-tests",
    "addressing": "virtual",
}


@contextmanager
def bucket() -> Iterator[Any]:
    """Stored files lie in a bucket inside the block; its client is handed out."""
    storage = {"BACKEND": "core.storage.bucket.S3Media", "OPTIONS": OPTIONS}
    with mock_aws(), override_settings(STORAGES={**settings.STORAGES, "default": storage}):
        keys = {"aws_access_key_id": "only-for-tests", "aws_secret_access_key": "only-for-tests"}
        client = boto3.client("s3", region_name=REGION, **keys)
        client.create_bucket(Bucket=NAME)
        yield client
