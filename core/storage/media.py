"""Where stored files lie, read from the environment: a folder of this machine, or a bucket that speaks S3."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from core.env import env_address, env_int, env_str

BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
ACCEL = re.compile(r"/[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/")
NEEDED = ("S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")


@dataclass(frozen=True)
class Media:
    """The entry of STORAGES, and the origin that pages load media from besides the site's own (empty: none)."""

    storage: dict[str, Any]
    origin: str = ""


def media_from_env() -> Media:
    """What MEDIA_STORAGE names.

    Raises:
        ImproperlyConfigured: it names nothing known, or a setting of S3 is missing or makes no sense.
    """
    kind = env_str("MEDIA_STORAGE", "local") or "local"
    if kind == "local":
        return Media({"BACKEND": "core.storage.folder.FolderMedia"})
    if kind != "s3":
        raise ImproperlyConfigured(f"MEDIA_STORAGE must be local or s3; it is {kind!r}.")
    return _s3()


def accel_from_env() -> str:
    """The internal location of nginx below which stored files lie; empty where there is none."""
    text = env_str("MEDIA_ACCEL", "")
    if text and not ACCEL.fullmatch(text):
        raise ImproperlyConfigured(f"MEDIA_ACCEL must be a path such as /protected/; it is {text!r}.")
    return text


def url_seconds_from_env() -> int:
    """How long a signed address of a file opens it."""
    return env_int("MEDIA_URL_S", 120, least=60, most=300)


def _s3() -> Media:
    if missing := [name for name in NEEDED if not env_str(name, "")]:
        raise ImproperlyConfigured(f"MEDIA_STORAGE is s3: {', '.join(missing)} must be set.")
    bucket, region = env_str("S3_BUCKET", ""), env_str("S3_REGION", "")
    if not BUCKET.fullmatch(bucket):
        raise ImproperlyConfigured(f"S3_BUCKET is no name of a bucket: {bucket!r}.")
    own = _address("S3_ENDPOINT_URL", "")
    if not own and not region:
        raise ImproperlyConfigured("MEDIA_STORAGE is s3: S3_ENDPOINT_URL or S3_REGION must be set.")
    endpoint = own or f"https://s3.{region}.amazonaws.com"
    public = _address("S3_PUBLIC_URL", endpoint)
    addressing = env_str("S3_ADDRESSING", "") or ("path" if own else "virtual")
    if addressing not in ("path", "virtual"):
        raise ImproperlyConfigured(f"S3_ADDRESSING must be path or virtual; it is {addressing!r}.")
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint,
        "public_url": public,
        "region_name": region or "us-east-1",
        "access_key": env_str("S3_ACCESS_KEY_ID", ""),
        "secret_key": env_str("S3_SECRET_ACCESS_KEY", ""),
        "addressing": addressing,
    }
    return Media({"BACKEND": "core.storage.bucket.S3Media", "OPTIONS": options}, _origin(public, bucket, addressing))


def _address(name: str, default: str) -> str:
    text = env_address(name, default).rstrip("/")
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.username):
        raise ImproperlyConfigured(
            f"{name} must be an address such as https://s3.example.org, without user and password."
        )
    return text


def _origin(url: str, bucket: str, addressing: str) -> str:
    parts = urlsplit(url)
    host = f"{bucket}.{parts.netloc}" if addressing == "virtual" else parts.netloc
    return f"{parts.scheme}://{host}"
