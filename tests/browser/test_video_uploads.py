"""Videos through the browser: several at once, one that breaks off and goes on, paused, cancelled, discarded."""

from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, Response, Route, expect
from pytest_django import Settings

from accounts.models import Project
from annotation.corpora.services.video_uploads import video_part_add
from annotation.models import Video, VideoPart, VideoUpload
from tests import factories
from tests.browser import acts
from tests.browser.axe import barriers
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints
from tests.media import padded

PIECE = 1500
UPLOADS = "**/corpora/uploads/**"
READ_ANEW = "htmx.ajax('GET', location.pathname, {source: '#collection', select: '#collection', swap: 'outerHTML'})"


@pytest.fixture
def films(tmp_path_factory: pytest.TempPathFactory, clip: bytes, settings: Settings) -> list[Path]:
    """Two small films of several pieces."""
    settings.VIDEO_PIECE_BYTES = PIECE
    assert len(clip) > 3 * PIECE
    folder = tmp_path_factory.mktemp("films")
    paths = [folder / "first.mp4", folder / "second.mp4"]
    for number, path in enumerate(paths):
        path.write_bytes(padded(clip, number))
    return paths


class Pieces(Counter[tuple[str, int]]):
    """How often the server has taken the piece at an offset of an upload."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        page.on("response", self.on_response)

    def on_response(self, response: Response) -> None:
        if response.request.method == "PATCH" and response.status == 204:
            self[response.url.rsplit("/", 2)[1], int(response.request.headers["upload-offset"])] += 1


def open_corpus(browse: Browse, project: Project) -> Page:
    page = browse(factories.lead(project))
    page.goto(reverse("annotation:corpus", args=[project.uuid]))
    return page


def choose(page: Page, *paths: Path) -> None:
    page.get_by_label("Choose videos").set_input_files(paths)


def own_row(page: Page, name: str) -> Locator:
    """The row of an upload of this page."""
    return page.get_by_role("list", name="Uploads of this page").get_by_role("listitem").filter(has_text=name)


def site_row(page: Page, name: str) -> Locator:
    """The row of what the site has of a file."""
    return page.locator("#collection [data-upload]").filter(has_text=name)


def is_of(route: Route, name: str) -> bool:
    row = VideoUpload.objects.filter(name=name).first()
    return row is not None and str(row.uuid) in route.request.url


def test_two_at_once_of_which_one_breaks_off_and_goes_on(browse: Browse, films: list[Path], clip: bytes) -> None:
    project = acts.project()
    page = open_corpus(browse, project)
    page.clock.install()
    expect(page.get_by_role("heading", name="No video yet")).to_be_visible()
    pieces = Pieces(page)

    def cut_off(route: Route) -> None:
        offset = int(route.request.headers.get("upload-offset", "0"))
        if route.request.method == "PATCH" and offset >= PIECE and is_of(route, "second"):
            route.abort()
        else:
            route.continue_()

    acts.catch(page, UPLOADS, cut_off)
    choose(page, *films)
    expect(site_row(page, "first.mp4")).to_contain_text("4.00 s, 6 frames a second")
    fault = own_row(page, "second.mp4").get_by_text("The connection broke. Resume goes on")

    def tried_often() -> bool:
        page.clock.run_for(1000)
        return fault.is_visible()

    acts.wait_until(tried_often)
    assert barriers(page) == []
    broken = VideoUpload.objects.get(name="second")
    assert (broken.offset, broken.state) == (PIECE, "uploading")

    page.unroute(UPLOADS)
    page.on("filechooser", lambda chooser: chooser.set_files(films[1]))  # before the reload: Chromium needs a moment
    page.reload()
    expect(site_row(page, "second.mp4")).to_contain_text(f"{100 * PIECE // len(clip)} % is here")
    assert barriers(page) == []
    again = site_row(page, "second.mp4").get_by_role("button", name="Choose the file")
    expect(again).to_be_visible()
    again.focus()
    page.keyboard.press("Enter")
    expect(site_row(page, "second.mp4")).to_contain_text("added")
    expect(page.get_by_role("link", name="Import moments")).to_be_visible()

    offsets = range(0, len(padded(clip, 0)), PIECE)
    uuids = [str(row.uuid) for row in VideoUpload.objects.all()]
    assert pieces == {(uuid, offset): 1 for uuid in uuids for offset in offsets}  # none was sent twice
    videos = Video.objects.order_by("name")
    assert [(video.name, round(video.duration_s, 2), video.file.read()[: len(clip)] == clip) for video in videos] == [
        ("first", 4.0, True),
        ("second", 4.0, True),
    ]
    assert not VideoPart.objects.exists()


def test_an_upload_is_paused_resumed_and_another_cancelled(browse: Browse, films: list[Path]) -> None:
    page = open_corpus(browse, acts.project())
    complaints = Complaints(page)
    stopped: list[Route] = []

    def stop_at_the_second_piece(route: Route) -> None:
        is_second = route.request.headers.get("upload-offset") == str(PIECE)
        stopped.append(route) if route.request.method == "PATCH" and is_second else route.continue_()

    acts.catch(page, UPLOADS, stop_at_the_second_piece)
    choose(page, *films)
    acts.wait_until(lambda: page.evaluate("true") and len(stopped) == 2)  # asking the page lets requests come
    expect(own_row(page, "first.mp4")).to_contain_text(" KB of ")
    own_row(page, "second.mp4").get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(own_row(page, "second.mp4")).to_have_count(0)
    acts.wait_until(lambda: not VideoUpload.objects.filter(name="second").exists())
    expect(page.get_by_role("status")).to_contain_text("second.mp4 was cancelled.")
    expect(site_row(page, "first.mp4")).to_be_hidden()  # it is shown above

    own_row(page, "first.mp4").get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(own_row(page, "first.mp4")).to_contain_text("paused")
    page.unroute(UPLOADS)
    own_row(page, "first.mp4").get_by_role("button", name="Resume").focus()
    page.keyboard.press("Enter")
    expect(site_row(page, "first.mp4")).to_contain_text("added")
    assert Video.objects.get().file.read() == films[0].read_bytes()
    cut_off = ("/corpora/uploads/", "Failed to load resource")  # by this test, and by Pause
    assert [line for line in complaints if not any(words in line for words in cut_off)] == []


def test_a_refusal_is_shown_and_a_part_is_discarded(browse: Browse, films: list[Path]) -> None:
    project = acts.project()
    old = factories.VideoUploadFactory(project=project, name="old", offset=45)
    page = open_corpus(browse, project)
    notes = films[0].with_name("notes.txt")
    notes.write_text("no film")
    choose(page, notes)
    expect(own_row(page, "notes.txt")).to_contain_text("notes.txt is no video by its name")
    own_row(page, "notes.txt").get_by_role("button", name="Remove").click()
    changed = films[0].with_name("old.MP4")  # the server keeps endings in lower case
    changed.write_bytes(b"x" * 100)
    choose(page, changed)
    expect(own_row(page, "old.MP4")).to_contain_text("old.MP4 has changed since its upload began.")
    site_row(page, "old.mp4").get_by_role("button", name="Discard").click()
    expect(site_row(page, "old.mp4")).to_have_count(0)
    assert not VideoUpload.objects.filter(pk=old.pk).exists()
    own_row(page, "old.MP4").get_by_role("button", name="Resume").click()
    expect(site_row(page, "old.mp4")).to_contain_text("The file is corrupt or not a video.")
    site_row(page, "old.mp4").get_by_role("button", name="Dismiss").click()
    expect(site_row(page, "old.mp4")).to_have_count(0)


def test_buttons_of_uploads_show_that_they_wait(browse: Browse, films: list[Path]) -> None:
    """Each answer is held back: the button waits, is sent once, and another try is open where the answer is lost."""
    project = acts.project()
    factories.VideoUploadFactory(project=project, name="part", offset=45)
    factories.VideoUploadFactory(project=project, name="broken", offset=100, state="failed", error="It is no video.")
    page = open_corpus(browse, project)
    deletions: list[Route] = []

    def hold(route: Route) -> None:
        method = route.request.method
        deletions.append(route) if method == "DELETE" else route.abort() if method == "PATCH" else route.continue_()

    acts.catch(page, UPLOADS, hold)

    def press(button: Locator) -> Route:
        button.click()
        acts.wait_until(lambda: page.evaluate("true") and deletions)  # asking the page lets requests come
        expect(button).to_have_attribute("aria-busy", "true")
        expect(button).to_be_disabled()
        return deletions.pop()

    for name, label in (("part.mp4", "Discard"), ("broken.mp4", "Dismiss")):
        row, button = site_row(page, name), site_row(page, name).get_by_role("button", name=label)
        press(button).abort()
        expect(page.get_by_role("status")).to_contain_text(f"{name} could not be discarded; try it again.")
        expect(button).to_be_enabled()
        assert button.get_attribute("aria-busy") is None
        route = press(button)
        page.evaluate(READ_ANEW)
        expect(button).to_be_disabled()  # in the list that was read anew, too
        route.continue_()
        expect(row).to_have_count(0)
    choose(page, films[0])
    acts.wait_until(lambda: VideoUpload.objects.filter(name="first").exists())
    route = press(own_row(page, "first.mp4").get_by_role("button", name="Cancel"))
    expect(own_row(page, "first.mp4").get_by_role("button", name="Pause")).to_be_disabled()
    route.continue_()
    expect(own_row(page, "first.mp4")).to_have_count(0)
    assert not VideoUpload.objects.exists()


def test_a_file_whose_part_is_not_listed_goes_on(browse: Browse, films: list[Path]) -> None:
    project = acts.project()
    film = films[0].read_bytes()
    modified = {"modified_ms": int(films[0].stat().st_mtime * 1000)}
    first = factories.VideoUploadFactory(project=project, name="first", size=len(film), **modified)
    video_part_add(upload=first, offset=0, read=BytesIO(film[:PIECE]).read)
    for _ in range(12):
        factories.VideoUploadFactory(project=project, offset=50)
    page = open_corpus(browse, project)
    pieces = Pieces(page)
    expect(page.get_by_text("10 of 13 uploads on their way are listed.")).to_be_visible()
    expect(site_row(page, "first.mp4")).to_have_count(0)
    assert barriers(page) == []
    choose(page, films[0])
    expect(site_row(page, "first.mp4")).to_contain_text("added")
    assert pieces == {(str(first.uuid), offset): 1 for offset in range(PIECE, len(film), PIECE)}
    page.get_by_role("link", name="Those on their way").click()
    expect(page.locator("#uploads li")).to_have_count(12)


def test_without_javascript_the_page_names_the_command(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.lead(project), java_script_enabled=False)
    page.goto(reverse("annotation:corpus", args=[project.uuid]))
    expect(page.get_by_text("Uploading videos needs JavaScript.")).to_contain_text("manage.py add_videos --corpus")
    expect(page.get_by_label("Choose videos")).to_be_hidden()


def test_subtitles_wait_for_their_video_and_replace_what_it_has(browse: Browse, films: list[Path]) -> None:
    project = acts.project()
    page = open_corpus(browse, project)
    lines, others = films[0].with_suffix(".srt"), films[0].with_name("nobody.vtt")
    lines.write_text("1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
    others.write_text("WEBVTT\n\n00:03.000 --> 00:02.000\nBack.\n")
    choose(page, lines, others, films[0])
    expect(own_row(page, "nobody.vtt")).to_contain_text("The corpus has no video nobody.")
    expect(own_row(page, "first.srt")).to_contain_text("1 subtitle of first added.")
    others.rename(films[0].with_suffix(".vtt"))
    choose(page, films[0].with_suffix(".vtt"))
    expect(own_row(page, "first.vtt")).to_contain_text("first.vtt, line 3: time starts at 3 s")
    choose(page, lines)
    expect(own_row(page, "first.srt")).to_contain_text("1 subtitle of first replaces the 1 that it had.")
    assert barriers(page) == []
    own_row(page, "nobody.vtt").get_by_role("button", name="Remove").click()
    expect(own_row(page, "nobody.vtt")).to_have_count(0)


def test_a_video_gets_another_file_on_its_own_page(browse: Browse, films: list[Path], clip: bytes) -> None:
    project = acts.project()
    page = open_corpus(browse, project)
    choose(page, films[0])
    expect(site_row(page, "first.mp4")).to_contain_text("added")
    page.goto(reverse("annotation:video", args=[project.uuid, Video.objects.get().uuid]))
    page.get_by_role("link", name="Replace its file").click()
    page.get_by_label("Choose the new file").set_input_files(films[1])
    expect(site_row(page, "first.mp4")).to_contain_text("replaced")
    assert Video.objects.get().file.read() == films[1].read_bytes()
    assert barriers(page) == []
