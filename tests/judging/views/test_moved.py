"""Addresses of 0.1.0 lead to those of now."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from judging.urls import MOVED


@pytest.mark.parametrize("address", MOVED)
def test_an_address_of_the_first_release_leads_to_the_page(client: Client, address: str) -> None:
    uuid = uuid4()
    old = "/" + re.sub(r"<int:\w+>", "7", re.sub(r"<uuid:\w+>", str(uuid), address))
    args = [uuid, 7] if "<int:" in address else [uuid]
    new = reverse(f"judging:{MOVED[address]}", args=args)
    answer = client.get(f"{old}?page=2")
    assert (answer.status_code, answer.headers["Location"]) == (301, f"{new}?page=2")
    answer = client.post(old, {"grade": 3})
    assert (answer.status_code, answer.headers["Location"]) == (308, new)
