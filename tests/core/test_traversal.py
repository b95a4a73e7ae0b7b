"""No path comes from a request: names that climb out of a folder open nothing."""

from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from models_runner.experiments.files import training_file_open
from tests.judging.views.endpoints import Site

CLIMBING = ["..%2f..%2fsecret_key", "%2e%2e%2fsecret_key", "..", ".", "..\\secret_key", "%00", "/etc/passwd"]
CLIMBING += [
    "plan.json%00",
    "....//secret_key",
    "%252e%252e%252fsecret_key",
    "plan.json/../../secret_key",
    "log/../plan.json",
]


@pytest.mark.django_db
def test_names_in_addresses() -> None:
    site = Site()
    browser = Client(raise_request_exception=False)
    browser.force_login(site.people["admin"])
    befores = [
        reverse("models_runner:training-file", args=[site.training.uuid, "x"])[:-1],
        reverse("models_runner:file", args=[site.release.uuid, "x"])[:-1],
        "/static/",
    ]
    for name, before in product(CLIMBING, befores):
        assert browser.get(before + name).status_code in (400, 404), before + name
    assert [name for name in CLIMBING if training_file_open(site.training, name)] == []
