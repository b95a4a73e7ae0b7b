"""The keys of the judging page, and presses that are not meant."""

import re

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Topic, TopicVersion
from judging.models import Flag, Judgment
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse


def timer(page: Page) -> str:
    return page.locator(".controls output").inner_text()


def grades_given() -> list[int]:
    return list(Judgment.objects.order_by("id").values_list("grade", flat=True))


def test_each_of_the_five_keys_gives_its_grade(browse: Browse) -> None:
    page, _ = acts.judging(browse, media={"pairs": 5})
    for grade in range(5):
        acts.arrive(page, grade + 1, 5)
        page.keyboard.press(str(grade))
    expect(page.get_by_role("heading", name="A last look")).to_be_focused()
    assert grades_given() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("key", ["Enter", "ArrowRight"])
def test_next_shows_the_next_pair_and_sends_nothing(browse: Browse, key: str) -> None:
    page, _ = acts.judging(browse)
    requests = acts.answers(page)
    for position in (2, 3):
        page.keyboard.press(key)
        acts.arrive(page, position)
    page.keyboard.press(key)
    expect(page.get_by_text("3 pairs still need a grade or a flag.")).to_be_visible()
    assert requests == []


def test_the_left_arrow_goes_back_one_pair_whose_grade_can_change(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    first = acts.pair_on_page(page)
    page.keyboard.press("2")
    acts.arrive(page, 2)
    page.keyboard.press("ArrowLeft")
    acts.arrive(page, 1)
    assert acts.pair_on_page(page) == first
    expect(page.locator("button[aria-pressed=true]")).to_have_attribute("value", "2")

    page.keyboard.press("4")
    acts.arrive(page, 2)
    judgment = Judgment.objects.get()
    assert (judgment.pair.uuid, judgment.grade, judgment.changes.get().from_grade) == (first, 4, 2)
    page.reload()
    expect(page.locator(".place")).to_contain_text("pair 2 of")


def test_a_narrative_folds_out_by_its_key_and_stays_open_on_the_next_pair(browse: Browse) -> None:
    batch = acts.batch(acts.project())
    topic = Topic.objects.create(query=batch.query)
    TopicVersion.objects.create(topic=topic, version=1, title=batch.query.text, narrative="A letter, no bill. " * 30)
    person = factories.annotator(batch.project)
    page = browse(person, viewport={"width": 390, "height": 780})
    acts.go_on(page, person, batch)
    narrative = page.get_by_text("A letter, no bill.")
    expect(narrative).to_be_hidden()
    page.keyboard.press("d")
    expect(narrative).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.keyboard.press("2")
    acts.arrive(page, 2)
    expect(narrative).to_be_visible()
    page.keyboard.press("d")
    expect(narrative).to_be_hidden()
    page.keyboard.press("3")
    acts.arrive(page, 3)
    expect(narrative).to_be_hidden()
    assert grades_given() == [2, 3]


def test_the_guideline_opens_and_closes_by_key_and_shields_the_grades(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    guideline, requests = page.get_by_role("dialog", name="Guideline"), acts.answers(page)
    page.keyboard.press("?")
    expect(guideline).to_be_visible()
    page.keyboard.press("3")
    page.keyboard.press("Escape")
    expect(guideline).to_be_hidden()
    expect(acts.position_label(page)).to_have_text("pair 1 of 3")
    assert requests == []

    page.keyboard.press("3")
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    assert grades_given() == [3]


def test_k_lists_the_keys_which_can_be_switched_off(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    page.keyboard.press("k")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("play the clip from its start")
    keys.get_by_role("switch", name="Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert not Judgment.objects.exists()

    page.reload()
    page.get_by_role("button", name="Keys").click()
    expect(keys.get_by_role("switch")).not_to_be_checked()
    keys.get_by_role("switch").check()
    page.keyboard.press("Escape")
    acts.settle(page)
    page.locator("fieldset.grades").focus()
    page.keyboard.press("3")
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")


def test_f_flags_and_takes_back(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    page.keyboard.press("f")
    expect(page.get_by_label("A word on what is wrong")).to_be_focused()
    page.keyboard.type("It stays black 3 times.")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="The clip is broken")).to_be_focused()
    page.keyboard.press("2")  # no grade while a reason is being chosen
    page.keyboard.press("Enter")
    acts.arrive(page, 2)
    flag = Flag.objects.get()
    assert (flag.reason, flag.comment, flag.withdrawn_at) == ("broken", "It stays black 3 times.", None)
    assert not Judgment.objects.exists()

    page.keyboard.press("ArrowLeft")
    acts.arrive(page, 1)
    notice = page.locator("p.notice").filter(has_text="You flagged this pair: the clip is broken")
    expect(notice).to_be_focused()
    page.keyboard.press("4")  # a flagged pair takes no grade
    page.keyboard.press("f")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You flagged this pair")).to_have_count(0)
    acts.settle(page)
    page.keyboard.press("1")
    acts.arrive(page, 2)
    assert grades_given() == [1]
    assert Flag.objects.get().withdrawn_at is not None


def test_c_opens_the_comment_which_waits_for_its_pair_and_goes_with_the_grade(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    comment = page.get_by_label("Comment, sent with the grade")
    page.keyboard.press("c")
    page.keyboard.type("Rather 2 or 3? f ")
    page.keyboard.press("Escape")
    expect(page.locator("fieldset.grades")).to_be_focused()
    page.get_by_role("link", name="Next").click()
    acts.arrive(page, 2)
    expect(comment).to_have_value("")
    page.get_by_role("link", name="Back").click()
    acts.arrive(page, 1)
    expect(comment).to_have_value("Rather 2 or 3? f ")
    page.keyboard.press("3")
    acts.arrive(page, 2)
    judgment = Judgment.objects.get()
    assert (judgment.grade, judgment.comment) == (3, "Rather 2 or 3? f")
    page.get_by_role("link", name="Back").click()
    acts.arrive(page, 1)
    expect(comment).to_have_value("Rather 2 or 3? f")


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_the_clip_pauses_steps_and_starts_anew(browse: Browse, clip: bytes, kind: str) -> None:
    page, _ = acts.judging(browse, media=acts.media_of(kind, clip))
    expect(page.locator(".clip .moment")).to_have_js_property("tagName", "VIDEO" if kind == "mp4" else "CANVAS")
    play = page.locator("[data-play]")
    expect(play).to_have_text("Pause")
    expect(page.locator(".controls output")).to_have_text(re.compile(r"^[1-3]\.\d of 4\.0 s$"))
    page.keyboard.press("p")
    expect(play).to_have_text("Play")
    if (start := timer(page)) < "0.4":  # it began anew before the key was heard: there is nothing to step back to
        page.keyboard.press(".")
        expect(page.locator(".controls output")).not_to_have_text(start)
    stands = timer(page)
    page.keyboard.press(",")
    expect(page.locator(".controls output")).not_to_have_text(stands)
    before = timer(page)
    assert before < stands
    page.keyboard.press(".")
    expect(page.locator(".controls output")).not_to_have_text(before)
    page.keyboard.press("Space")
    expect(play).to_have_text("Pause")
    expect(page.locator(".controls output")).to_have_text(re.compile(r"^0\.\d of 4\.0 s$"))
    page.keyboard.press("p")
    expect(play).to_have_text("Play")


def test_space_and_enter_on_a_button_are_the_buttons_own(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Unrelated")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    acts.arrive(page, 2)
    expect(page.locator("fieldset.grades")).to_be_focused()
    assert grades_given() == [1]


def test_a_key_pressed_long_grades_once(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    requests = acts.answers(page)
    page.keyboard.down("3")
    acts.arrive(page, 2)
    for _ in range(5):
        page.keyboard.down("3")  # what a held key repeats
    page.keyboard.up("3")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()  # every key before it has been handled
    assert len(requests) == 1
    assert grades_given() == [3]


def test_two_presses_at_once_are_one_grade(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    requests = acts.answers(page)
    acts.stop_clock(page)
    page.keyboard.press("3")
    page.keyboard.press("3")
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    page.keyboard.press("3")
    page.clock.run_for(100)
    page.keyboard.press("3")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert len(requests) == 1
    page.keyboard.press("Escape")
    page.clock.run_for(100)
    page.keyboard.press("4")
    expect(acts.position_label(page)).to_have_text("pair 3 of 3")
    assert grades_given() == [3, 4]


def test_a_double_click_is_one_grade(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    requests = acts.answers(page)
    page.locator("button[name=grade][value='2']").dblclick()
    acts.arrive(page, 2)
    assert (len(requests), grades_given()) == (1, [2])
