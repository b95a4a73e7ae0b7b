"""Where does the processor time of one judgment go? Layer by layer in the web process, statement by statement in both.

    python -m benchmarks.judging_layers --judgments 400 --json
    python -m benchmarks.judging_layers --staff 100000 --json

``--staff`` measures the pages of a lead instead, in a project of so many pairs that has been judged for months.

Judgments go through all middleware in this process, against the PostgreSQL of a site of its own. Time is that of the
processor: of this thread, and of the connection's server process (Linux's schedstat); what another program does to the
caches shows, waiting does not. Each figure is the lower quartile in µs. The HTTP server and its log are no part of it:
docs/benchmarks/judging-loop.md has them by difference.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # it may be started by its path
from benchmarks.common import arguments, load_now, machine, show, stoppable
from benchmarks.own_site import HOST, own_site

PAIRS = 20
WARM_UP = 60  # judgments, until every statement is prepared
STEPS = {
    "form": "judging.work.forms.GradeForm.is_valid",
    "service": "judging.work.views.judge.judgments.judgment_submit",
    "page": "judging.work.views.judge._part",
    "template": "judging.work.views.judge.pair_part",
    "metrics": "core.observability.requests.request_observe",
}
REQUESTS = ("take", "page", "judgment", "finish")
STAFF_PAGES = (
    "overview queries query-sets review-queue flags dropped agreement alerts figures people exams pay forecast"
)
STAFF_PAGES += " releases guideline policy audit"
STAFF_ROUNDS = 7  # of all pages; the first three, in which statements are planned, are not counted
Times = dict[str, list[float]]


@stoppable
def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__, judgments=(400, "how many are measured"), staff=(0, "pairs of a project for a lead"))
    options = parser.parse_args(argv)
    with own_site(with_django=True):
        result = measure_staff(options.staff) if options.staff else measure(options.judgments)
    show({**result, "load": load_now(), "machine": machine()}, as_json=options.json)
    return 0


def measure(judgments: int) -> dict[str, Any]:
    """Return µs of each layer, of each step within the innermost, and of each request and statement here and there."""
    from django.test import Client

    from benchmarks import database

    batches = (judgments + WARM_UP) // PAIRS + 1
    seeded = database.project_seed(annotators=1, queries=batches)
    layers: Times = defaultdict(list)
    with layers_timed(layers) as names:
        client = Client(enforce_csrf_checks=True, headers={"host": HOST})
        client.handler.load_middleware()
    client.force_login(seeded.annotators[0])
    steps: Times = defaultdict(list)
    watch = Watch()
    with steps_timed(steps), watch.statements_timed():
        for number in range(batches):
            if number * PAIRS == WARM_UP:
                for times in (layers, steps, watch.here, watch.there):
                    times.clear()
            judge(watch, client, seeded.project, layers)
    inclusive = [quartile(layers[name]) for name in names]
    own = [all_of_it - inner for all_of_it, inner in zip(inclusive, [0, *inclusive], strict=False)]
    often = [text for text, times in watch.here.items() if len(times) > judgments // 2 or text in REQUESTS]
    return {
        "layers": dict(reversed(list(zip(names, own, strict=True)))),
        "steps": {name: quartile(times) for name, times in steps.items()},
        "web, database": {text: [quartile(watch.here[text]), quartile(watch.there[text])] for text in often},
    }


def measure_staff(pairs: int) -> dict[str, Any]:
    """Return of each page of a lead: µs here and of the database, statements, and kB of the answer."""
    from django.test import Client
    from django.urls import reverse

    from accounts.models import Project
    from benchmarks.database import lead_create
    from benchmarks.populate import populate

    project = populate(pairs, 3 * pairs, 200).project
    client = Client(headers={"host": HOST})
    client.force_login(lead_create(Project.objects.get(uuid=project), "benchmark-lead"))
    watch, pages = Watch(), dict[str, list[Any]]()
    with watch.statements_timed():
        for number in range(STAFF_ROUNDS):
            if number == STAFF_ROUNDS // 2:
                watch.here.clear()
                watch.there.clear()
            for name in STAFF_PAGES.split():
                url, before = reverse(f"judging:{name}", args=[project]), _runs(watch)
                answer = watch.request(name, lambda url=url: client.get(url))
                assert answer.status_code == 200, (name, answer.status_code)
                pages[name] = [_runs(watch) - before - 1, round(len(answer.content) / 1000)]
    return {"pages": {name: [quartile(watch.here[name]), quartile(watch.there[name]), *pages[name]] for name in pages}}


def _runs(watch: "Watch") -> int:
    return sum(map(len, watch.here.values()))


def judge(watch: "Watch", client: Any, project: Any, layers: Times) -> None:
    """Take one assignment, grade all its pairs as a browser does, and finish it; layers are those of judgments."""
    from django.urls import reverse

    from judging.work.selectors.assignments import current_assignment

    form_options = {"content_type": "application/x-www-form-urlencoded", "headers": {"HX-Request": "true"}}
    desk, next_pair = (reverse(f"judging:{name}", args=[project.uuid]) for name in ("desk", "pair-next"))
    client.get(desk)  # sets the cookie of the token
    token = {"csrfmiddlewaretoken": client.cookies["csrftoken"].value}
    counts = {name: len(times) for name, times in layers.items()}
    answers = [
        watch.request("take", lambda: client.post(f"{desk}take/", token)),
        watch.request("page", lambda: client.get(next_pair)),
    ]
    assignment = current_assignment(annotator_id=int(client.session["_auth_user_id"]), project_id=project.pk)
    assert assignment is not None, answers
    for name, times in layers.items():
        del times[counts[name] :]
    for pair_view in assignment.pair_views:
        form = urlencode({"grade": 2, "key": assignment.key_of(pair_view), "comment": "", **token})
        path = reverse("judging:judgment-create", args=[pair_view.uuid])
        answers.append(watch.request("judgment", lambda path=path, form=form: client.post(path, form, **form_options)))
    counts = {name: len(times) for name, times in layers.items()}
    answers.append(watch.request("finish", lambda: client.post(f"{desk}finish/", token)))
    for name, times in layers.items():
        del times[counts[name] :]
    refused = [answer for answer in answers if answer.status_code not in (200, 302)]
    assert not refused, refused[0].content


@contextmanager
def layers_timed(times: Times) -> Iterator[list[str]]:
    """Have the handler that is loaded inside time each middleware with all that it encloses."""
    from django.core.handlers import base

    wrap, names = base.convert_exception_to_response, list[str]()

    def timed(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
        name = getattr(get_response, "__name__", None) or type(get_response).__name__
        names.append(name)
        return _timed(wrap(get_response), times, name)

    with patch.object(base, "convert_exception_to_response", timed):
        yield names


@contextmanager
def steps_timed(times: Times) -> Iterator[None]:
    from pkgutil import resolve_name

    with ExitStack() as stack:
        for name, path in STEPS.items():
            owner, _, attribute = path.rpartition(".")
            stack.enter_context(patch(path, _timed(getattr(resolve_name(owner), attribute), times, name)))
        yield


def _timed(function: Callable[..., Any], times: Times, name: str) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            times[name].append(time.thread_time() - began)

    return timed


class Watch:
    """Processor seconds of requests and statements: ``here`` in this thread, ``there`` in its PostgreSQL process."""

    def __init__(self) -> None:
        from django.db import connection

        connection.ensure_connection()
        self.here: Times = defaultdict(list)
        self.there: Times = defaultdict(list)
        self._schedstat = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")

    def request(self, name: str, call: Callable[[], Any]) -> Any:
        return self._measured(name, call)

    def _measured(self, name: str, call: Callable[[], Any]) -> Any:
        before, began = self._busy_s(), time.thread_time()
        try:
            return call()
        finally:
            self.here[name].append(time.thread_time() - began)
            self.there[name].append(self._busy_s() - before)

    def _busy_s(self) -> float:
        return int(self._schedstat.read_text().split()[0]) / 1e9

    @contextmanager
    def statements_timed(self) -> Iterator[None]:
        """Time each statement inside the block, and COMMIT; BEGIN counts with the first statement behind it."""
        import psycopg

        execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit

        def execute_timed(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            text = " ".join(str(query).split())[:60]
            return self._measured(text, lambda: execute(cursor, query, *args, **kwargs))

        def commit_timed(connection: Any) -> None:
            self._measured("COMMIT", lambda: commit(connection))

        patches = ((psycopg.Cursor, "execute", execute_timed), (psycopg.Connection, "commit", commit_timed))
        with ExitStack() as stack:
            for owner, name, timed in patches:
                stack.enter_context(patch.object(owner, name, timed))
            yield


def quartile(times: Sequence[float]) -> int:
    """Return the lower quartile in µs."""
    return round(sorted(times)[len(times) // 4] * 1e6) if times else 0


if __name__ == "__main__":
    sys.exit(main())
