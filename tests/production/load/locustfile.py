"""Annotators at human pace, leads who look and decide, people who upload runs: as their browsers and programs ask.

benchmarks/load.py and tests/production/test_soak.py start it; by hand, on a site of one's own with such accounts:

    LOAD_FOLDER=/tmp/load .venv/bin/python -m locust -f tests/production/load/locustfile.py --host https://...

LOAD_FOLDER holds world.json: who there is (benchmarks/load.py writes it). When the warm-up is over, a file
`steady` appears there; at the end `result.json`, with every request that began after it. A file `over` ends it.
LOAD_HURRY=4 has everybody do everything four times as often.
"""

import html
import json
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID, uuid4

import gevent
from locust import FastHttpUser, between, constant, events, task
from urllib3.filepost import encode_multipart_formdata

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.annotator import FINISH, GO_ON, GRADE, KEY, PREVIEW, TAKE, TOKEN

FOLDER = Path(os.environ["LOAD_FOLDER"])
SCENARIO: dict[str, Any] = json.loads((FOLDER / "world.json").read_text())
WARM_S = float(os.environ.get("LOAD_WARM_S", "20"))
HURRY = float(os.environ.get("LOAD_HURRY", "1"))
PACE_S = (4.0 / HURRY, 8.0 / HURRY)  # six seconds for a judgment, in the mean
HEARTBEAT_S = 60.0 / HURRY  # as static/js/heartbeat.js
POLL_S = 5.0 / HURRY  # as the overview asks anew
DECIDES = 0.25  # of a lead's looks
UPLOAD_S = 30.0 / HURRY
ANSWER_S = 120.0  # ends what hangs
STEPS = 8  # from a finished batch to the first pair of the next one
SEEN = re.compile(r"\?seen=(\w+)")
CASE = re.compile(r'<article class="case" id="case-([^"]+)"')
DECISION = re.compile(r'<button name="decision" value="(\w+)"([^>]*)>')
AFTER = re.compile(r'id="review-last" name="after" value="([^"]+)"')
DECIDED = re.compile(r"\w+ (extended|closed) this query")  # the other lead was first, and this one is told so
FORM = "application/x-www-form-urlencoded"


class Stuck(Exception):
    """A page that offers nothing that its reader could do."""


class Notes:
    """Every request after the warm-up, and how many judgments were answered in all."""

    def __init__(self) -> None:
        self.steady_at = float("inf")
        self.requests: list[tuple[float, str, str, float]] = []  # when it began, who asked, for what, milliseconds
        self.errors: list[str] = []
        self.judgments = 0
        self.askers: set[str] = set()

    def take(self, name: str, response_time: float, exception: object, start_time: float, **more: Any) -> None:
        who, _, what = name.partition(": ")
        self.askers.add(who)
        self.judgments += exception is None and what == "judgment"
        if exception is not None:  # an error of the warm-up is one, too
            self.errors.append(f"{name}: {exception}")
        elif start_time >= self.steady_at:
            self.requests.append((start_time, who, what, response_time))

    def write(self) -> None:
        totals = {"requests": self.requests, "errors": self.errors, "judgments": self.judgments}
        draft = FOLDER / "result.new"
        draft.write_text(json.dumps(totals | {"steady_at": self.steady_at, "askers": sorted(self.askers)}))
        draft.replace(FOLDER / "result.json")


NOTES = Notes()


@events.request.add_listener
def note(**request: Any) -> None:
    NOTES.take(**request)


@events.user_error.add_listener
def note_error(user_instance: Any, exception: BaseException, **more: Any) -> None:
    NOTES.errors.append(f"{type(user_instance).__name__}: {exception!r}")


@events.test_start.add_listener
def begin(environment: Any, **more: Any) -> None:
    def steady() -> None:
        gevent.sleep(WARM_S)
        NOTES.steady_at = time.time()
        (FOLDER / "steady").touch()

    def quit_when_over() -> None:
        while not (FOLDER / "over").exists():
            gevent.sleep(0.2)
        environment.runner.quit()

    gevent.spawn(steady)
    gevent.spawn(quit_when_over)


@events.quitting.add_listener
def end(**more: Any) -> None:
    NOTES.write()


class Member(FastHttpUser):
    """Somebody with an account and a browser."""

    abstract = True
    insecure = True  # the certificate is one that the site made for itself
    connection_timeout = network_timeout = ANSWER_S
    kind = ""
    accounts: ClassVar[list[str]] = []

    def on_start(self) -> None:
        gevent.sleep(random.uniform(0, PACE_S[0]))  # nobody comes at the same moment
        page = self.read("/login/", "log-in page")
        credentials = {"username": self.accounts.pop(), "password": SCENARIO["password"]}
        if 'name="password"' in self.send("/login/", page, "log-in", **credentials):
            raise Stuck("nobody is logged in")

    def read(self, path: str, what: str, **headers: str) -> str:
        return self._answer(self.client.get(path, name=f"{self.kind}: {what}", headers=headers))

    def send(self, path: str, page: str, what: str, **fields: str) -> str:
        """A form of ``page``, as a browser without JavaScript sends it."""
        return self._post(path, page, what, fields, {})

    def send_htmx(self, path: str, page: str, what: str, **fields: str) -> str:
        return self._post(path, page, what, fields, {"HX-Request": "true", "X-CSRFToken": token_of(page)})

    def _post(self, path: str, page: str, what: str, fields: dict[str, str], headers: dict[str, str]) -> str:
        headers = {"Content-Type": FORM, "Origin": str(self.host), "Referer": f"{self.host}/", **headers}
        content = urlencode({"csrfmiddlewaretoken": token_of(page), **fields})
        options = {"data": content, "name": f"{self.kind}: {what}", "headers": headers}
        with self.client.post(path, catch_response=True, **options) as answer:
            is_decided = answer.status_code == 409 and DECIDED.search(answer.text or "")
            if is_decided:
                answer.success()
        return str(answer.text) if is_decided else self._answer(answer)

    def _answer(self, answer: Any) -> str:
        if answer.status_code not in (200, 204):
            raise Stuck(f"{answer.status_code} for {answer.url}")
        return answer.text or ""


def token_of(page: str) -> str:
    match = TOKEN.search(page)
    if match is None:
        raise Stuck("a page without a form")
    return match[1]


class Annotator(Member):
    """Looks at a clip for some seconds, grades it, and goes on; finishes batches and takes the next."""

    kind = "annotator"
    accounts: ClassVar[list[str]] = list(SCENARIO["annotators"])
    fixed_count = len(accounts)
    wait_time = between(*PACE_S)

    def on_start(self) -> None:
        super().on_start()
        self.page, self.form, self.watched, self.beat_at = "", "", set[str](), time.monotonic()
        gevent.sleep(random.uniform(0, PACE_S[1]))

    @task
    def judge(self) -> None:
        """One grade, with all that leads to it."""
        try:
            self._judge()
        except Stuck:
            self.page = ""  # begin anew at the desk
            raise

    def _judge(self) -> None:
        for _ in range(STEPS):
            if match := GRADE.search(self.page):
                self._watch()
                key = KEY.search(self.page)
                if key is None:
                    raise Stuck("a form without a key")
                values = {"grade": self._grade(UUID(match[2])), "key": key[1]}
                self.page = self._note_form(self.send_htmx(match[1], self._with_token(), "judgment", **values))
                self._beat()
                return
            self.page = self._note_form(self._step())
        raise Stuck("nothing to judge")

    def _step(self) -> str:
        if match := FINISH.search(self.page):
            return self.send(match[1], self._with_token(), "finish", more="yes")
        if match := TAKE.search(self.page):
            return self.send(match[1], self._with_token(), "take")
        if match := GO_ON.search(self.page):
            return self.read(match[1], "page")
        return self.read(SCENARIO["desk"], "desk")

    def _note_form(self, page: str) -> str:
        """Fragments may hold no token: that of the page they stand on serves."""
        self.form = page if TOKEN.search(page) else self.form
        return page

    def _with_token(self) -> str:
        return self.page if TOKEN.search(self.page) else self.form

    def _watch(self) -> None:
        """Load what the browser's cache lacks: the clip, and those loaded ahead."""
        for path in map(html.unescape, PREVIEW.findall(self.page)):
            if path not in self.watched:
                self.watched.add(path)
                self.client.get(path, name="media: clip")

    def _grade(self, pair: UUID) -> str:
        """Mostly what everybody would say of this pair."""
        draw = random.random()
        return str(random.randrange(5) if draw < 0.1 else min(4, max(0, pair.int % 5 + (draw < 0.2) - (draw > 0.9))))

    def _beat(self) -> None:
        if time.monotonic() - self.beat_at > HEARTBEAT_S:
            self.beat_at = time.monotonic()
            self.send(SCENARIO["heartbeat"], self._with_token(), "heartbeat")


class Lead(Member):
    """The overview stands open; now and then a query that waits is decided."""

    kind = "lead"
    accounts: ClassVar[list[str]] = list(SCENARIO["leads"])
    fixed_count = len(accounts)
    wait_time = constant(POLL_S)

    def on_start(self) -> None:
        super().on_start()
        self.digest = self._overview()

    def _overview(self) -> str:
        match = SEEN.search(self.read(SCENARIO["overview"], "overview"))
        if match is None:
            raise Stuck("an overview that does not ask anew")
        return match[1]

    @task
    def look(self) -> None:
        page = self.read(f"{SCENARIO['overview']}?seen={self.digest}", "overview anew", **{"HX-Request": "true"})
        if match := SEEN.search(page):
            self.digest = match[1]
        if random.random() < DECIDES:
            self._decide()

    def _decide(self) -> None:
        page = self.read(SCENARIO["review"], "review queue")
        case, after = CASE.search(page), AFTER.findall(page)
        if case and after:
            offered = {decision for decision, more in DECISION.findall(page) if "disabled" not in more}
            decision = random.choice([choice for choice in ("close", "close", "extend") if choice in offered])
            path = f"/batches/{case[1]}/review/"
            self.send_htmx(path, page, "decision", decision=decision, reason="", after=after[-1])


class Uploader(FastHttpUser):
    """A program that brings a run now and then, once the one before is scored."""

    insecure = True
    connection_timeout = network_timeout = ANSWER_S
    fixed_count = 1 if SCENARIO.get("upload") else 0
    wait_time = constant(UPLOAD_S)
    run_uuid = ""  # of the upload before

    @task
    def upload(self) -> None:
        upload, headers = SCENARIO["upload"], {"Authorization": f"Bearer {SCENARIO['upload']['token']}"}
        if self.run_uuid:
            status = self.client.get(f"/api/v1/runs/{self.run_uuid}/", name="uploader: run", headers=headers)
            if status.json()["state"] == "running":
                return
            if status.json()["state"] != "scored":
                raise Stuck(f"a run that is {status.json()['state']}: {status.json()['error']}")
        kind, content = multipart({"system": f"load {uuid4().hex[:12]}", "split": "val"}, upload["content"])
        answer = self.client.post(upload["path"], data=content, name="uploader: upload", headers=headers | kind)
        if answer.status_code != 201:
            raise Stuck(f"{answer.status_code}: {answer.text}")
        self.run_uuid = answer.json()["uuid"]


def multipart(fields: dict[str, str], file: str) -> tuple[dict[str, str], bytes]:
    upload = {**fields, "file": ("run.json", file, "application/json")}
    content, kind = encode_multipart_formdata(upload)
    return {"Content-Type": kind}, content
