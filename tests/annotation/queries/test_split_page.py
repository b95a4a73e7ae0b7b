"""The page of splits."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from annotation.queries import views
from annotation.queries.services import queries_draw
from tests.factories import (
    CandidateFactory,
    CaptionFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    admin,
    lead,
)

pytestmark = pytest.mark.django_db
SIZES = {"val": "2", "test": "25%", "seed": "5"}


@pytest.fixture
def project() -> Project:
    """Eight texts, one of them twice, and a caption that waits for a person."""
    project: Project = ProjectFactory()
    video = VideoFactory(corpus=project.dataset.corpus)
    for index, text in enumerate([*(f"text {n}" for n in range(8)), "text 0"]):
        moment = MomentFactory(video=video, start_s=index, end_s=index + 1, uncut=True)
        CaptionFactory(moment=moment, text=text, provider="rules", description__text=f"Ann {text}")
    CaptionFactory(moment__video=video, text="waits", state="in_review", failed=["name"], provider="rules")
    return project


@pytest.fixture
def person(project: Project, client: Client) -> User:
    person = lead(project)
    client.force_login(person)
    return person


def url(project: Project, name: str = "splits") -> str:
    return reverse(f"annotation:{name}", args=[project.uuid])


def hidden_fields(text: str) -> dict[str, str]:
    """Return a preview form's hidden fields."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text.split('id="outcome"')[1]))


@pytest.mark.usefixtures("person")
class TestDraw:
    def test_looked_at_then_drawn(self, client: Client, project: Project) -> None:
        assert "1 caption waits for review and is left out" in client.get(url(project)).content.decode()
        page = client.get(url(project), {**SIZES, "val": "0"}).content.decode()
        assert "No val query: models" in page and "No test query" not in page
        page = client.post(url(project, "queries-draw"), SIZES, follow=True).content.decode()  # shown first
        assert not project.queries.exists()
        form = hidden_fields(page)
        assert [form[f"seen_{name}"] for name in ("val", "test", "waiting")] == ["2", "2", "1"]
        assert int(form["seen_train"]) + int(form["seen_removed"]) == 5

        html = client.post(url(project, "queries-draw"), form, follow=True).content.decode()
        assert project.queries.filter(split="test").count() == 2
        assert "queries are drawn" in html and "Drawn with seed 5 by the lead" in html
        assert "asked for: 2 val, 25% test" in html
        assert all(reverse(name, args=[project.uuid]) in html for name in ("judging:queries", "annotation:train-sets"))
        assert client.post(url(project, "queries-draw"), form).status_code == 409  # the other tab

    def test_drawn_again_only_with_a_yes_while_nothing_is_ranked(self, client: Client, project: Project) -> None:
        queries_draw(project=project, sizes={"val": 1}, seed=1)
        page = client.get(url(project), SIZES).content.decode()
        assert "Throw away the" in page
        form = hidden_fields(page)
        assert client.post(url(project, "queries-draw"), form).status_code == 409
        client.post(url(project, "queries-draw"), {**form, "again": "on"})
        assert project.queries.filter(split="val").count() == 2
        CandidateFactory(query=project.queries.first())
        page = client.get(url(project)).content.decode()
        assert "These queries stay: there are candidates of them." in page and "Draw again" not in page
        answer = client.post(url(project, "queries-draw"), {**form, "again": "on"})
        assert (answer.status_code, b"The queries stay" in answer.content) == (409, True)

    def test_captions_that_changed_since_are_shown_first(self, client: Client, project: Project) -> None:
        form = hidden_fields(client.get(url(project), SIZES).content.decode())
        CaptionFactory(moment__video__corpus=project.dataset.corpus, text="new", provider="rules")
        answer = client.post(url(project, "queries-draw"), form)
        assert (answer.status_code, b"changed since you looked" in answer.content) == (409, True)
        assert int(hidden_fields(answer.content.decode())["seen_train"]) == int(form["seen_train"]) + 1
        assert not project.queries.exists()

    def test_sizes_that_cannot_be(self, client: Client, project: Project) -> None:
        for values, words in (
            ({"val": "x"}, "is no size"),
            ({"val": "-1"}, "is no size"),
            ({"val": ""}, "This field is required"),
            ({"val": "90%"}, "come to 115 %, more than 100 %"),
            ({"val": "9"}, "There are 8 different texts, and 11 are asked for."),
            ({"seed": "-1"}, "A seed is a whole number from 0"),
            ({"seed": "one"}, "Enter a whole number"),
        ):
            answer = client.get(url(project), {**SIZES, **values})
            assert (answer.status_code, words in answer.content.decode()) == (422, True), values
            assert 'id="outcome"' not in answer.content.decode()


@pytest.mark.usefixtures("person")
def test_queries_are_listed_with_their_descriptions(client: Client, project: Project) -> None:
    queries_draw(project=project, sizes={"val": 1, "test": 1}, seed=1)
    words = project.queries.filter(split="train").values_list("text", flat=True)[0]
    page = client.get(url(project), {"split": "train", "q": words}).content.decode()
    assert f"Ann {words}" in page and "<td>val</td>" not in page
    assert "No query found" in client.get(url(project), {"q": "nowhere"}).content.decode()
    CaptionFactory(moment__video__corpus=project.dataset.corpus, text="Ann waves.")
    assert "1 description has not been rewritten" in client.get(url(project)).content.decode()
    client.force_login(admin(empty := ProjectFactory()))
    assert "No caption can become a query yet" in client.get(url(empty)).content.decode()


def test_the_next_page_keeps_the_words_and_the_split(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PER_PAGE", 1)
    for number in (901, 902):
        QueryFactory(project=project, number=number, text=f"A rare word, number {number}.", split="test")
    client.force_login(lead(project))
    page = client.get(url(project), {"q": "rare", "split": "test"}).content.decode()
    (following,) = re.findall(r'href="(\?[^"]+)">Next', page)
    page = client.get(f"{url(project)}{unescape(following)}").content.decode()
    assert "number 902" in page
    assert "2 of 2" in page
