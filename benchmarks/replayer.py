"""An annotator who says what the ledger says, and who does not lose the thread when the site is killed."""

import re
import time
from typing import Any
from uuid import UUID

from benchmarks.annotator import GRADE, Annotator, Unexpected, key_of
from benchmarks.ledger import Ledger

PATIENCE_S = 120  # for one form, while the site does not answer
RETRY_S = 0.1
LONGEST_IDLE_S = 1.0
HOLD_S = 1.0  # how long a batch is held that nothing is known about: meanwhile its other seat is handed out
CONFLICT = 409
UNGRADED = re.compile(r'<a href="/pairs/([0-9a-f-]{36})/">(?:(?!</a>).)*>–</b></a>', re.DOTALL)


class Done(Exception):
    """Everything planned was sent, and this annotator holds nothing."""


class Replayer(Annotator):
    """Grades what it is handed as planned, gives back what the plan knows nothing of, ends with the plan."""

    def __init__(self, *, ledger: Ledger, number: int, **values: Any) -> None:
        super().__init__(**values, media=False, seed=number)
        self.ledger, self.number = ledger, number
        self.left_out: set[UUID] = set()
        self.interruptions = self.returned = 0
        self.idle_s = RETRY_S

    def replay(self, until: float) -> None:
        """Work until everything planned was sent, or until ``until`` (monotonic seconds)."""
        page = ""
        while time.monotonic() < until:
            try:
                page = self._step(page) if page else self.browser.get(self.desk)
            except Done:
                break
            except (Unexpected, OSError) as error:
                self._note(error)
                page = ""
        self.browser.wire.close()
        self.tally.requests = self.browser.requests

    def _note(self, error: Exception) -> None:
        """An interruption is the site's absence; anything else an annotator should not meet."""
        if is_interruption(error):
            self.interruptions += 1
        else:
            self.tally.errors.append(f"{self.username}: {error!r}")
        self.browser.wire.close()
        time.sleep(RETRY_S)

    def _judge(self, page: str, path: str, pair: UUID) -> str:
        grade = self.ledger.grade_for(pair, self.number)
        if grade is None:
            return self._leave_out(pair)
        began = time.perf_counter()
        try:
            answer = self._submit(page, path, grade)
        except Unexpected:
            self.ledger.release(pair, self.number)
            raise
        self.tally.judgments_s.append(time.perf_counter() - began)
        self.ledger.confirm(pair, self.number)
        return answer

    def _submit(self, page: str, path: str, grade: int) -> str:
        """The same form with the same key until it is answered: what the site did of the first is not known."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.browser.post_htmx(path, page, grade=str(grade), key=key_of(page))
            except (Unexpected, OSError) as error:
                if not is_interruption(error):
                    raise
                if time.monotonic() > deadline:
                    raise Unexpected(f"no answer to a grade for {PATIENCE_S} s: {error!r}") from error
                self._note(error)

    def _leave_out(self, pair: UUID) -> str:
        """Look for another pair of the batch that the plan has a grade for; give the batch back when there is none."""
        self.left_out.add(pair)
        look = self.browser.get(self.desk + "last-look/")
        for other in map(UUID, UNGRADED.findall(look)):
            if other not in self.left_out and self.ledger.grade_for(other, self.number) is not None:
                return self.browser.get(f"/pairs/{other}/")
        time.sleep(HOLD_S)
        self.returned += 1
        return self.browser.post(self.desk + "return/", look)

    def _finish(self, page: str, path: str) -> str:
        self.more = not self.ledger.complete
        return super()._finish(page, path)

    def _take(self, page: str, path: str) -> str:
        if self.ledger.complete:
            raise Done
        began = time.perf_counter()
        answer = self.browser.post(path, page)
        if GRADE.search(answer):
            self.tally.takes_s.append(time.perf_counter() - began)
            self.idle_s = RETRY_S
        else:
            self.tally.idle += 1
            time.sleep(self.idle_s)
            self.idle_s = min(LONGEST_IDLE_S, 2 * self.idle_s)
        return answer


def is_interruption(error: Exception) -> bool:
    return isinstance(error, OSError) or (isinstance(error, Unexpected) and error.status >= 500)
