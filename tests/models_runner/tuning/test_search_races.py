"""Two at once: claims of a search, and a cancel beside a claim."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from models_runner.models import SettingsSearch
from models_runner.tuning.services import settings_search_cancel
from models_runner.tuning.work import search_claim
from tests.factories import ProjectFactory
from tests.models_runner.benchmarks import configure_training, order_search, trainable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def search(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsSearch:
    """No worker hears of it."""
    monkeypatch.setattr("models_runner.tuning.services.send_on_commit", lambda *message: None)
    configure_training(settings, tmp_path)
    return order_search(trainable(ProjectFactory()), tmp_path)


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do them in threads of their own; return what each returned."""
    barrier = Barrier(len(acts))

    def act(one: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return one()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(act, acts))


def test_of_several_workers_one_takes_a_search(search: SettingsSearch) -> None:
    claims = [lambda number=number: search_claim(search_id=search.pk, device=f"here/{number}") for number in range(4)]
    assert sum(row is not None for row in at_once(*claims)) == 1


def test_a_cancel_beside_a_claim_is_never_lost(search: SettingsSearch) -> None:
    claimed, _ = at_once(
        lambda: search_claim(search_id=search.pk, device="here/0"),
        lambda: settings_search_cancel(search=search, actor=None),
    )
    search.refresh_from_db()
    assert search.state == ("cancelling" if claimed else "cancelled")
