"""How long a newcomer waits for the demo: the first judged pair, a leaderboard, an own trained row.

    python -m benchmarks.first_hour [--json]

Starts the whole site on an empty data folder as ``make run`` does, with the demo, and asks for its pages as a browser
does, from the moment its address is printed: as ``annotator`` the desk until a batch can be begun, then one grade; as
``lead`` the leaderboard until it shows four systems; then the form of a new benchmark run as it stands, until its row
is there. Nothing is clicked: a person's own time is apart. Method and figures: docs/benchmarks/first-hour.md.
Exit status 1: the first pair takes more than 15 s, or the trained row more than 90.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from typing import Any

from benchmarks.annotator import GRADE, TAKE, Browser, key_of
from benchmarks.common import ROOT, arguments, load_now, machine, say, show, stoppable
from benchmarks.own_site import FOREIGN, free_port

LOOK_S, PATIENCE_S = 0.25, 900.0
FIRST_PAIR_S, OWN_ROW_S, SYSTEMS = 15.0, 90.0, 4
ROW = re.compile(r'<th scope="row"><a href="/runs/run/')
STARTED, SEEDED = re.compile(r"is running"), re.compile(r"^demo \|")
READY = re.compile("The demo is ready")


@stoppable
def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(__doc__).parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="momentjudge-first-hour-") as var:
        port = free_port()
        others = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        environment = others | {"MOMENTJUDGE_VAR": var, "PORT": str(port)}
        began, load = time.monotonic(), load_now()
        command = [sys.executable, "-m", "core.embedded", "--welcome", "judging/demo/welcome.txt", "--seed", "demo"]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as site:
            try:
                result = {"machine": machine(), "load": load, **measure(site, port, began)}
            finally:
                site.send_signal(signal.SIGINT)
    show(result, as_json=options.json)
    return 0 if result["first_pair_s"] <= FIRST_PAIR_S and result["own_row_s"] <= OWN_ROW_S else 1


def measure(site: "subprocess.Popen[str]", port: int, began: float) -> dict[str, float]:
    assert site.stdout is not None
    next(line for line in site.stdout if STARTED.search(line))
    address_at = time.monotonic()
    next(line for line in site.stdout if SEEDED.search(line))  # its people can log in
    seconds = {"address_s": address_at - began, "first_pair_s": first_pair(port) - address_at}
    say(f"The first pair is judged after {seconds['first_pair_s']:.1f} s")
    lead = Browser(port)
    lead.log_in("lead", "lead-demo")
    project = re.findall(r'href="/overview/([0-9a-f-]{36})/', lead.get("/"))[0]
    board = f"/runs/{project}/"
    wait_for(lambda: rows_of(lead.get(board)) >= SYSTEMS)
    seconds["leaderboard_s"] = time.monotonic() - address_at
    next(line for line in site.stdout if READY.search(line))
    seconds["demo_ready_s"] = time.monotonic() - address_at
    say(f"Four systems after {seconds['leaderboard_s']:.1f} s, the demo is ready after {seconds['demo_ready_s']:.1f} s")
    before, started_at = rows_of(lead.get(board)), time.monotonic()
    page = lead.get(f"{board}experiments/new/")
    page = lead.post(f"{board}experiments/new/", page, **fields_of(page, "experiments/new/"))
    if "Start a benchmark run</h1>" in page:
        raise SystemExit("the form of a benchmark run was refused as it stood")
    wait_for(lambda: rows_of(lead.get(board)) > before)
    seconds["own_row_s"] = time.monotonic() - started_at
    return {name: round(value, 1) for name, value in seconds.items()}


def first_pair(port: int) -> float:
    """Judge one pair as the demo's annotator; return when its answer was there."""
    browser, page = Browser(port), ""
    browser.log_in("annotator", "annotator-demo")

    def can_begin() -> bool:
        nonlocal page
        page = browser.get("/")
        return TAKE.search(page) is not None

    wait_for(can_begin)
    take = TAKE.search(page)
    assert take is not None
    page = browser.post(take[1], page)
    grade = GRADE.search(page)
    assert grade is not None
    browser.post_htmx(grade[1], page, grade="3", key=key_of(page))
    return time.monotonic()


def rows_of(page: str) -> int:
    return len(ROW.findall(page))


def wait_for(happens: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not happens():
        if time.monotonic() > until:
            raise SystemExit(f"it has not happened within {PATIENCE_S:g} s")
        time.sleep(LOOK_S)


class Fields(HTMLParser):
    """Collects what the form of an address would send as it stands."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.is_inside, self.select = address, False, ""
        self.values: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about: dict[str, Any] = dict(attrs)
        if tag == "form":
            self.is_inside = str(about.get("action", "")).endswith(self.address)
        if not self.is_inside:
            return
        name, is_chosen = about.get("name"), "checked" in about or about.get("type") not in ("checkbox", "radio")
        if tag == "input" and name and is_chosen and "disabled" not in about:
            self.values[name] = about.get("value") or ("on" if about.get("type") == "checkbox" else "")
        if tag == "select":
            self.select = str(name)
        if tag == "option" and self.select and ("selected" in about or self.select not in self.values):
            self.values[self.select] = about.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.is_inside = False
        if tag == "select":
            self.select = ""


def fields_of(page: str, address: str) -> dict[str, str]:
    parser = Fields(address)
    parser.feed(page)
    return {name: value for name, value in parser.values.items() if name != "csrfmiddlewaretoken"}


if __name__ == "__main__":
    sys.exit(main())
