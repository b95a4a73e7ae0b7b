"""The figures' pages and files."""

import csv
import io
from copy import deepcopy
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Candidate, NamedQuerySet, TextStatistics
from annotation.statistics.analyses import Text, span_analyses, text_analyses
from annotation.statistics.proxies import proxy_analyses
from annotation.statistics.selectors import state_of_texts
from judging.figures.views import FIGURES
from tests import factories
from tests.factories import admin, lead
from tests.judging.play import judge_round
from tests.judging.views.acts import url as url_of

pytestmark = pytest.mark.django_db
NAMES = [figure.name for figure in FIGURES]


NO_WORDNET = "WordNet is not installed in /var/nltk_data."


def proxies_by_hand() -> dict[str, object]:
    """Three moments of which two captions say nearly the same, by words, and a system that mixes these two up."""
    words = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 1.0]])
    system = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    missing = dict.fromkeys(("pos", "synset", "meteor"), NO_WORDNET)
    facts = {"sample": 3, "moments": 1234, "system": "a-model", "missing": missing}
    return facts | proxy_analyses({"bow": words, "sentence": 1 - words}, system)


def url(page: str, project: Project, name: str) -> str:
    return reverse(f"judging:{page}", args=[project.uuid, name])


@pytest.fixture(scope="module")
def project_once(module_database: None) -> Project:
    """A val query with relevance 4, 2 and a dropped pair; a test query with relevance 1."""
    new_project: Project = factories.ProjectFactory()
    batch = factories.BatchFactory(query__project=new_project, query__text="A man sings & <b>dances</b>", pairs=3)
    judge_round(batch, [4, 2, 0], [4, 1, 4])
    judge_round(batch, [0], [4])
    judge_round(factories.BatchFactory(query__project=new_project, query__split="test", pairs=1), [1], [1])
    texts = [Text("Two men sing.", "two man sing", ("sing",), ("man",), 2), Text("It rains.", "it rain", ("rain",))]
    analyses = text_analyses(texts, tagged=True) | span_analyses([(0, 4, 10), (5, 10, 10)])
    data = {"analyses": analyses | {"proxies": proxies_by_hand()}, "groups": []}
    TextStatistics.objects.create(project=new_project, data=data, computed_at=factories.NOW)
    return new_project


@pytest.fixture
def project(db: None, project_once: Project) -> Project:
    return deepcopy(project_once)


def get(lead_client: Client, project: Project, name: str, form: str = "", **query: object) -> HttpResponse:
    return lead_client.get(url(f"figure{form}", project, name), query)  # type: ignore[return-value]


def rows(lead_client: Client, project: Project, name: str, **query: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(get(lead_client, project, name, "-csv", **query).content.decode())))


def test_page_picture_and_numbers_of_each(lead_client: Client, project: Project) -> None:
    for name in NAMES:
        page = get(lead_client, project, name).content.decode()
        assert 'role="img"' in page, name
        assert "The numbers as a table" in page
        assert "style=" not in page
        assert ET.fromstring(get(lead_client, project, name, "-svg").content).tag.endswith("svg")
        assert rows(lead_client, project, name), name


def test_nothing_to_draw(client: Client) -> None:
    empty: Project = factories.ProjectFactory()
    client.force_login(lead(empty))
    for name in NAMES:
        assert "Nothing to draw yet" in get(client, empty, name).content.decode(), name
        assert b"Nothing yet" in get(client, empty, name, "-svg").content
        assert rows(client, empty, name) == []


def test_numbers_by_hand(lead_client: Client, project: Project) -> None:
    assert [row["pairs"] for row in rows(lead_client, project, "relevance")] == ["0", "1", "1", "0", "1"]
    pairs_by_range = {
        (row["minimum"], row["maximum"]): (row["pairs"], row["share"])
        for row in rows(lead_client, project, "grades")
        if row["pairs"] != "0"
    }
    ranges = [("4", "4"), ("1", "2"), ("0", "4"), ("1", "1")]
    assert pairs_by_range == dict.fromkeys(ranges, ("1", "0.25"))
    first = rows(lead_client, project, "rank")[0]
    assert (first["rank"], first["pairs"], first["mean"], first["deviation"]) == ("1", "2", "2.5", "1.5")
    ranked = [(row["rank"], row["relevance"], row["state"]) for row in rows(lead_client, project, "cases", split="val")]
    assert ranked == [("1", "4", "settled"), ("2", "2", "settled"), ("3", "", "dropped")]
    (day,) = rows(lead_client, project, "time")
    assert (day["pairs"], day["within_one"]) == ("4", "0.75")


def test_how_often_an_equal_caption_is_not_enough_for_the_highest_grade(lead_client: Client, project: Project) -> None:
    """Of the val query 4, 2 and a dropped pair are of equal captions."""
    assert "of similarity 1.0" not in get(lead_client, project, "cases").content.decode()
    with factories.triggers_asleep():
        Candidate.objects.filter(query__split="val").update(similarity=1)
    page = get(lead_client, project, "cases").content.decode()
    assert page.count("data-moving") == page.count("Moment of rank") == 4  # a still and a clip for each bar
    assert "Of 2 pairs of similarity 1.0, 1 (50.00 %) did not settle on 4; paper: 11.76 %, not on 4." in page


def test_filters_hold_for_page_and_files(lead_client: Client, project: Project) -> None:
    assert "3 settled pairs" in get(lead_client, project, "rank").content.decode()
    page = get(lead_client, project, "rank", split="test").content.decode()
    assert "1 settled pairs" in page
    assert url("figure-svg", project, "rank") + "?split=test" in page
    assert "split test" in get(lead_client, project, "rank", "-svg", split="test").content.decode()
    query_set = NamedQuerySet.objects.create(project=project, name="nothing in it")
    assert rows(lead_client, project, "rank", set=query_set.uuid) == []


NONSENSE = [{"split": "no"}, {"set": "no"}, {"weights": "no"}, {"annotator": "²"}, {"page": "x"}, {"q": "\0"}]


def test_filters_that_make_no_sense_are_none(lead_client: Client, project: Project) -> None:
    for query in NONSENSE:
        for name in ("cases", "order", "partners"):
            assert 'role="img"' in get(lead_client, project, name, **query).content.decode(), query


def test_a_file_brings_its_colours_and_may_run_nothing(lead_client: Client, project: Project) -> None:
    answer = get(lead_client, project, "cases", "-svg")
    policy = answer.headers["Content-Security-Policy"]
    assert "style-src 'unsafe-inline'" in policy
    assert "script-src 'none'" in policy
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="momentjudge-cases.svg"'
    assert b"<b>" not in answer.content
    assert "unsafe" not in get(lead_client, project, "cases").headers["Content-Security-Policy"]


def test_admins_see_all_but_the_annotators(client: Client, project: Project) -> None:
    client.force_login(admin(project))
    page = client.get(url_of("figures", project)).content.decode()
    assert url("figure", project, "grades") in page
    assert url("figure", project, "partners") not in page


def test_kappa_under_the_weights_chosen_and_no_other_figure(lead_client: Client, project: Project) -> None:
    assert "kappa_linear" in rows(lead_client, project, "partners", weights="linear")[0]
    assert "kappa_quadratic" in rows(lead_client, project, "partners")[0]
    for form in ("", "-svg", "-csv"):
        assert get(lead_client, project, "seven", form).status_code == 404


def test_programs_can_be_left_out_only_where_people_judge_too(lead_client: Client, project: Project) -> None:
    assert "people’s grades alone" not in get(lead_client, project, "rank").text
    person = factories.annotator(project, is_simulated=True)
    assignment = factories.AssignmentFactory(
        batch=factories.BatchFactory(query__project=project, pairs=1), annotator=person
    )
    factories.JudgmentFactory(assignment=assignment, source="simulated")
    assignment.batch.pairs.update(state="settled", relevance=0)
    page = get(lead_client, project, "rank").text
    assert "people’s grades alone" in page and "4 settled pairs" in page
    assert "judgments are simulated" in page and "They are drawn" in page
    page = get(lead_client, project, "rank", people="on").text
    assert "3 settled pairs" in page and "They are left out" in page


def test_the_gallery_draws_each_figure_small_and_says_in_a_line_what_it_asks(
    lead_client: Client, project: Project
) -> None:
    page = lead_client.get(reverse("judging:figures", args=[project.uuid])).text
    for figure in FIGURES:
        assert figure.title in page and figure.line.replace("'", "&#x27;") in page
        address = reverse("judging:figure", args=[project.uuid, figure.name])
        assert f'hx-get="{address}?small"' in page
        small = lead_client.get(address, {"small": ""}, headers={"HX-Request": "true"}).text
        assert "<html" not in small and ("<svg" in small or figure.empty in small)


def test_a_text_that_looks_like_a_formula_is_none_in_a_file(lead_client: Client, project: Project) -> None:
    project.queries.filter(split="val").update(text="=HYPERLINK(1)")
    assert {row["text"] for row in rows(lead_client, project, "cases", split="val")} == {"'=HYPERLINK(1)"}


def test_figures_of_the_corpus_are_those_last_computed(lead_client: Client, project: Project) -> None:
    lengths = [(row["measure"], row["bin"], row["count"]) for row in rows(lead_client, project, "lengths")]
    assert [row for row in lengths if row[2] != "0"] == [
        *(("seconds", "0–5", "1"), ("seconds", "5–10", "1")),
        *(("shares", "0.40", "1"), ("shares", "0.50", "1")),
        *(("centres", "0.20", "1"), ("centres", "0.75", "1")),
        *(("words", "2", "1"), ("words", "3", "1")),
    ]
    assert [(row["kind"], row["word"], row["count"]) for row in rows(lead_client, project, "words")] == [
        *(("verbs", "rain", "1"), ("verbs", "sing", "1")),
        ("nouns", "man", "1"),
    ]
    page = get(lead_client, project, "actions").content.decode()
    assert "2 descriptions: 0 % with at least two actions, 50 % with at least two people." in page
    assert "TVR 67 and 66 %" in page  # as published
    assert "split val" not in page  # no filter changes them
    assert "have changed since" in page  # what was kept is of no state of these texts
    TextStatistics.objects.update(state_of_texts=state_of_texts(project))
    assert "have changed since" not in get(lead_client, project, "actions").content.decode()


def test_a_figure_of_the_corpus_has_its_numbers_computed(lead_client: Client) -> None:
    new_project = factories.ProjectFactory()
    lead_client.force_login(lead(new_project))
    factories.DescriptionFactory(moment__video__corpus=new_project.dataset.corpus)
    assert "within a minute" in get(lead_client, new_project, "variety").content.decode()
    assert TextStatistics.objects.get(project=new_project).requested_at is not None


def test_proxies_of_relevance_on_pages_and_in_files(lead_client: Client, project: Project) -> None:
    counts = rows(lead_client, project, "proxies")
    assert len(counts) == 40 and counts[0] == {"proxy": "BoW", "threshold": "0.05", "captions": "2.333333"}
    assert [row["captions"] for row in counts if row["threshold"] == "1.0"] == ["1.0", "1.666667"]
    assert rows(lead_client, project, "bounds") == [
        {"proxy": "BoW", "direction": name, "smallest": "0.693361", "instance": "0.693361", "largest": "1.0"}
        for name in ("v2t", "t2v")
    ]
    (pair,) = rows(lead_client, project, "correlation")
    assert (pair["proxy"], pair["other"], pair["moments"]) == ("BoW", "Sentence", "3")
    computed = TextStatistics.objects.get(project=project).data["analyses"]["proxies"]
    assert float(pair["correlation"]) == pytest.approx(computed["correlations"][0][2], abs=1e-6)
    for name in ("proxies", "bounds", "correlation"):
        page = get(lead_client, project, name).content.decode()
        assert f"Not computed: PoS, SYN, MET. {NO_WORDNET}" in page
        assert "3 of 1,234 moments with a caption, by chance" in page
        assert ">PoS<" not in page and "100 moments by chance" in page
    assert "BoW: 0.693, between 0.693 and 1.000" in get(lead_client, project, "bounds").content.decode()
    assert "The system is the sentence model a-model" in get(lead_client, project, "bounds").content.decode()


def test_a_comparison_without_two_proxies_says_why(lead_client: Client, project: Project) -> None:
    row = TextStatistics.objects.get(project=project)
    only_bow = proxy_analyses({"bow": np.eye(3)}, None)
    missing = {"sentence": "The sentence model 'a/b' was never used here."}
    row.data["analyses"]["proxies"] = {"sample": 3, "moments": 3, "system": "a/b", "missing": missing} | only_bow
    row.save()
    assert "All 3 moments with a caption" in get(lead_client, project, "proxies").content.decode()
    for name in ("bounds", "correlation"):
        page = get(lead_client, project, name).content.decode()
        assert "Nothing to draw yet" in page
        assert "Not computed: Sentence. The sentence model &#x27;a/b&#x27; was never used here." in page
        assert rows(lead_client, project, name) == []


def test_statistics_of_before_there_were_proxies_are_computed_anew(lead_client: Client, project: Project) -> None:
    row = TextStatistics.objects.get(project=project)
    del row.data["analyses"]["proxies"]
    row.save()
    assert "Nothing to draw yet" in get(lead_client, project, "proxies").content.decode()
    row.refresh_from_db()
    assert row.requested_at is not None
