"""Settings of the environment: what makes no sense stops the start with one line, which repeats no secret."""

import re
from decimal import Decimal
from runpy import run_path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.embedded.services import BASE_DIR
from core.env import (
    env_address,
    env_decimal,
    env_float,
    env_int,
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


from core.env import (
    env_decimal,
    env_float,
    env_int,
)
