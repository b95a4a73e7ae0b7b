"""Where stored files lie is read from the environment, and what makes no sense stops the start."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.env import S3_NEEDED, accel_from_env, media_from_env, url_seconds_from_env

NAMES = (*S3_NEEDED, "MEDIA_STORAGE", "S3_REGION", "S3_ENDPOINT_URL", "S3_PUBLIC_URL", "S3_ADDRESSING")
HERE = {"S3_ENDPOINT_URL": "http://10.0.0.9:3900"}
ELSEWHERE = {"S3_ENDPOINT_URL": "https://s3.example.org"}
KEYS = {"S3_BUCKET": "clips", "S3_ACCESS_KEY_ID": "key", "S3_SECRET_ACCESS_KEY": "secret"}
S3 = {"MEDIA_STORAGE": "s3", **KEYS}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, "MEDIA_ACCEL", "MEDIA_URL_S"):
        monkeypatch.delenv(name, raising=False)


def set_environment(monkeypatch: pytest.MonkeyPatch, values: dict[str, str]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("variables", [{}, {"MEDIA_STORAGE": ""}, {"MEDIA_STORAGE": "local"}, KEYS])
def test_files_lie_in_a_folder_unless_a_bucket_is_set(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    set_environment(monkeypatch, variables)
    media = media_from_env()
    assert media.storage["BACKEND"].endswith("FolderMedia")
    assert media.origin == ""


ORIGINS = [  # what is set, and where workers and browsers go
    ({"S3_REGION": "eu-1"}, "https://s3.eu-1.amazonaws.com", "virtual", "https://clips.s3.eu-1.amazonaws.com"),
    ({"S3_ENDPOINT_URL": "http://10.0.0.9:3900/"}, "http://10.0.0.9:3900", "path", "http://10.0.0.9:3900"),
    (
        HERE | {"S3_PUBLIC_URL": "https://files.example.org"},
        "http://10.0.0.9:3900",
        "path",
        "https://files.example.org",
    ),
    (ELSEWHERE | {"S3_ADDRESSING": "virtual"}, "https://s3.example.org", "virtual", "https://clips.s3.example.org"),
]


@pytest.mark.parametrize(("variables", "endpoint", "addressing", "origin"), ORIGINS)
def test_pages_may_load_from_the_origin_that_browsers_are_sent_to(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], endpoint: str, addressing: str, origin: str
) -> None:
    set_environment(monkeypatch, S3 | variables)
    media = media_from_env()
    options = media.storage["OPTIONS"]
    assert (options["endpoint_url"], options["addressing"], media.origin) == (endpoint, addressing, origin)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"MEDIA_STORAGE": "disk"}, "must be local or s3"),
        ({"MEDIA_STORAGE": "s3"}, "S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY must be set"),
        (S3, "S3_ENDPOINT_URL or S3_REGION must be set"),
        (S3 | {"S3_REGION": "x", "S3_BUCKET": "My Bucket"}, "no name of a bucket"),
        (S3 | {"S3_ENDPOINT_URL": "s3.example.org"}, "must be an address"),
        (S3 | {"S3_ENDPOINT_URL": "https://key:word@s3.example.org"}, r"an address [^:]*https://s3.example.org\b"),
        (S3 | {"S3_ENDPOINT_URL": "https://[s3.example.org"}, "S3_ENDPOINT_URL is no address"),
        (S3 | {"S3_REGION": "x", "S3_PUBLIC_URL": "ftp://x"}, "S3_PUBLIC_URL must be an address"),
        (S3 | {"S3_REGION": "x", "S3_ADDRESSING": "both"}, "must be path or virtual"),
    ],
)
def test_what_makes_no_sense_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    set_environment(monkeypatch, variables)
    with pytest.raises(ImproperlyConfigured, match=words):
        media_from_env()


def test_an_internal_location_is_a_path_and_a_signed_address_opens_for_one_to_five_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for text in ("protected", "/protected", "//", "/a b/", "http://x/"):
        monkeypatch.setenv("MEDIA_ACCEL", text)
        with pytest.raises(ImproperlyConfigured, match="MEDIA_ACCEL must be a path"):
            accel_from_env()
    for seconds in ("59", "301", "0"):
        monkeypatch.setenv("MEDIA_URL_S", seconds)
        with pytest.raises(ImproperlyConfigured, match="from 60 to 300"):
            url_seconds_from_env()
