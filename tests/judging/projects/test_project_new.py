"""A project from the page, over a corpus within reach."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from annotation.corpora.services.imports import may_import_into
from annotation.models import Corpus, CorpusImport
from judging.projects.services import project_create, project_name_free
from judging.work.rules import PRESETS, rules_of
from tests.factories import CorpusFactory, ProjectFactory, QueryFactory, UserFactory, admin, annotator, lead
from tests.judging.views.acts import logged_in

pytestmark = pytest.mark.django_db


def url(corpus: Corpus) -> str:
    return reverse("judging:project-new", args=[corpus.uuid])


def imported(owner: User) -> Corpus:
    """A corpus that nobody but the owner of its import knows."""
    corpus: Corpus = CorpusFactory()
    CorpusImport.objects.create(owner=owner, corpus_name=corpus.name, format="csv", file_name="x.csv", state="done")
    return corpus


@pytest.mark.parametrize("role", [lead, admin])
def test_whoever_makes_it_leads_and_administers_it(role: object) -> None:
    person = role(ProjectFactory())  # type: ignore[operator]
    corpus = imported(person)
    assert f"over {corpus.name}" in logged_in(person).get(reverse("annotation:corpora")).content.decode()
    page = logged_in(person).get(reverse("annotation:import", args=[CorpusImport.objects.get().uuid])).content.decode()
    assert f"Make a project over {corpus.name}" in page and url(corpus) in page
    answer = logged_in(person).post(url(corpus), {"name": " Winter "}, follow=True)
    new_project = Project.objects.get(name="Winter")
    assert answer.redirect_chain[-1][0] == reverse("annotation:corpus", args=[new_project.uuid])
    assert (new_project.dataset.corpus, new_project.queries.count()) == (corpus, 0)
    member = new_project.memberships.get()
    assert (member.user, member.roles) == (person, ["lead", "admin"])
    assert new_project.audit_events.get(action="project.create").actor == person


@pytest.mark.parametrize("role", [lead, admin])
def test_a_new_collection_is_an_empty_corpus_and_a_project_that_its_maker_leads(role: object) -> None:
    person = role(ProjectFactory(name="Summer"))  # type: ignore[operator]
    address = reverse("judging:collection-new")
    browser = logged_in(person)
    assert address in browser.get(reverse("annotation:corpora")).content.decode()
    assert browser.get(address).status_code == 200
    answer = browser.post(address, {"name": " Summer "}, follow=True)
    project = Project.objects.get(name="Summer 2")  # the name of the project was taken
    assert answer.redirect_chain[-1][0] == reverse("annotation:corpus", args=[project.uuid])
    assert (project.dataset.corpus.name, project.dataset.corpus.videos.count()) == ("Summer", 0)
    assert (project.memberships.get().user, project.memberships.get().roles) == (person, ["lead", "admin"])
    page = answer.content.decode()
    assert "No video yet" in page and "Add videos" in page
    for name, status, words in (("", 422, "Name the collection."), ("Summer", 409, "already. Choose another name.")):
        answer = browser.post(address, {"name": name})
        assert (answer.status_code, words in answer.content.decode()) == (status, True)
    assert Corpus.objects.filter(name="Summer").count() == 1


def test_only_leads_and_admins_make_collections() -> None:
    address = reverse("judging:collection-new")
    for stranger in (annotator(ProjectFactory()), UserFactory()):
        assert logged_in(stranger).post(address, {"name": "x"}).status_code == 403
    assert Client().post(address).headers["Location"] == f"{reverse('login')}?next={address}"
    assert logged_in(lead(ProjectFactory()), enforce_csrf_checks=True).post(address, {"name": "x"}).status_code == 403
    assert not Corpus.objects.filter(name="x").exists()


def test_only_over_a_corpus_within_reach() -> None:
    mine = ProjectFactory()
    person, placeholder = lead(mine), ProjectFactory(corpus__is_placeholder=True)
    of_others = [imported(lead(ProjectFactory())), CorpusFactory()]
    of_others += [ProjectFactory().dataset.corpus, placeholder.dataset.corpus]
    assert {logged_in(person).post(url(corpus), {"name": "x"}).status_code for corpus in of_others} == {404}
    assert logged_in(person).get(reverse("judging:project-new", args=[uuid4()])).status_code == 404
    for stranger in (annotator(mine), UserFactory()):
        assert logged_in(stranger).post(url(mine.dataset.corpus), {"name": "x"}).status_code == 403
    assert not Project.objects.filter(name="x").exists()
    address = url(mine.dataset.corpus)
    assert Client().post(address).headers["Location"] == f"{reverse('login')}?next={address}"
    assert logged_in(person, enforce_csrf_checks=True).post(address, {"name": "x"}).status_code == 403


def test_a_corpus_of_an_import_is_its_owners_until_others_have_a_project_over_it() -> None:
    owner, other = lead(ProjectFactory()), lead(ProjectFactory())
    corpus = imported(owner)
    ProjectFactory(corpus=corpus).memberships.create(user=other, roles=["lead"])
    assert logged_in(owner).get(url(corpus)).status_code == 404
    assert logged_in(other).get(url(corpus)).status_code == 200
    assert [may_import_into(actor=person, corpus_name=corpus.name) for person in (owner, other)] == [False, True]


def test_a_name_that_cannot_be() -> None:
    project = ProjectFactory(name="taken")
    browser = logged_in(lead(project))
    for name, status, words in (("", 422, "Name the project."), (" taken", 409, "already")):
        answer = browser.post(url(project.dataset.corpus), {"name": name})
        assert (answer.status_code, words in answer.content.decode()) == (status, True)
    assert Project.objects.count() == 1


def test_a_name_that_is_free_is_suggested() -> None:
    project = ProjectFactory()
    Corpus.objects.filter(pk=project.dataset.corpus_id).update(name="Winter")
    for name in ("Winter", "Winter 2"):
        ProjectFactory(name=name)
    assert 'value="Winter 3"' in logged_in(lead(project)).get(url(project.dataset.corpus)).content.decode()
    assert project_name_free(base_name="Spring") == "Spring"


class TestAsACopy:
    def test_with_queries_of_a_project_of_mine(self) -> None:
        source = ProjectFactory()
        QueryFactory(project=source, text="A man sits")
        person = lead(source)
        page = logged_in(person).get(url(source.dataset.corpus)).content.decode()
        assert f'value="{source.uuid}" data-same' in page
        assert f"as in {source.name}" in page and "What is copied and what is not" in page
        form = {"name": "copy", "settings_of": str(source.uuid), "with_queries": "on"}
        answer = logged_in(person).post(url(source.dataset.corpus), form, follow=True)
        new_project = Project.objects.get(name="copy")
        assert answer.status_code == 200
        assert list(new_project.queries.values_list("text", flat=True)) == ["A man sits"]
        assert logged_in(person).get(reverse("annotation:splits", args=[new_project.uuid])).status_code == 200

    def test_with_its_rules_and_no_others(self) -> None:
        rules = PRESETS["yes-or-no"][1]
        source, _ = project_create(name="source", corpus=CorpusFactory(), sizes=None, rules=rules)
        form = {"name": "copy", "settings_of": str(source.uuid)}
        client, address = logged_in(lead(source)), url(source.dataset.corpus)
        answer = client.post(address, form | {"rules": "tvr-ranking"})
        assert answer.status_code == 422 and "are for its own rules" in answer.context["form"].errors["rules"][0]
        client.post(address, form | {"rules": ""})
        assert rules_of(Project.objects.get(name="copy")) == rules_of(source)

    def test_not_of_others_nor_queries_of_another_corpus_or_of_nobody(self) -> None:
        mine, elsewhere = ProjectFactory(), ProjectFactory()
        person = lead(mine)
        elsewhere.memberships.create(user=person, roles=["lead"])
        of_others = ProjectFactory()
        form = {"name": "copy", "settings_of": str(of_others.uuid)}
        answer = logged_in(person).post(url(mine.dataset.corpus), form)
        assert (answer.status_code, of_others.name in answer.content.decode()) == (422, False)
        for source in ("", str(elsewhere.uuid)):
            form = {"name": "copy", "settings_of": source, "with_queries": "on"}
            answer = logged_in(person).post(url(mine.dataset.corpus), form)
            assert (answer.status_code, "same corpus" in answer.content.decode()) == (422, True)
        assert not Project.objects.filter(name="copy").exists()
