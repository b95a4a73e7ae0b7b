"""One annotator over HTTP: asks for what a browser asks for, and reads from each answer what comes next."""

import http.client
import random
import re
import threading
import time
from dataclasses import dataclass, field
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from benchmarks.own_site import HOST

TIMEOUT_S = 30
IDLE_S = 0.1  # before looking again when nothing is left to take
REDIRECTS = (301, 302, 303)
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
GRADE = re.compile(r'action="(/pairs/([0-9a-f-]{36})/grade/)"')
KEY = re.compile(r'name="key" value="([^"]+)"')
FINISH = re.compile(r'action="(/judge/[^"]+/finish/)"')
TAKE = re.compile(r'action="(/judge/[^"]+/take/)"')
GO_ON = re.compile(r'href="(/judge/[^"]+/next/)"')
PREVIEW = re.compile(r'<img class="(?:moment|ahead)" src="([^"]+)"')


class Unexpected(Exception):
    """The site answered something that an annotator at work should not see."""


@dataclass
class Tally:
    """What one annotator did, and how long each answer took, in seconds."""

    judgments_s: list[float] = field(default_factory=list)
    takes_s: list[float] = field(default_factory=list)
    requests: int = 0
    idle: int = 0
    errors: list[str] = field(default_factory=list)


class Browser:
    """One keep-alive connection with its cookies."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://{HOST}:{port}"
        self.connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
        self.cookies: dict[str, str] = {}
        self.requests = 0

    def get(self, path: str) -> str:
        return self._follow(*self._send("GET", path))

    def post(self, path: str, page: str, **fields: str) -> str:
        """Send the form that ``page`` holds, as a browser without JavaScript does."""
        return self._follow(*self._send("POST", path, {"csrfmiddlewaretoken": token_of(page), **fields}))

    def post_htmx(self, path: str, page: str, **fields: str) -> str:
        """Send it as htmx does; returns the fragment."""
        token = token_of(page)
        headers = {
            "HX-Request": "true",
            "HX-Target": "pair",
            "HX-Current-URL": f"{self.origin}/",
            "X-CSRFToken": token,
        }
        return self._follow(*self._send("POST", path, {"csrfmiddlewaretoken": token, **fields}, headers))

    def fetch(self, path: str) -> None:
        """A picture; its bytes are read and thrown away."""
        status, _, body = self._send_raw("GET", path, None, {})
        if status != 200 or not body.startswith(b"GIF8"):
            raise Unexpected(f"GET {path}: {status}, {len(body)} bytes")

    def _follow(self, what: str, status: int, location: str, body: str) -> str:
        if status in REDIRECTS:
            return self.get(urlsplit(location).path)
        if status != 200:
            raise Unexpected(f"{what}: {status}")
        return body

    def _send(
        self, method: str, path: str, fields: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[str, int, str, str]:
        status, location, body = self._send_raw(method, path, fields, headers or {})
        return f"{method} {path}", status, location, body.decode()

    def _send_raw(
        self, method: str, path: str, fields: dict[str, str] | None, headers: dict[str, str]
    ) -> tuple[int, str, bytes]:
        self.requests += 1
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **headers}
        if fields is not None:
            sent |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        self.connection.request(method, path, urlencode(fields).encode() if fields is not None else None, sent)
        answer = self.connection.getresponse()
        body = answer.read()
        for line in answer.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return answer.status, answer.headers.get("Location", ""), body


def token_of(page: str) -> str:
    found = TOKEN.search(page)
    if found is None:
        raise Unexpected("a page without a CSRF token")
    return found[1]


def key_of(page: str) -> str:
    found = KEY.search(page)
    if found is None:
        raise Unexpected("a form without a key")
    return found[1]


class Annotator:
    """Takes batches, grades their pairs and finishes them until the time is over; never pauses to think."""

    def __init__(self, *, port: int, username: str, password: str, desk: str, media: bool, seed: int) -> None:
        self.username, self.password, self.desk, self.media = username, password, desk, media
        self.browser = Browser(port)
        self.tally = Tally()
        self.watched: set[str] = set()  # the browser's cache: previews are immutable
        self.chance = random.Random(seed)

    def log_in(self) -> None:
        page = self.browser.get("/login/")
        page = self.browser.post("/login/", page, username=self.username, password=self.password)
        if 'name="password"' in page:
            raise Unexpected(f"{self.username} cannot log in")
        self.browser.get(self.desk)
        self.browser.connection.close()  # it opens again when the run begins

    def work(self, until: float) -> None:
        """Judge until ``until`` (monotonic seconds). What goes wrong is noted, and work begins anew at the desk."""
        page = ""
        while time.monotonic() < until:
            try:
                page = self._step(page) if page else self.browser.get(self.desk)
            except (Unexpected, OSError, http.client.HTTPException) as error:
                self.tally.errors.append(f"{self.username}: {error!r}")
                self.browser.connection.close()
                page = ""
                time.sleep(IDLE_S)
        self.browser.connection.close()
        self.tally.requests = self.browser.requests

    def _step(self, page: str) -> str:
        """Do what the page asks for; returns the next page or fragment."""
        if found := GRADE.search(page):
            self._watch(page)
            grade = str(self._grade(UUID(found[2])))
            began = time.perf_counter()
            answer = self.browser.post_htmx(found[1], page, grade=grade, key=key_of(page))
            self.tally.judgments_s.append(time.perf_counter() - began)
            return answer
        if found := FINISH.search(page):
            return self.browser.post(found[1], page, more="yes")
        if found := TAKE.search(page):
            began = time.perf_counter()
            answer = self.browser.post(found[1], page)
            if not GRADE.search(answer):
                self.tally.idle += 1
                time.sleep(IDLE_S)
                return answer
            self.tally.takes_s.append(time.perf_counter() - began)
            return answer
        if found := GO_ON.search(page):
            return self.browser.get(found[1])
        raise Unexpected(f"a page that offers nothing to do: {page[:200]!r}")

    def _grade(self, pair: UUID) -> int:
        """Mostly what everybody would say of this pair, sometimes one off, seldom anything."""
        draw = self.chance.random()
        if draw < 0.1:
            return self.chance.randrange(5)
        return min(4, max(0, pair.int % 5 + (self.chance.choice((-1, 1)) if draw < 0.3 else 0)))

    def _watch(self, page: str) -> None:
        if self.media:
            for path in map(unescape, PREVIEW.findall(page)):
                if path not in self.watched:
                    self.browser.fetch(path)
                    self.watched.add(path)


def work_together(annotators: list[Annotator], *, seconds: float) -> float:
    """Let them all judge at once; returns how long it took until the last answer was there."""
    began = time.monotonic()
    crowd = [threading.Thread(target=one.work, args=[began + seconds], daemon=True) for one in annotators]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return time.monotonic() - began
