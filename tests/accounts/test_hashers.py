"""Tests of the cost of password checks, and how many run at once."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from os import sched_yield

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, make_password
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.hashers import Argon2, turns
from accounts.models import User
from config.settings import base
from core.embedded.services import BASE_DIR
from core.exceptions import Busy

PASSWORD = "a long password"
MANY = """
from concurrent.futures import ThreadPoolExecutor
from django.conf import settings
settings.configure()
from accounts.hashers import Argon2

def memory(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field)) // 1024

with ThreadPoolExecutor(4) as people:
    before, held = memory("VmRSS"), Argon2().encode("a long password", "salt" * 8)
    assert all(people.map(lambda _: Argon2().verify("a long password", held), range(12)))
print(memory("VmHWM") - before, memory("VmRSS") - before)
"""


@pytest.fixture(autouse=True)
def as_in_production(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = base.PASSWORD_HASHERS


def test_a_check_takes_19_mib() -> None:
    assert make_password(PASSWORD).startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert check_password(PASSWORD, make_password(PASSWORD))
    assert not check_password("another", make_password(PASSWORD))


def test_threads_take_the_memory_of_one_check_and_give_it_back() -> None:
    process = subprocess.run([sys.executable, "-c", MANY], cwd=BASE_DIR, capture_output=True, text=True, check=True)
    most, memory_left = map(int, process.stdout.split())
    assert most < 19 + 10
    assert memory_left < 10


@pytest.mark.django_db
def test_a_hash_at_the_old_price_opens_and_is_made_anew(client: Client) -> None:
    old = Argon2PasswordHasher().encode(PASSWORD, "salt" * 8)
    person = User.objects.create(username="somebody", password=old)
    assert client.post(reverse("login"), {"username": "somebody", "password": PASSWORD}).status_code == 302
    person.refresh_from_db()
    assert "m=19456," in person.password
    assert person.check_password(PASSWORD)


@pytest.mark.django_db
def test_confirming_a_password_rehashes_it_and_stays_logged_in(client: Client) -> None:
    person = User.objects.create(username="somebody", password=Argon2PasswordHasher().encode(PASSWORD, "salt" * 8))
    client.force_login(person)
    client.post(reverse("totp-codes"), {"password": PASSWORD})
    person.refresh_from_db()
    assert "m=19456," in person.password
    assert client.get(reverse("account")).status_code == 200


def test_one_is_checked_at_a_time_and_the_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, most, lock = 0, 0, threading.Lock()

    def verify(self: Argon2, password: str, encoded: str) -> bool:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        sched_yield()  # whoever could come in as well would
        with lock:
            at_work -= 1
        return True

    monkeypatch.setattr(Argon2PasswordHasher, "verify", verify)
    with ThreadPoolExecutor(8) as people:
        assert all(people.map(lambda _: Argon2().verify(PASSWORD, ""), range(8)))
    assert most == 1


@pytest.mark.django_db
def test_waiting_too_long_is_an_error_and_the_log_in_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create_user("somebody", PASSWORD)
    monkeypatch.setattr(turns, "wait_s", 0.01)
    with turns.take(), pytest.raises(Busy, match="Wait half a minute"):
        Argon2().verify(PASSWORD, "")
    form = {"username": "somebody", "password": PASSWORD}
    with turns.take():
        answers = [client.post(reverse("login"), form) for _ in range(7)]
    assert {answer.status_code for answer in answers} == {503} and "Wait half a minute" in answers[0].text
    assert client.post(reverse("login"), form).status_code == 302, "what was not checked is no wrong password"


def test_a_turn_is_given_back_after_a_failure() -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns.take():
            _ = 1 / 0
