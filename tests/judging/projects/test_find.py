"""Finding queries, videos, people, pages and help by what is typed."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import Identity, Membership, Project
from judging.projects.find import SHOWN, find_named, help_paragraphs
from tests.factories import BatchFactory, MembershipFactory, QueryFactory, VideoFactory, admin, annotator, lead

pytestmark = pytest.mark.django_db


def hit_titles(project: Project, words: str, roles: str = "lead") -> dict[str, list[str]]:
    member = project.memberships.filter(roles=[roles]).first() or MembershipFactory(project=project, roles=[roles])
    return {section.label: [hit.title for hit in section.rows] for section in find_named(member, words)}


def test_queries_by_text_and_number(project: Project) -> None:
    query = QueryFactory(project=project, text="A man pours coffee.", number=4711)
    BatchFactory(query=query)
    BatchFactory(query=query, number=2)
    QueryFactory(project=project, text="Nobody judges coffee.", number=4712, split="train")
    BatchFactory(query__text="Coffee of another project.")
    assert hit_titles(project, "COFFEE") == {"Queries": ["A man pours coffee.", "Nobody judges coffee."]}
    member = MembershipFactory(project=project, roles=["admin"])
    (section,) = find_named(member, "coffee")
    batch = query.batches.get(number=2)
    assert [(hit.hint, hit.url.partition("?")[0]) for hit in section.rows] == [
        ("query 4711, open", reverse("judging:batch", args=[batch.uuid])),
        ("query 4712, train", reverse("annotation:splits", args=[project.uuid])),
    ]
    assert hit_titles(project, "4711") == {"Queries": ["A man pours coffee."]}
    assert hit_titles(project, "9" * 30) == {}


def test_videos_of_the_project_alone(project: Project) -> None:
    VideoFactory(corpus=project.dataset.corpus, name="kitchen_7")
    VideoFactory(name="kitchen_8")
    assert hit_titles(project, "kitchen") == {"Videos": ["kitchen_7"]}


def test_people_are_found_by_leads_alone(project: Project) -> None:
    person = annotator(project, username="wren-77")
    number = project.memberships.get(user=person).number
    assert hit_titles(project, "wren") == {"People": ["wren-77"]}
    assert hit_titles(project, "wren", "admin") == {}
    assert "People" in hit_titles(project, str(number))


def test_leads_admins_and_participants_are_found_by_leads_alone(project: Project) -> None:
    """By user name, name or address; they are listed on one page. Annotators come first."""
    person = annotator(project, username="wren-4")
    for roles in (["participant"], ["lead", "admin"]):
        MembershipFactory(project=project, roles=roles, user__username=f"wren-{roles[0]}")
    MembershipFactory(roles=["participant"], user__username="wren-elsewhere")
    jenny = MembershipFactory(project=project, roles=["admin"], user__username="owl")
    Identity.objects.create(user=jenny.user, name="Jenny Wren", email="jenny@example.org")
    (section,) = find_named(MembershipFactory(project=project, roles=["lead"]), "WREN")
    people = reverse("judging:people", args=[project.uuid])
    number = project.memberships.get(user=person).number
    assert section.rows == [
        ("wren-4", reverse("judging:person", args=[project.uuid, number]), f"annotator {number}, qualified"),
        ("Jenny Wren", f"{people}#staff", "admin"),
        ("wren-lead", f"{people}#staff", "lead, admin"),
        ("wren-participant", f"{people}#staff", "participant"),
    ]
    assert hit_titles(project, "jenny@") == {"People": ["Jenny Wren"]}
    for role in ("admin", "annotator", "participant"):
        assert hit_titles(project, "wren", role) == {}


def test_pages_and_help(project: Project) -> None:
    assert hit_titles(project, "leaderb")["Pages"] == ["Leaderboard"]
    assert hit_titles(project, "further annotators")["Help"] == [
        paragraph.text for paragraph in help_paragraphs() if "further annotators" in paragraph.text
    ]
    assert {paragraph.part for paragraph in help_paragraphs()} == {
        *("annotators", "writers", "checkers", "leads", "admins", "leaderboard", "programs")
    }


def test_a_link_leads_to_those_that_are_not_listed(project: Project) -> None:
    for number in range(SHOWN + 1):
        VideoFactory(corpus=project.dataset.corpus, name=f"roof {number}")
    (section,) = find_named(MembershipFactory(project=project, roles=["lead"]), "roof")
    assert (len(section.rows), section.more.endswith("?q=roof")) == (SHOWN, True)


class TestPage:
    def test_a_list_for_the_dialog_and_a_page_for_the_link(self, client: Client, project: Project) -> None:
        VideoFactory(corpus=project.dataset.corpus, name="<b>attic</b>")
        client.force_login(lead(project))
        url = reverse("judging:find", args=[project.uuid])
        part = client.get(url, {"q": "attic"}, headers={"HX-Request": "true"}).content.decode()
        assert "&lt;b&gt;attic&lt;/b&gt;" in part
        assert "<html" not in part
        whole = client.get(url, {"q": "attic"}).content.decode()
        assert 'value="attic"' in whole
        assert whole.count('id="find-words"') == 1
        assert "Type a word" in client.get(url, {"q": "\0 "}).content.decode()
        assert "Nothing holds <b>zzz</b>" in client.get(url, {"q": "zzz"}).content.decode()

    @pytest.mark.parametrize(("roles", "status"), [(["annotator"], 403), (["participant"], 403), (["admin"], 200)])
    def test_for_staff_alone(self, client: Client, project: Project, roles: list[str], status: int) -> None:
        member: Membership = MembershipFactory(project=project, roles=roles)
        client.force_login(member.user)
        assert client.get(reverse("judging:find", args=[project.uuid]), {"q": "a"}).status_code == status

    def test_its_statements_do_not_grow(
        self, client: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        for number in range(SHOWN):
            VideoFactory(corpus=project.dataset.corpus, name=f"a {number}")
            annotator(project, username=f"a {number}")
            BatchFactory(query__project=project, query__text=f"a {number}")
        client.force_login(admin(project))
        with django_assert_max_num_queries(8):
            client.get(reverse("judging:find", args=[project.uuid]), {"q": "a"})
