"""Settings of the environment: what makes no sense stops the start with one line, which repeats no secret."""

import re
from decimal import Decimal
from runpy import run_path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.embedded.services import BASE_DIR
from core.env import (
    S3_NEEDED,
    accel_from_env,
    env_address,
    env_decimal,
    env_float,
    env_int,
    media_from_env,
    oidc_from_env,
    url_seconds_from_env,
)

BASE = BASE_DIR / "config" / "settings" / "base.py"
WHOLE = re.findall(r'env_int\(\s*"(\w+)"', BASE.read_text(encoding="utf-8"))
RETENTION = {name for name in WHOLE if name.startswith("RETENTION_")}
MAY_BE_0 = {"TRUSTED_PROXIES", "DATABASE_POOL", "TRAIN_THREADS", "DEMO_SEED", "SLOW_QUERY_MS", *RETENTION}


def settings_of(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> dict[str, Any]:
    monkeypatch.setenv(name, text)
    return run_path(str(BASE))


REFUSED = [  # how it is read, what the environment holds, and what is wrong with that
    *((env_int, {}, text, "a whole number of 1 or more") for text in ("many", "", "2.5", "0")),
    (env_int, {"least": 0}, "-1", "a whole number of 0 or more"),
    *((env_int, {"least": 60, "most": 300}, text, "a whole number from 60 to 300") for text in ("59", "301")),
    *(
        (env_float, {"least": 0, "most": 1}, text, "a number from 0 to 1")
        for text in ("often", "", "nan", "inf", "-0.1", "1.1")
    ),
    *((env_decimal, {}, text, "a number of 0 or more") for text in ("cheap", "NaN", "sNaN", "Infinity", "-0.1")),
]


@pytest.mark.parametrize(("read", "bounds", "text", "words"), REFUSED)
def test_a_number_that_is_none_or_out_of_its_bounds_is_refused(
    monkeypatch: pytest.MonkeyPatch, read: Any, bounds: dict[str, int], text: str, words: str
) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(ImproperlyConfigured) as caught:
        read("X", 5, **bounds)
    assert str(caught.value) == f"X must be {words}; it is {text!r}."


def test_a_number_within_its_bounds_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (env_int("X", 5), env_float("X", 0.5, least=0), env_decimal("X", "0.5")) == (5, 0.5, Decimal("0.5"))
    monkeypatch.setenv("X", "1")
    assert (env_int("X", 5), env_float("X", 0.5, least=0, most=1), env_decimal("X", "0")) == (1, 1.0, Decimal(1))


@pytest.mark.parametrize("name", WHOLE)
def test_no_setting_is_negative_and_few_are_0(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for text in ("-1", *([] if name in MAY_BE_0 else ["0"])):
        with pytest.raises(ImproperlyConfigured, match=f"^{name} must be a whole number .*; it is '{text}'.$"):
            settings_of(monkeypatch, name, text)
    if name in MAY_BE_0:
        settings_of(monkeypatch, name, "0")


NUMBERS = {"CAPTION_SIMILARITY_MIN": "often", "CAPTION_NAME_SCORE_MAX": "2"}
NUMBERS |= {"REWRITING_USD_PER_MILLION_IN": "cheap", "REWRITING_USD_PER_MILLION_OUT": "-1"}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_captions_are_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"^{name} must be a number "):
        settings_of(monkeypatch, name, NUMBERS[name])


PASSWORDS = ("Sup3rSecret/x", "12/Sup3rSecret", "12?Sup3rSecret", "12#Sup3rSecret", "Sup3r[Secret", "Sup3rSecret\u2100")
UNREADABLE = [f"postgresql://momentjudge:{password}@h/d" for password in PASSWORDS]


@pytest.mark.parametrize("address", [*UNREADABLE, "postgresql://momentjudge:word@h:Sup3rSecret/d"])
@pytest.mark.parametrize("name", ["DATABASE_URL", "BROKER_URL", "SENTRY_DSN", "REWRITING_BASE_URL", "SITE_URL"])
def test_an_address_that_cannot_be_read_is_named_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"^{name} is no address .* percent-encoded") as caught:
        settings_of(monkeypatch, name, address)
    assert caught.value.__context__ is None  # whose traceback would repeat it
    assert "Sup3r" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["redis://:p%40ss%2Fword@h:6379/0", "redis+socket:///run/valkey.sock", "rediss://h/1?ssl_cert_reqs=required"],
)
def test_an_address_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("X", address)
    assert env_address("X", "redis://other") == address
    monkeypatch.setenv("X", "")
    assert env_address("X", "redis://other") == "redis://other"


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


class TestProviders:
    """Of single sign-on."""

    LAB = {
        "OIDC_PROVIDERS": "lab, other",
        "OIDC_LAB_URL": "https://sso.example.net:8443/realms/lab/",
        "OIDC_LAB_CLIENT_ID": "momentjudge",
        "OIDC_LAB_SECRET": "secret",
        "OIDC_LAB_ORIGINS": "https://upstream.example.net",
        "OIDC_OTHER_URL": "http://localhost:9000",
        "OIDC_OTHER_CLIENT_ID": "x",
        "OIDC_OTHER_NAME": "the other",
    }

    @pytest.fixture(autouse=True)
    def lab(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in self.LAB.items():
            monkeypatch.setenv(name, value)

    def test_several_are_read(self) -> None:
        lab, other = oidc_from_env()
        assert lab.origins == ["https://sso.example.net:8443", "https://upstream.example.net"]
        assert lab.app["settings"] == {"server_url": "https://sso.example.net:8443/realms/lab"}
        assert (lab.app["name"], other.app["name"]) == ("Lab", "the other")
        assert other.origins == ["http://localhost:9000"]

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("OIDC_LAB_URL", ""),
            ("OIDC_LAB_CLIENT_ID", ""),
            ("OIDC_LAB_URL", "http://sso.example.net"),
            ("OIDC_LAB_URL", "http://localhost.example.net"),
            ("OIDC_LAB_URL", "https://sso.example.net; script-src *"),
            ("OIDC_LAB_URL", "https://user:word@sso.example.net"),
            ("OIDC_LAB_URL", "https://sso.example.net/?a=1"),
            ("OIDC_LAB_URL", "sso.example.net"),
            ("OIDC_LAB_ORIGINS", "'unsafe-inline'"),
            ("OIDC_PROVIDERS", "the lab"),
            ("OIDC_PROVIDERS", "../lab"),
        ],
    )
    def test_what_cannot_be_stops_the_start(self, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
        monkeypatch.setenv(name, value)
        with pytest.raises(ImproperlyConfigured, match="OIDC"):
            oidc_from_env()

    def test_forms_may_lead_to_them_and_nothing_else_may(self) -> None:
        text: str = run_path(str(BASE))["CONTENT_SECURITY_POLICY"]
        policy = dict(part.split(" ", 1) for part in text.split("; "))
        allowed = policy.pop("form-action").split()
        assert sorted(allowed) == sorted(
            ["'self'", "http://localhost:9000", "https://sso.example.net:8443", "https://upstream.example.net"]
        )
        assert not any("example" in sources or "9000" in sources for sources in policy.values())
