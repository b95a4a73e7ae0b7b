"""Pages of releases: the list, one of them, what changed, what they say; grades as CSV."""

import re
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from accounts.models import Project
from annotation.models import Corpus
from judging.models import Judgment, Pair, Release, ReleaseComparison, ReleaseWords
from judging.releases.services import release_build, release_compare, release_comparison_of, release_create
from tests.factories import NOW, ProjectFactory, admin, lead, triggers_asleep
from tests.judging.api.acts import Program
from tests.judging.views.acts import url

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def browser(client: Client, project: Project) -> Client:
    client.force_login(lead(project))
    return client


@pytest.fixture
def ready(project: Project) -> Release:
    return release_build(release_id=release_create(project=project, actor=None).pk)


def text(browser: Client, name: str, row: object, **more: object) -> str:
    answer = browser.get(url(name, row), more)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_says_what_would_be_missing_and_what_is(browser: Client, project: Project, ready: Release) -> None:
    page = text(browser, "releases", project)
    assert "2 queries are not finished. A release made now is marked partial" in page
    for fragment in ('<span class="state partial">', ready.archive_sha256, url("release", ready)):
        assert fragment in page
    empty = ProjectFactory()
    browser.force_login(lead(empty))
    page = text(browser, "releases", empty)
    assert "No release yet" in page
    assert "marked partial" not in page


def test_one_at_work_asks_how_far_it_is(browser: Client, project: Project) -> None:
    release = Release.objects.create(project=project, version=9, step="training", done=20, total=60)
    page = browser.get(url("releases", project), headers={"HX-Request": "true"}).content.decode()
    assert f'hx-select="#release-{release.uuid}"' in page
    assert "Ranking training queries: 20 of 60" in page
    assert '<progress value="20" max="60"' in page
    assert "<h1>" not in page


def test_its_form_makes_one_however_often_it_is_sent(browser: Client, project: Project) -> None:
    def send(**form: str) -> str:
        return browser.post(url("release-create", project), form, follow=True).content.decode()

    key = key_in(text(browser, "releases", project))
    for _ in range(2):
        assert "Release 1 was started." in send(key=key)
    assert "This form made another release already" in send(key=key, anonymise="on")
    assert "The key of this form cannot be read" in send(key="odd")
    assert project.releases.count() == 1
    release_build(release_id=project.releases.get().pk)
    late = send(key=key)
    assert "Release 1 was made before." in late
    send(key=key_in(late))
    assert project.releases.count() == 2


def key_in(page: str) -> str:
    (value,) = re.findall('name="key" value="([^"]+)"', page)
    return str(value)


def test_a_failed_one_says_why_and_is_tried_again_by_a_lead_and_not_by_an_admin(
    browser: Client, project: Project
) -> None:
    release = Release.objects.create(project=project, version=9, state="failed", error="The disk is full")
    page = text(browser, "releases", project)
    assert "The disk is full" in page
    assert url("release-retry", release) in page
    browser.force_login(admin(project))
    for page in (text(browser, "releases", project), text(browser, "release", release)):
        assert "The disk is full" in page
        assert url("release-create", project) not in page
        assert url("release-retry", release) not in page
    assert url("judgments-csv", project) in text(browser, "releases", project)
    browser.force_login(lead(project))
    assert browser.post(url("release-retry", release)).status_code == 302
    release.refresh_from_db()
    assert release.state == "preparing"
    assert "is preparing already" in browser.post(url("release-retry", release), follow=True).content.decode()


def test_one_shows_its_files_and_its_datasheet(browser: Client, ready: Release) -> None:
    page = text(browser, "release", ready)
    for name, file in ready.manifest["files"].items():
        assert f"<code>{name}</code>" in page
        assert file["sha256"] in page
    with ZipFile(ready.archive) as archive:
        assert all(f"<code>{name}</code>" in page for name in archive.namelist())
    assert "<h2>Composition</h2>" in page
    assert "the first batch is done; a lead decides about a second" in page
    assert ready.content_sha256 in page
    words = "this release has no ground truth, so no run can be scored on it"
    assert words not in page
    Corpus.objects.filter(pk=ready.project.dataset.corpus_id).update(is_placeholder=True)
    assert words in text(browser, "release", ready)
    assert "Nothing to compare with" in text(browser, "release-changes", ready)
    assert browser.get(url("release-changes-csv", ready)).status_code == 302


def write_archive(release: Release, content: bytes) -> None:
    release.archive.storage.delete(release.archive.name)
    assert release.archive.storage.save(release.archive.name, ContentFile(content)) == release.archive.name


def damaged(release: Release) -> bytes:
    """The archive with another bit; its size is what it was."""
    with release.archive.open("rb") as source:
        content = bytearray(source.read())
    content[len(content) // 2] ^= 1
    return bytes(content)


def test_an_archive_that_is_not_the_one_released_is_not_handed_out(browser: Client, ready: Release) -> None:
    for content in (damaged(ready), b"something else"):
        write_archive(ready, content)
        answer = browser.get(url("release-download", ready))
        assert answer.status_code == 409
        assert "not the one that was released" in answer.content.decode()
    assert "no datasheet that could be shown" in text(browser, "release", ready)
    ready.archive.storage.delete(ready.archive.name)
    answer = browser.get(url("release-download", ready))
    assert answer.status_code == 409
    assert "The archive is not in the storage" in answer.content.decode()
    assert "no datasheet that could be shown" in text(browser, "release", ready)


def test_a_datasheet_that_was_changed_is_not_shown(browser: Client, ready: Release) -> None:
    with ready.archive.open("rb") as source, ZipFile(source) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["datasheet.md"] = contents["datasheet.md"].replace(b"Composition", b"Decomposition")
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    write_archive(ready, buffer.getvalue())
    page = text(browser, "release", ready)
    assert "Decomposition" not in page
    assert "no datasheet that could be shown" in page


def made_of(before: Release, after: Release) -> ReleaseComparison:
    row = release_comparison_of(before=before, after=after, now=NOW)
    release_compare(comparison_id=row.pk)
    row.refresh_from_db()
    return row


def test_an_archive_older_than_checksums_is_whole_or_not_read(browser: Client, ready: Release) -> None:
    with triggers_asleep():
        Release.objects.filter(pk=ready.pk).update(archive_sha256="", archive_bytes=0)
    assert browser.get(url("release-download", ready)).status_code == 200
    write_archive(ready, damaged(ready))
    assert browser.get(url("release-download", ready)).status_code == 409


class TestChanges:
    @pytest.fixture
    def two(self, ready: Release) -> Release:
        """A second release in which a pair of query 10 was taken out."""
        pair = Pair.objects.filter(batch__query__number=10, relevance=2)
        with triggers_asleep():
            pair.update(state="withdrawn", relevance=None, reason="withdrawn_by_lead")
        return release_build(release_id=release_create(project=ready.project, actor=None).pk)

    def test_the_page_waits_while_a_task_compares(self, browser: Client, ready: Release, two: Release) -> None:
        for _ in range(2):
            page = text(browser, "release-changes", two)
            assert "Comparing both releases" in page
            assert f'hx-get="{url("release-changes", two)}?before={ready.uuid}' in page
        assert browser.get(url("release-changes-csv", two)).status_code == 302
        row = ReleaseComparison.objects.get(before=ready, after=two)
        release_compare(comparison_id=row.pk)
        release_compare(comparison_id=row.pk)  # a message that came twice
        assert row.changes.count() == 1
        made_of(two, ready)
        for release in (ready, two):
            release.archive.storage.delete(release.archive.name)  # pages read no archives
        page = text(browser, "release-changes", two)
        assert f"What changed from release {ready.version} to {two.version}" in page
        assert '<span class="state dropped">dropped</span></td><td>2</td><td>withdrawn</td>' in page
        assert "<td>withdrawn</td><td>2</td>" in text(browser, "release-changes", ready, before=str(two.uuid))
        assert "No such change" in text(browser, "release-changes", two, kind="added")
        for kind in ("dropped", "unheard of"):
            assert "<td>withdrawn</td>" in text(browser, "release-changes", two, kind=kind)
        answer = browser.get(url("release-changes-csv", two))
        head, line = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert head == '"kind","query_id","query","pair_id","moment","rank","before","after"'
        assert line.startswith('"dropped",10,"a person sings",')
        for before in ("nonsense", "00000000-0000-4000-8000-000000000000"):
            assert browser.get(url("release-changes", two), {"before": before}).status_code == 404

    def test_an_archive_that_is_gone(self, browser: Client, ready: Release, two: Release) -> None:
        ready.archive.storage.delete(ready.archive.name)
        comparison = made_of(ready, two)
        assert comparison.state == "failed"
        assert "is not in the storage" in text(browser, "release-changes", two)
        ReleaseComparison.objects.filter(pk=comparison.pk).update(moved_at=NOW)
        assert "Comparing both releases" in text(browser, "release-changes", two)


def test_a_lead_writes_the_words_and_an_admin_reads_them(browser: Client, project: Project) -> None:
    answer = browser.post(url("release-words-save", project), {"url": "not an address"})
    assert (answer.status_code, "Enter a valid URL" in answer.content.decode()) == (422, True)
    answer = browser.post(url("release-words-save", project), {"licence": "CC BY 4.0", "uses": "Search."})
    assert answer.status_code == 302
    release_words = ReleaseWords.objects.get(project=project)
    assert (release_words.licence, release_words.uses, release_words.contact) == ("CC BY 4.0", "Search.", "")
    assert 'value="CC BY 4.0"' in text(browser, "release-words", project)
    browser.force_login(admin(project))
    assert "<fieldset disabled>" in text(browser, "release-words", project)


def test_all_final_grades_as_csv_and_releases_by_the_api(browser: Client, project: Project, ready: Release) -> None:
    answer = browser.get(url("judgments-csv", project))
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    head, *rows = content.decode().splitlines()
    assert head == "query_id,pair_id,worker,relevance,round,seat,position,guideline,policy,source"
    final = Judgment.objects.filter(pair__batch__project=project).exclude(assignment__state="open")
    assert len(rows) == final.count() == 16
    query, _, *cells = rows[0].split(",")
    assert (query, cells[:4], cells[5:]) == ("10", ["101", "4", "1", "1"], ["1", "1", "person"])
    program = Program(admin(project))
    assert program.get("judgments-csv", project).getvalue() == content  # type: ignore[attr-defined]
    (data,) = program.get("releases", project).json()["results"]
    assert (data["version"], data["is_partial"], data["counts"]["judgments"]) == (ready.version, True, 14)
    archive = program.client.get(data["archive"]["url"])
    assert len(archive.getvalue()) == data["archive"]["bytes"]  # type: ignore[attr-defined]
