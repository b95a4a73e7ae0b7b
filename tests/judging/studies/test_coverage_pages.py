"""The pages of coverage studies: choose, look, open, read what was found."""

import csv
import io

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import NamedQuerySet, Pooling
from judging.models import Batch
from judging.studies.services import pool_open_request
from tests.conftest import Messages
from tests.factories import admin
from tests.judging.covering import Covering
from tests.judging.play import judge_round
from tests.judging.views.acts import url

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def browser(client: Client, collection: Covering) -> Client:
    client.force_login(admin(collection.project))
    return client


def form(**values: object) -> dict[str, object]:
    return {"numbers": "", "n": 10, "which": "all", "top": 4, "others": 3, "seed": 1, **values}


def test_from_the_choice_to_what_was_found(browser: Client, collection: Covering, messages: Messages) -> None:
    with messages():
        answer = browser.post(url("coverage-create", collection.project), form())
    study = Pooling.objects.get()
    assert answer.headers["Location"] == url("coverage-study", study)
    page = browser.get(url("coverage-study", study)).content.decode()
    assert "5 pairs in 1 batch: at least 10 judgments" in page
    assert collection.query.text in page
    with messages():
        browser.post(url("coverage-open", study))
    assert "0 of 5" in browser.get(url("coverage-study", study)).content.decode()
    for page in ("queries", "overview"):
        text = browser.get(url(page, collection.project)).content.decode()
        assert ">coverage<" in text and ">pooled<" not in text
    judge_round(Batch.objects.get(number=3), [2] * 5, [2] * 5)
    page = browser.get(url("coverage-study", study)).content.decode()
    assert "5 of 5" in page
    assert page.count('role="img"') == 2
    assert "not finished" not in page
    rows = list(csv.DictReader(io.StringIO(browser.get(url("coverage-csv", study)).content.decode())))
    assert [(row["band"], row["settled"], row["relevant"], row["drawn_from"]) for row in rows] == [
        ("1–4", "4", "4", ""),
        ("others", "3", "3", "8"),
    ]
    assert b"How the moments divide" in browser.get(url("coverage-svg", study)).content


def test_the_pages_follow_the_rules_of_the_project(client: Client) -> None:
    """Batches of five, three judges, grades 0 to 9."""
    collection = Covering(batch_size=5, judges=3, top_grade=9)
    client.force_login(admin(collection.project))
    assert "Ranks 1 to 10 are judged already" in client.get(url("coverage", collection.project)).content.decode()
    study = collection.planned(top=8, others=3)
    page = client.get(url("coverage-study", study)).content.decode()
    assert "9 pairs in 2 batches: at least 27 judgments" in page
    batches = collection.open(study)
    assert len(batches) == 2
    page = client.get(url("coverage-study", study)).content.decode()
    assert "ranks 1–5<" in page and "ranks 6–8<" in page
    assert "Relevant is 1 to 9." in page
    assert "Of these 7 to 9<" in page
    output = io.StringIO()
    call_command("coverage_study", collection.project.name, report=True, stdout=output)
    assert "7 to 9\n" in output.getvalue()


def test_missing_moments_of_a_plan_are_reported(browser: Client, collection: Covering, messages: Messages) -> None:
    with messages():
        answer = browser.post(url("coverage-create", collection.project), form(top=20, others=3))
    page = browser.get(answer.headers["Location"]).content.decode()
    assert "1 is finished: fewer queries than the 10 asked for." in page
    assert "No more than this 1 is finished." in page
    assert "There are only 12 moments to judge, so 12 best instead of 20 and no others." in page
    assert "There are only" not in browser.get(url("coverage-study", collection.planned())).content.decode()


def test_chosen_by_number_or_drawn_from_a_set(browser: Client, collection: Covering) -> None:
    other = collection.finished(20, query_set=NamedQuerySet.objects.create(project=collection.project, name="chosen"))
    third = collection.finished(30)
    for options, queries in (
        ({"numbers": "30, 10"}, {collection.query, third}),
        ({"which": f"set:{other.query_set.uuid}"}, {other}),
        ({"n": 3}, {collection.query, other, third}),
    ):
        browser.post(url("coverage-create", collection.project), form(**options))
        study = Pooling.objects.first()
        assert study is not None
        assert {answer.query for source in study.sources.all() for answer in source.answers.all()} == queries


def test_a_form_to_look_at(browser: Client, collection: Covering) -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"numbers": "ten"}, "Numbers of queries"),
        ({"numbers": "10 99"}, "not there: 99"),
        ({"numbers": "", "n": ""}, "Say which queries"),
        ({"top": 0}, "greater than or equal to 1"),
        ({"seed": ""}, "required"),
        ({"which": "set:nothing"}, "Choose which queries"),
    ]
    for values, words in wrong:
        answer = browser.post(url("coverage-create", collection.project), form(**values))
        assert (answer.status_code, words in answer.content.decode()) == (422, True), values
    assert not Pooling.objects.exists()


def test_discard_before_and_after_opening(browser: Client, collection: Covering) -> None:
    study = collection.planned()
    answer = browser.post(url("coverage-discard", study), follow=True).content.decode()
    assert "nothing was opened" in answer
    assert url("coverage-study", study) not in answer
    study = collection.planned()
    collection.open(study)
    answer = browser.post(url("coverage-discard", study), follow=True).content.decode()
    assert "its pairs are judged" in answer


def test_what_came_to_a_stop_is_reported(browser: Client, collection: Covering) -> None:
    study, other = collection.planned(), collection.planned()
    pool_open_request(pooling=study, actor=collection.lead)
    collection.project.jobs.update(state="failed", error="The disk is full.")
    page = browser.get(url("coverage-study", study)).content.decode()
    assert "The disk is full." in page and "Go on" in page
    Pooling.objects.filter(pk=other.pk).update(state="failed", error="There is no sentence model.")
    assert "There is no sentence model." in browser.get(url("coverage-study", other)).content.decode()
    Batch.objects.update(state="open", done_at=None)
    assert "No query is finished yet" in browser.get(url("coverage", collection.project)).content.decode()
