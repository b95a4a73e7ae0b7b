"""An annotator's browser receives nothing that could sway a grade."""

import re

from playwright.sync_api import Page, Response

from annotation.models import Caption, Description, Video
from judging.models import Batch
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.judging.play import judge_round

TELLING = re.compile(
    r"\b(rank|round|similarity|escalated|settled|dropped|relevance|consensus|caption|slot)s?\b", re.IGNORECASE
)
ALLOWED_PATH = re.compile(r"/(static/[\w./-]+|(judge|previews|pairs)/[0-9a-f-]{36}(\.(gif|jpg|mp4)|/([a-z-]+/)?))")


class Received:
    """Everything the browser is sent. ``keep`` reads the bodies, which the browser forgets when it leaves a page."""

    def __init__(self, page: Page) -> None:
        self.waiting: list[Response] = []
        self.texts: list[str] = []  # address, headers and body of every answer
        self.pages: list[str] = []  # bodies of HTML answers
        page.on("response", lambda answer: self.waiting.append(answer))  # noqa: PLW0108 - takes no built-in

    def keep(self) -> None:
        while self.waiting:
            answer = self.waiting.pop(0)
            headers = answer.all_headers()
            body = b"" if answer.status == 204 or answer.status >= 300 else answer.body()
            self.texts.append(f"{answer.url} {headers} {body.decode('latin-1')}")
            if headers.get("content-type", "").startswith("text/html"):
                self.pages.append(body.decode())


def secrets(batch: Batch) -> set[str]:
    """Return facts of the batch's moments beyond what is to be judged."""
    candidates = [pair.candidate for pair in batch.pairs.select_related("candidate__moment__video")]
    moments = [candidate.moment for candidate in candidates]
    return {
        *Caption.objects.filter(moment__in=moments).values_list("text", flat=True),
        *Description.objects.filter(moment__in=moments).values_list("text", flat=True),
        *Video.objects.filter(moments__in=moments).values_list("name", flat=True),
        *(str(candidate.similarity) for candidate in candidates),
        *(f"{candidate.similarity:.3f}" for candidate in candidates),
        *(moment.preview.name.removeprefix("previews/") for moment in moments),
        *(f"{moment.start_s:.2f}" for moment in moments),
        *(str(moment.uuid) for moment in moments),
        str(batch.uuid),
        str(batch.query.uuid),
    }


def test_a_second_round_shows_its_annotator_nothing_but_query_and_picture(browse: Browse) -> None:
    batch = acts.batch(acts.project(), pairs=4)
    judge_round(batch, [0, 0, 4, 4], [4, 4, 1, 1])
    assert batch.round == 2
    page = browse(factories.annotator(batch.project))
    received, addresses = Received(page), []
    page.on("request", lambda request: addresses.append(request.url))

    page.goto(acts.desk(batch.project))
    received.keep()
    acts.take(page)
    acts.judge(page, 4, lambda pair: received.keep() or 2, give=acts.by_key)
    page.wait_for_load_state("networkidle")
    received.keep()

    assert len(received.pages) >= 6  # the desk, four pairs, the last look
    secret_texts = secrets(batch)
    assert [(secret, text[:80]) for text in received.texts for secret in secret_texts if secret in text] == []
    assert [TELLING.findall(text) for text in received.pages if TELLING.search(text)] == []
    marked = {grade for text in received.pages for grade in re.findall(r'grade-(\d)|value="(\d)" aria-pressed', text)}
    assert marked == {("2", "")}  # one's own
    root = "/".join(page.url.split("/")[:3])
    assert [url for url in addresses if not ALLOWED_PATH.fullmatch(url.removeprefix(root))] == []
