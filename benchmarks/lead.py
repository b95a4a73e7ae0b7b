"""A lead over HTTP: every request is timed, as their browser would send it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from benchmarks.annotator import PASSWORD, TIMEOUT_S, Browser, Unexpected, token_of
from benchmarks.figures import percentile_ms
from benchmarks.own_site import HOST
from benchmarks.wire import Reply, Wire

USERNAME = "benchmark-lead"


def lead_create(project: str) -> None:
    """An account that leads the project named by its UUID; Django must be set up."""
    from accounts.models import Membership, Project, User

    user = User.objects.create_user(USERNAME, PASSWORD)
    Membership.objects.create(project=Project.objects.get(uuid=project), user=user, role=Membership.Role.LEAD)


class Lead(Browser):
    """One keep-alive connection of a lead who is logged in."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.wire = Wire(HOST, port, timeout_s=TIMEOUT_S)
        self.token = ""

    def log_in(self) -> None:
        page = self.get("/login/")
        if 'name="password"' in self.post("/login/", page, username=USERNAME, password=PASSWORD):
            raise Unexpected(f"{USERNAME} cannot log in")

    def open(self, path: str) -> str:
        """A page, whose token serves what is sent from it."""
        page = self.get(path)
        self.token = token_of(page)
        return page

    def ask(self, path: str) -> Reply:
        """What htmx asks for."""
        return self._send("GET", path, {"HX-Request": "true"})

    def tell(self, path: str, **fields: str) -> Reply:
        """What htmx sends."""
        return self.tell_all(path, list(fields.items()))

    def tell_all(self, path: str, fields: Sequence[tuple[str, str]]) -> Reply:
        headers = {"HX-Request": "true", "X-CSRFToken": self.token, "Origin": self.origin}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self._send("POST", path, headers, urlencode(fields).encode())


@dataclass
class Times:
    """How long the answers of one kind took, in seconds."""

    seconds: list[float] = field(default_factory=list)
    largest_kb: float = 0.0

    def take(self, reply: Reply, began: float, *, status: int = 200) -> Reply:
        """Note an answer.

        Raises:
            Unexpected: it has another status.
        """
        self.seconds.append(time.perf_counter() - began)
        self.largest_kb = max(self.largest_kb, round(len(reply.body) / 1000, 1))
        if reply.status != status:
            raise Unexpected(f"{reply.status} instead of {status}: {reply.body[:300]!r}", status=reply.status)
        return reply

    def figures(self) -> dict[str, float]:
        ordered = sorted(self.seconds)
        return {
            "answers": len(ordered),
            "p50_ms": percentile_ms(ordered, 50),
            "p95_ms": percentile_ms(ordered, 95),
            "largest_kb": self.largest_kb,
        }
