"""People who judge through nginx whatever becomes of the servers: their browsers keep what was not answered and send
it again with the same key, as static/js/outbox.js does."""

import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from uuid import UUID

import requests
from celery import current_app
from kombu.exceptions import OperationalError

from benchmarks.annotator import FINISH, GO_ON, GRADE, TAKE
from judging.models import Assignment, Batch, Judgment, JudgmentChange, Pair
from judging.work.rules import TVR_RANKING, State, settle
from tests.production.topology import Person, Site
from tests.production.topology.project import Scenario, grade_form
from tests.production.topology.site import PATIENCE_S, eventually

TIMEOUT_S = 60  # longer than a page waits (htmx.config.timeout): a slow machine is no trouble
AGAIN_S = 0.3  # until what was not answered is sent again
QUARREL = (0, 4, 4, 4)  # the first two differ by more than one: two more are asked, and agree
SWEEPS = ("judging.tasks.assignments_sweep", "judging.tasks.batches_sweep", "core.tasks.sweep")


class Trouble(Exception):
    """No answer, or one that says that the site cannot just now."""


class Refused(Exception):
    """The site's own word on what was asked."""


class Minds:
    """Everybody's grade of each pair, the same on every request; of every third pair they disagree."""

    def __init__(self) -> None:
        self._order: dict[UUID, list[int]] = {}
        self._lock = threading.Lock()

    def grade(self, pair: UUID, number: int) -> int:
        with self._lock:
            order = self._order.setdefault(pair, [])
            if number not in order:
                order.append(number)
            position = order.index(number)
        return QUARREL[min(position, 3)] if pair.int % 3 == 0 else pair.int % 4


class Browser:
    """One person at work: takes, grades and finishes until told to stop."""

    def __init__(self, person: Person, scenario: Scenario, number: int, minds: Minds, *, pace_s: float) -> None:
        self.person, self.scenario, self.number, self.minds, self.pace_s = person, scenario, number, minds, pace_s
        self.over = threading.Event()
        self.accepted: dict[UUID, int] = {}  # what was answered with 200
        self.troubles: Counter[str] = Counter()
        self.refusals: list[str] = []

    def work(self) -> None:
        page = ""
        while not self.over.is_set():
            try:
                page = self._step(page) if page else self._ask("GET", self.scenario.path("desk"))
            except (Trouble, Refused):
                page = ""
                self.over.wait(AGAIN_S)

    def _step(self, page: str) -> str:
        if match := GRADE.search(page):
            return self._judge(page, UUID(match[2]))
        if match := FINISH.search(page):
            return self._ask("POST", match[1])
        if match := GO_ON.search(page):
            return self._ask("GET", match[1])
        if match := TAKE.search(page):
            page = self._ask("POST", match[1])
            if GRADE.search(page):
                return page
        self.over.wait(AGAIN_S)  # nothing waits just now
        return ""

    def _judge(self, page: str, pair: UUID) -> str:
        """The same form with the same key until the site has said something to it."""
        self.over.wait(self.pace_s)
        grade = self.minds.grade(pair, self.number)
        while True:
            try:
                answer = self._ask("POST", *grade_form(page, grade))
            except Trouble:
                if self.over.wait(AGAIN_S):
                    raise
            else:
                self.accepted[pair] = grade
                return answer

    def _ask(self, method: str, path: str, data: dict[str, str] | None = None) -> str:
        try:
            if method == "GET":
                answer = self.person.get(path, timeout=TIMEOUT_S)
            else:
                answer = self.person.post(path, data, timeout=TIMEOUT_S)
        except requests.RequestException as error:
            self.troubles[type(error).__name__] += 1
            raise Trouble from error
        if answer.status_code >= 500:
            self.troubles[str(answer.status_code)] += 1
            raise Trouble
        if answer.status_code != 200 or "/login/" in answer.url:
            self.refusals.append(f"{method} {path}: {answer.status_code} at {answer.url}")
            raise Refused
        return answer.text


class Crowd:
    """Five people and their batches; inside the block they judge, each in a thread."""

    def __init__(self, site: Site, *, people: int = 5, batches: int = 4, pairs: int = 6, pace_s: float = 0.15) -> None:
        self.scenario = Scenario.make(annotators=people)
        for _ in range(batches):
            self.scenario.batch(pairs=pairs)
        minds = Minds()
        self.browsers = [
            Browser(self.scenario.person(site, user), self.scenario, number, minds, pace_s=pace_s)
            for number, user in enumerate(self.scenario.annotators)
        ]
        self.threads = [threading.Thread(target=one.work, daemon=True) for one in self.browsers]

    def __enter__(self) -> "Crowd":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for browser in self.browsers:
            browser.over.set()
        for thread in self.threads:
            thread.join(2 * TIMEOUT_S)

    # How far they are

    @property
    def accepted(self) -> int:
        return sum(len(browser.accepted) for browser in self.browsers)

    @property
    def troubles(self) -> Counter[str]:
        return sum((browser.troubles for browser in self.browsers), Counter[str]())

    @property
    def refusals(self) -> list[str]:
        return [line for browser in self.browsers for line in browser.refusals]

    def await_grades(self, more: int, *, seconds: float = PATIENCE_S) -> None:
        """So many further grades were answered."""
        target = self.accepted + more
        eventually(lambda: self.accepted >= target, seconds=seconds, every=0.02)

    def await_trouble(self, more: int = 3, *, seconds: float = PATIENCE_S) -> None:
        """So many further requests were not answered as they should."""
        target = self.troubles.total() + more
        eventually(lambda: self.troubles.total() >= target, seconds=seconds, every=0.02)

    def await_done(self, *, seconds: float = PATIENCE_S, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Every batch is done; sweeps are sent more often than beat does, so that a lost message costs less."""
        unfinished = Batch.objects.filter(project=self.scenario.project).exclude(state=Batch.State.DONE)

        def is_done() -> bool:
            meanwhile()
            return not unfinished.exists()

        swept_until(is_done, seconds=seconds)

    # What came of it

    def check(self, *, none_refused: bool = True) -> None:
        """Nothing is lost, nothing doubled, everything decided as the rules say."""
        assert not (none_refused and self.refusals), self.refusals
        judgments = Judgment.objects.filter(pair__batch__project=self.scenario.project)
        grades = Counter(judgments.values_list("annotator", "pair__uuid", "grade"))
        answered = Counter(
            (user.pk, pair, grade)
            for user, browser in zip(self.scenario.annotators, self.browsers, strict=True)
            for pair, grade in browser.accepted.items()
        )
        assert grades == answered
        assert not JudgmentChange.objects.filter(judgment__in=judgments).exists()
        assert all(count == 1 for count in Counter(judgments.values_list("pair", "annotator")).values())
        self._check_pairs()
        assert not Assignment.objects.filter(project=self.scenario.project, state=Assignment.State.OPEN).exists()

    def _check_pairs(self) -> None:
        """Each pair's outcome is what the rules make of its grades. A refusal changes who grades next: then a pair on
        which they would have quarrelled may be settled by two who agree."""
        for pair in Pair.objects.filter(batch__project=self.scenario.project).prefetch_related("judgments"):
            grades = [judgment.grade for judgment in pair.judgments.all()]
            outcome = settle(grades, TVR_RANKING)
            assert outcome.state == State.SETTLED, (pair.pk, grades)
            assert (pair.state, pair.relevance) == outcome, (pair.pk, grades)
            if not self.refusals:
                assert len(grades) == (4 if pair.uuid.int % 3 == 0 else 2), (pair.pk, grades)


def swept_until(there: Callable[[], object], *, seconds: float = PATIENCE_S) -> None:
    """Wait until ``there()``, sweeping each second."""

    def look() -> object:
        result = there()
        if not result:
            sweep()
        return result

    eventually(look, seconds=seconds, every=1.0)


def sweep() -> None:
    """Send beat's periodic tasks now; an unavailable broker misses them."""
    for task in SWEEPS:
        try:
            current_app.send_task(task, retry=False, ignore_result=True)
        except (OperationalError, OSError):
            return
