"""The clip: the next one is there at once, it can be paused and scrubbed, and what cannot be shown is said."""

import re

import pytest
from playwright.sync_api import expect

from judging.models import Judgment
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse

MEASURE = """
window.swaps = [];
document.addEventListener("htmx:beforeSwap", () => {
  const swap = { over: false };
  window.swaps.push(swap);
  setTimeout(() => (swap.over = true));
});
document.addEventListener("clip:shown", () => {
  const swap = window.swaps.at(-1);
  if (swap) swap.atOnce = !swap.over;
});
"""


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_the_next_three_clips_are_loaded_ahead_and_shown_without_asking(
    browse: Browse, clip: bytes, server_log: list[str], kind: str
) -> None:
    batch = acts.batch(acts.project(), pairs=6, **acts.media_of(kind, clip))  # type: ignore[arg-type]
    page = browse(factories.annotator(batch.project))
    page.add_init_script(MEASURE)
    acts.start(page, batch.project)
    for position in range(1, 6):
        acts.arrive(page, position, 6)
        page.wait_for_load_state("networkidle")
        loaded = previews(server_log)
        assert len(loaded) == min(position + 3, 6)
        assert all(address.endswith(kind) for address in loaded)
        page.keyboard.press("2")
        acts.arrive(page, position + 1, 6)
        current = page.locator(".clip").get_attribute(f"data-{kind}")
        assert current in loaded
    page.wait_for_load_state("networkidle")
    assert len(previews(server_log)) == 6  # each was asked for
    assert sum("/previews/" in line for line in server_log) <= (6 if kind == "gif" else 12)  # an MP4 may come in parts
    swaps = page.evaluate("window.swaps")
    assert [swap["atOnce"] for swap in swaps] == [True] * 5  # in the very task that shows the pair


def previews(requests: list[str]) -> set[str]:
    return {line.removeprefix("GET ") for line in requests if "/previews/" in line}


def test_grading_is_one_request(browse: Browse, server_log: list[str]) -> None:
    page, _ = acts.judging(browse, media={"gif": acts.moving_gif()})
    page.wait_for_load_state("networkidle")
    del server_log[:]
    page.keyboard.press("2")
    acts.arrive(page, 2)
    page.wait_for_load_state("networkidle")
    assert [line.split("/")[-2] for line in server_log] == ["grade"]


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_a_clip_can_be_paused_and_scrubbed_by_pointer_and_by_key(browse: Browse, clip: bytes, kind: str) -> None:
    page, _ = acts.judging(browse, media=acts.media_of(kind, clip))
    time = page.locator(".controls output")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    slider = page.get_by_role("slider", name="Time in the clip")
    slider.fill("3")
    expect(time).to_have_text("3.0 of 4.0 s")
    expect(slider).to_have_attribute("aria-valuetext", "3.0 of 4.0 s")
    slider.press("ArrowLeft")
    expect(time).to_have_text("2.9 of 4.0 s")
    page.locator(".clip .moment").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Replay").click()
    expect(time).to_have_text(re.compile(r"^0\.\d of"))
    slider.press("3")  # digits grade, wherever the focus is on the clip's row
    acts.arrive(page, 2)
    assert Judgment.objects.get().grade == 3


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_who_wants_no_motion_starts_the_clip_themselves(browse: Browse, clip: bytes, kind: str) -> None:
    page, _ = acts.judging(browse, media=acts.media_of(kind, clip), reduced_motion="reduce")
    play = page.get_by_role("button", name="Play", exact=True)
    expect(page.locator(".controls output")).to_have_text("0.0 of 4.0 s")
    play.click()
    expect(page.locator(".controls output")).to_have_text(re.compile(r"^1\.\d of"))
    page.get_by_role("button", name="Pause").click()
    page.keyboard.press("2")
    acts.arrive(page, 2)
    expect(page.locator(".controls output")).to_have_text("0.0 of 4.0 s")
    expect(play).to_be_visible()


def test_a_browser_without_frames_plays_pauses_and_replays_the_gif(browse: Browse, server_log: list[str]) -> None:
    batch = acts.batch(acts.project(), gif=acts.moving_gif())
    page = browse(factories.annotator(batch.project))
    page.add_init_script("delete window.ImageDecoder")
    acts.start(page, batch.project)
    picture = page.locator(".clip div.moment > *")
    expect(picture).to_have_js_property("tagName", "IMG")
    page.wait_for_load_state("networkidle")
    del server_log[:]
    page.keyboard.press("Space")
    page.keyboard.press("p")
    expect(picture).to_have_js_property("tagName", "CANVAS")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(picture).to_have_js_property("tagName", "IMG")
    expect(page.get_by_role("slider")).to_have_count(0)
    assert server_log == []


def test_an_mp4_that_does_not_play_is_replaced_by_the_gif(browse: Browse) -> None:
    page, _ = acts.judging(browse, media={"gif": acts.moving_gif(), "mp4": b"no film"})
    expect(page.locator(".clip canvas.moment")).to_be_visible()
    page.keyboard.press("2")
    acts.arrive(page, 2)
    expect(page.locator(".clip canvas.moment")).to_be_visible()
    expect(page.get_by_text("could not be loaded")).to_be_hidden()


def test_a_clip_that_cannot_be_loaded_is_reported_and_can_be_tried_again(browse: Browse) -> None:
    batch = acts.batch(acts.project(), gif=acts.moving_gif())
    page = browse(factories.annotator(batch.project))
    page.route("**/*.gif", lambda route: route.abort())
    acts.start(page, batch.project)
    notice = page.get_by_role("alert").filter(has_text="The clip could not be loaded")
    expect(notice).to_be_visible()
    page.unroute("**/*.gif")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".clip canvas.moment")).to_be_visible()
    expect(notice).to_have_count(0)


def test_many_clips_on_one_page_stand_still_until_they_are_pointed_at(browse: Browse) -> None:
    page, _ = acts.judging(browse, media={"gif": acts.moving_gif()})
    acts.judge(page, 3, lambda pair: 2, give=acts.by_key)
    moments = page.locator("ol.looks img")
    still, moving = ("src", re.compile(r"\.jpg$")), ("src", re.compile(r"\.gif$"))
    expect(moments.first).to_have_attribute(*still)
    assert moments.first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.locator("ol.looks a").first.focus()
    expect(moments.nth(0)).to_have_attribute(*moving)
    expect(moments.nth(1)).to_have_attribute(*still)
    page.locator("ol.looks a").nth(1).hover()
    expect(moments.nth(1)).to_have_attribute(*moving)
    page.mouse.move(1, 1)
    expect(moments.nth(1)).to_have_attribute(*still)
    page.get_by_role("button", name="Play all").click()
    for number in range(3):
        expect(moments.nth(number)).to_have_attribute(*moving)
