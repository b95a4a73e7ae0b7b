"""The pages of pools: choose, look, open, and what is said when it cannot be."""

import csv
from copy import deepcopy
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Pooling
from core.models import Job
from judging.models import Batch
from models_runner.pools.services import PLANS
from tests.conftest import Messages, hash_with
from tests.factories import MINUTES, admin
from tests.judging.growing import Growing
from tests.models_runner.pools.test_pool_runs import save_run

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> Growing:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return Growing()


@pytest.fixture
def collection(db: None, module_scenario: Growing) -> Growing:
    return deepcopy(module_scenario)


@pytest.fixture
def browser(client: Client, collection: Growing) -> Client:
    client.force_login(admin(collection.project))
    return client


def url(name: str, row: object) -> str:
    return reverse(f"pools:{name}", args=[row.uuid])  # type: ignore[attr-defined]


def form(*runs: object, **values: object) -> dict[str, object]:
    uuids = [run.uuid for run in runs]  # type: ignore[attr-defined]
    return {"runs": uuids, "depth": 20, "iou_min": "0.7", "which": "all", **values}


def test_from_the_choice_to_the_batches(browser: Client, collection: Growing, messages: Messages) -> None:
    runs = [save_run(collection, [0, 3, 7], "xml"), save_run(collection, [7, 4], "conquer")]
    page = browser.get(url("pools", collection.project)).content.decode()
    assert all(f"{run.system} on val, release 1" in page for run in runs)
    with messages():
        answer = browser.post(url("pool-create", collection.project), form(*runs))
    pooling = Pooling.objects.get()
    assert answer.headers["Location"] == url("pool", pooling)
    page = browser.get(url("pool", pooling)).content.decode()
    assert "3 pairs of 1 query in 1 batch: at least 6 judgments" in page
    assert Batch.objects.count() == 1
    with messages():
        browser.post(url("pool-open", pooling))
    page = browser.get(url("pool", pooling)).content.decode()
    assert "0 of 3" in page
    assert "Open it?" not in page
    batch = Batch.objects.get(number=3)
    page = browser.get(reverse("judging:batch", args=[batch.uuid])).content.decode()
    assert '<span class="state">pooled</span>' in page
    assert "returned by conquer, release 1 at 1; xml, release 1 at 3" in page
    assert "not opened" not in browser.get(url("pools", collection.project)).content.decode()


def test_finished_queries_are_named_before_they_are_opened_again(browser: Client, collection: Growing) -> None:
    collection.close()
    pooling = collection.plan(collection.rows("one", [3]))
    page = browser.get(url("pool", pooling)).content.decode()
    assert "1 of these queries is finished now" in page


def test_runs_that_add_nothing_cannot_be_opened(browser: Client, collection: Growing) -> None:
    pooling = collection.plan(collection.rows("one", [0, 1]))
    page = browser.get(url("pool", pooling)).content.decode()
    assert "nothing that is not a candidate already" in page
    assert url("pool-open", pooling) not in page


def test_discarded(browser: Client, collection: Growing) -> None:
    pooling = collection.plan(collection.rows("one", [3]))
    answer = browser.post(url("pool-discard", pooling), follow=True)
    assert "nothing was opened" in answer.content.decode()
    assert url("pool", pooling) not in answer.content.decode()
    assert "thrown away" in browser.get(url("pool", pooling)).content.decode()
    answer = browser.post(url("pool-open", pooling))
    assert (answer.status_code, "no plan to open" in answer.content.decode()) == (409, True)


def test_what_is_opened_stays(browser: Client, collection: Growing) -> None:
    pooling = collection.plan(collection.rows("one", [3]))
    collection.open(pooling)
    answer = browser.post(url("pool-discard", pooling), follow=True)
    assert "its pairs are judged" in answer.content.decode()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"runs": []}, "Choose at least one run."),
        ({"runs": ["0b0f7f4e-0000-4000-8000-000000000000"]}, "One of the runs is gone."),
        ({"depth": 0}, "greater than or equal to 1"),
        ({"depth": 1001}, "less than or equal to 1000"),
        ({"iou_min": 1.5}, "less than or equal to 1"),
        ({"iou_min": "nan"}, "Enter a number."),
        ({"which": "set:nothing"}, "Choose which queries."),
    ],
)
def test_a_form_that_cannot_be_used(
    browser: Client, collection: Growing, values: dict[str, object], words: str
) -> None:
    answer = browser.post(url("pool-create", collection.project), form(save_run(collection, [3]), **values))
    assert (answer.status_code, words in answer.content.decode()) == (422, True)
    assert not Pooling.objects.exists()


def test_a_run_that_cannot_be_read_says_so(browser: Client, collection: Growing, messages: Messages) -> None:
    run = save_run(collection, [3])
    with run.file.open("wb") as file:
        file.write(b"{}")
    with messages():
        browser.post(url("pool-create", collection.project), form(run))
    page = browser.get(url("pool", Pooling.objects.get())).content.decode()
    assert "xml on val: line 1 column 3: not JSON" in page


def test_a_split_without_a_batch_says_so(browser: Client, collection: Growing, messages: Messages) -> None:
    with messages():
        browser.post(url("pool-create", collection.project), form(save_run(collection, [3]), which="split:test"))
    assert "has a batch yet" in browser.get(url("pool", Pooling.objects.get())).content.decode()


def test_an_opening_that_came_to_a_stop_can_go_on(browser: Client, collection: Growing, messages: Messages) -> None:
    pooling = collection.plan(collection.rows("one", [3]))
    browser.post(url("pool-open", pooling))  # its message is lost
    Job.objects.update(state="failed", error="OSError: the disk is full")
    page = browser.get(url("pool", pooling)).content.decode()
    assert "the disk is full" in page
    with messages():
        browser.post(url("pool-open", pooling))
    assert "0 of 1" in browser.get(url("pool", pooling)).content.decode()


def test_a_plan_whose_message_was_lost_is_made_by_the_sweep(
    browser: Client, collection: Growing, messages: Messages
) -> None:
    browser.post(url("pool-create", collection.project), form(save_run(collection, [3])))
    pooling = Pooling.objects.get()
    assert "Reading the runs" in browser.get(url("pool", pooling)).content.decode()
    for later, state in ((0, "preparing"), (2, "ready")):
        with messages():
            PLANS.sweep(pooling.created_at + later * MINUTES)
        pooling.refresh_from_db()
        assert pooling.state == state


def test_reports_as_csv(browser: Client, collection: Growing) -> None:
    collection.query.text = "=1+1"
    collection.query.save()
    pooling = collection.plan([*collection.rows("one", [0, 3]), *collection.rows("other", [3])])
    answer = browser.get(url("pool-csv", pooling))
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [(row["query_id"], row["query"], row["source"], row["moments"], row["new"]) for row in rows] == [
        *[("", "", "one", "2", "1"), ("", "", "other", "1", "1"), ("", "", "all runs", "2", "1")],
        *[("10", "'=1+1", "one", "2", "1"), ("10", "'=1+1", "other", "1", "1"), ("10", "'=1+1", "all runs", "2", "1")],
    ]
    answer = browser.get(url("pool-overlap-csv", pooling))
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [(row["source"], row["other"], row["both"]) for row in rows if row["source"] != row["other"]] == [
        *[("similarity", "one", "1"), ("similarity", "other", "0")],
        *[("one", "similarity", "1"), ("one", "other", "1")],
        *[("other", "similarity", "0"), ("other", "one", "1")],
    ]


def test_empty_states(browser: Client, collection: Growing) -> None:
    assert "No run yet" in browser.get(url("pools", collection.project)).content.decode()
    collection.project.batches.all().first().pairs.all().delete()
    collection.project.batches.all().delete()
    assert "No query is being judged yet" in browser.get(url("pools", collection.project)).content.decode()
