"""Annotators over HTTP: they ask for what a browser asks for and read from each answer what comes next."""

import random
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape
from socket import create_connection, socket
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from benchmarks.own_site import HOST

PASSWORD = "benchmark-only"
TIMEOUT_S = 30
IDLE_S = 0.1  # before looking again when nothing is left to take
REDIRECTS = (301, 302, 303)
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
GRADE = re.compile(r'action="(/pairs/([0-9a-f-]{36})/grade/)"')
KEY = re.compile(r'name="key" value="([^"]+)"')
FINISH = re.compile(r'action="(/judge/[^"]+/finish/)"')
TAKE = re.compile(r'action="(/judge/[^"]+/take/)"')
GO_ON = re.compile(r'href="(/judge/[^"]+/next/)"')
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
LOCATION = re.compile(rb"\r\nlocation: *([^\r\n]+)", re.IGNORECASE)
COOKIE = re.compile(rb"\r\nset-cookie: *([^=;\r\n]+)=([^;\r\n]*)", re.IGNORECASE)
PREVIEW = re.compile(r'<(?:img|video|span) class="(?:moment|ahead)" (?:src|data-mp4)="([^"]+)"')


class Unexpected(Exception):
    """The site answered something that an annotator at work should not see."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Tally:
    """Counts of an annotator's requests, and the seconds that answers took."""

    judgments_s: list[float] = field(default_factory=list)
    takes_s: list[float] = field(default_factory=list)
    requests: int = 0
    idle: int = 0
    errors: list[str] = field(default_factory=list)


class Answer(NamedTuple):
    status: int
    location: str
    cookies: list[tuple[str, str]]
    body: bytes


class Connection:
    """One connection, kept alive. Reads no more of HTTP than our servers send, at a fifth of http.client's processor
    time: annotators share the machine with what is measured."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.link: socket | None = None  # opens when it is needed

    def send(self, method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        if self.link is None:
            self.link = create_connection((HOST, self.port), TIMEOUT_S)
        fields = {"Host": f"{HOST}:{self.port}", "Content-Length": str(len(content)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.link.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + content)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, body = received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        while length and len(body) < int(length[1]):
            body += self._receive()
        if CLOSES.search(head):
            self.close()
        location = LOCATION.search(head)
        cookies = [(name.decode(), value.decode()) for name, value in COOKIE.findall(head)]
        return Answer(int(head[9:12]), location[1].decode() if location else "", cookies, body)

    def _receive(self) -> bytes:
        assert self.link is not None
        if not (received := self.link.recv(65536)):
            raise ConnectionResetError("the server closed the connection")
        return received

    def close(self) -> None:
        if self.link is not None:
            self.link.close()
            self.link = None


class Browser:
    """One keep-alive connection with its cookies."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://{HOST}:{port}"
        self.connection = Connection(port)
        self.cookies: dict[str, str] = {}
        self.requests = 0

    def log_in(self, username: str, password: str = PASSWORD) -> None:
        page = self.post("/login/", self.get("/login/"), username=username, password=password)
        if 'name="password"' in page:
            raise Unexpected(f"{username} cannot log in")

    def get(self, path: str) -> str:
        return self._follow("GET", path, self._send("GET", path, {}))

    def post(self, path: str, page: str, **fields: str) -> str:
        """Send the form that ``page`` holds, as a browser without JavaScript does."""
        return self._post(path, {"csrfmiddlewaretoken": token_of(page), **fields}, {})

    def post_htmx(self, path: str, page: str, **fields: str) -> str:
        """Send it as htmx does; return the fragment."""
        token = token_of(page)
        htmx = {"HX-Request": "true", "HX-Target": "pair", "HX-Current-URL": f"{self.origin}/", "X-CSRFToken": token}
        return self._post(path, {"csrfmiddlewaretoken": token, **fields}, htmx)

    def fetch(self, path: str) -> None:
        """Read a picture and discard its bytes."""
        answer = self._send("GET", path, {})
        if answer.status != 200 or not answer.body.startswith(b"GIF8"):
            raise Unexpected(f"GET {path}: {answer.status}, {len(answer.body)} bytes", status=answer.status)

    def _post(self, path: str, fields: dict[str, str], headers: dict[str, str]) -> str:
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        return self._follow("POST", path, self._send("POST", path, headers, urlencode(fields)))

    def _follow(self, method: str, path: str, answer: Answer) -> str:
        if answer.status in REDIRECTS:
            return self.get(urlsplit(answer.location).path)
        if answer.status != 200:
            raise Unexpected(f"{method} {path}: {answer.status}", status=answer.status)
        return answer.body.decode()

    def _send(self, method: str, path: str, headers: dict[str, str], content: str = "") -> Answer:
        """Send one request and read its whole answer.

        Raises:
            OSError: the connection broke, or nothing came in time; what the server did is not known.
        """
        self.requests += 1
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            answer = self.connection.send(method, path, {"Cookie": cookies, **headers}, content.encode())
        except OSError:
            self.connection.close()
            raise
        self.cookies.update(answer.cookies)
        return answer


def token_of(page: str) -> str:
    return _first(TOKEN, page, "a page without a CSRF token")


def key_of(page: str) -> str:
    return _first(KEY, page, "a form without a key")


def _first(pattern: re.Pattern[str], page: str, problem: str) -> str:
    if (match := pattern.search(page)) is None:
        raise Unexpected(problem)
    return match[1]


class Annotator:
    """Takes batches, grades their pairs and finishes them until the time is over; never pauses to think."""

    longest_idle_s = IDLE_S

    def __init__(self, *, port: int, username: str, desk: str, seed: int, media: bool = False) -> None:
        self.username, self.desk, self.media = username, desk, media
        self.browser = Browser(port)
        self.tally = Tally()
        self.watched: set[str] = set()  # the browser's cache: previews are immutable
        self.chance = random.Random(seed)
        self.more = True  # the next batch at once, in the answer to finishing
        self.idle_s = IDLE_S

    def log_in(self) -> None:
        self.browser.log_in(self.username)
        self.browser.get(self.desk)
        self.browser.connection.close()  # it opens again when the run begins

    def work(self, until: float) -> None:
        """Judge until ``until`` (monotonic seconds). Errors are noted, and work begins anew at the desk."""
        page = ""
        try:
            while time.monotonic() < until:
                try:
                    page = self._step(page) if page else self.browser.get(self.desk)
                except (Unexpected, OSError) as error:
                    self._note(error)
                    page = ""
        finally:
            self.browser.connection.close()
            self.tally.requests = self.browser.requests

    def _note(self, error: Exception) -> None:
        self.tally.errors.append(f"{self.username}: {error!r}")
        self.browser.connection.close()
        time.sleep(IDLE_S)

    def _step(self, page: str) -> str:
        """Do what the page asks for; return the next page or fragment."""
        if match := GRADE.search(page):
            return self._judge(page, match[1], UUID(match[2]))
        if match := FINISH.search(page):
            return self._finish(page, match[1])
        if match := TAKE.search(page):
            return self._take(page, match[1])
        if match := GO_ON.search(page):
            return self.browser.get(match[1])
        raise Unexpected(f"a page that offers nothing to do: {page[:200]!r}")

    def _judge(self, page: str, path: str, pair: UUID) -> str:
        self._watch(page)
        grade = str(self._grade(pair))
        began = time.perf_counter()
        answer = self.browser.post_htmx(path, page, grade=grade, key=key_of(page))
        self.tally.judgments_s.append(time.perf_counter() - began)
        return answer

    def _finish(self, page: str, path: str) -> str:
        return self.browser.post(path, page, **({"more": "yes"} if self.more else {}))

    def _take(self, page: str, path: str) -> str:
        began = time.perf_counter()
        answer = self.browser.post(path, page)
        if GRADE.search(answer):
            self.tally.takes_s.append(time.perf_counter() - began)
            self.idle_s = IDLE_S
        else:
            self.tally.idle += 1
            time.sleep(self.idle_s)
            self.idle_s = min(self.longest_idle_s, 2 * self.idle_s)
        return answer

    def _grade(self, pair: UUID) -> int:
        """Return mostly the grade that everybody would give this pair, sometimes one off, seldom any other."""
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


def work_together(annotators: Sequence[Annotator], *, seconds: float) -> float:
    """Let them all judge at once; return the seconds until the last answer."""
    began = time.monotonic()
    crowd = [threading.Thread(target=one.work, args=[began + seconds], daemon=True) for one in annotators]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return time.monotonic() - began


def seconds_of(annotators: Sequence[Annotator], kind: str) -> list[float]:
    """Return the seconds of all answers of a kind, ``judgments_s`` or ``takes_s``, ascending."""
    return sorted(seconds for annotator in annotators for seconds in getattr(annotator.tally, kind))


def errors_of(annotators: Sequence[Annotator]) -> list[str]:
    return [error for annotator in annotators for error in annotator.tally.errors]
