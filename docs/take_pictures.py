"""Takes the pictures of every page that docs/ and README show, from a running demo.

Run `make run` first and wait for the demo to be ready, then: .venv/bin/python docs/take_pictures.py [ADDRESS]
"""

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ADDRESS = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000"
FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "pictures"
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TALLEST = 1400  # pixels of a page that are shown
STAFF = {  # pictures of pages, by group and page of the menu
    "overview": ("Overview", ""),
    "corpus": ("Data", "Videos"),
    "review": ("Judging", "Review"),
    "queries": ("Judging", "Queries"),
    "people": ("People", "People"),
    "releases": ("Results", "Releases"),
    "runs": ("Results", "Leaderboard"),
    "audit": ("Settings", "Audit"),
}


def log_in(browser: Browser, name: str, *, size: dict[str, int] = DESKTOP) -> Page:
    page = browser.new_context(viewport=size, color_scheme="light").new_page()
    page.goto(f"{ADDRESS}/login/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", f"{name}-demo")
    page.click("main button")
    page.click("main >> text=Demo: six shows")
    return page


EVERY_IMAGE = """() => Promise.all([...document.images].map((image) => {
  image.loading = "eager";
  return image.decode().catch(() => null);
}))"""


def take(page: Page, name: str, *, full: bool = True) -> None:
    """Picture of the page as it is, every clip loaded."""
    page.wait_for_load_state("networkidle")
    page.evaluate(EVERY_IMAGE)
    picture = Image.open(BytesIO(page.screenshot(full_page=full))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
    picture.save(FOLDER / f"{name}.png", optimize=True)


def judge(page: Page, pairs: int) -> None:
    """Grade the next pairs, or as many as the batch still has."""
    for number in range(pairs):
        if not page.query_selector("fieldset.grades"):
            return
        page.wait_for_timeout(500)  # a pair takes no grade at once
        with page.expect_response("**/grade/"):
            page.keyboard.press(str((3, 0, 4, 2, 1)[number % 5]))
        page.wait_for_timeout(200)


def annotator(browser: Browser) -> None:
    page = log_in(browser, "annotator")
    page.click("main [role=button], main form button")
    page.wait_for_load_state()
    judge(page, 20)
    page.wait_for_selector("ol.looks")
    take(page, "last-look")
    page.click("text=Finish and stop")
    page.wait_for_selector("ol.looks", state="detached")
    take(page, "desk")
    page.click("main [role=button], main form button")
    page.wait_for_load_state()
    judge(page, 2)
    take(page, "judge")
    pair = page.url
    page.keyboard.press("?")
    take(page, "judge-guideline", full=False)
    page.keyboard.press("Escape")
    page.click("nav >> text=My grades")
    take(page, "own-grades")
    page.click("nav >> text=Guideline")
    take(page, "guideline")
    phone = log_in(browser, "annotator", size=PHONE)
    phone.goto(pair)
    take(phone, "judge-phone")


def open_page(page: Page, group: str, label: str) -> None:
    page.click(f"nav[aria-label=Pages] >> text={group}")
    if label:
        page.click(f"nav.group >> text={label}")


def staff(browser: Browser) -> None:
    page = log_in(browser, "lead")
    for name, (group, label) in STAFF.items():
        open_page(page, group, label)
        take(page, name)
    open_page(page, "Data", "Videos")
    page.click("ol.gallery a")
    page.wait_for_load_state()
    take(page, "video")
    open_page(page, "Results", "Figures")
    page.click("main >> text=Case studies")
    page.wait_for_load_state()
    take(page, "figure")
    open_page(page, "Judging", "Queries")
    page.click("main tbody a")
    take(page, "batch")
    page.keyboard.press("/")
    page.keyboard.type("man")
    page.wait_for_selector("ul.found")
    take(page, "find", full=False)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport=DESKTOP).new_page()
        page.goto(f"{ADDRESS}/login/")
        take(page, "login")
        page.goto(f"{ADDRESS}/help/")
        take(page, "help")
        annotator(browser)
        staff(browser)
        browser.close()


if __name__ == "__main__":
    main()
