"""A new release is brought into service while people judge, and nobody sees an error."""

import threading
from collections import Counter

from django.urls import reverse

from benchmarks.annotator import GRADE
from judging.models import Judgment, Release
from tests.production.topology import Person, Site
from tests.production.topology.compose import Roll
from tests.production.topology.project import Scenario, give, take
from tests.production.topology.site import eventually


class Crowd:
    """People who ask without a pause; each request is a connection of its own, as keep-alive ends with any proxy's."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.over = threading.Event()
        self.threads: list[threading.Thread] = []

    def looks(self, person: Person, path: str) -> None:
        self._begin(lambda: person.get(path, headers={"Connection": "close"}).status_code)

    def regrades(self, person: Person, pair: str) -> None:
        """Looks at the same pair again and gives it another grade, again and again."""
        grades = iter(range(1_000_000))
        self._begin(lambda: give(person, person.get(pair).text, next(grades) % 5).status_code)

    def end(self) -> Counter[str]:
        self.over.set()
        for thread in self.threads:
            thread.join(60)
        return self.answers

    def _begin(self, act) -> None:  # type: ignore[no-untyped-def]
        def go_on() -> None:
            while not self.over.wait(0.2):
                try:
                    self.answers[str(act())] += 1
                except Exception as error:
                    self.answers[repr(error)[:200]] += 1

        self.threads.append(threading.Thread(target=go_on, daemon=True))
        self.threads[-1].start()


def test_both_web_hosts_are_rolled_without_an_error(site: Site) -> None:
    scenario = Scenario.make(annotators=2)
    scenario.batch(pairs=3)
    first, second = (scenario.person(site, user) for user in scenario.annotators)
    lead = scenario.person(site, scenario.lead)
    pair = f"/pairs/{GRADE.search(take(first, scenario))[2]}/"  # type: ignore[index]
    first.session.headers["Connection"] = "close"
    before = [web.pid for web in site.web]

    crowd = Crowd()
    crowd.looks(second, scenario.path("desk"))
    crowd.looks(lead, reverse("judging:releases", args=[scenario.project.uuid]))
    crowd.regrades(first, pair)
    roll = Roll(site)
    roll.run()
    answers = crowd.end()

    assert all(new != old for new, old in zip((web.pid for web in site.web), before, strict=True))
    assert roll.calls[0] == "run --rm migrate"
    assert set(answers) == {"200"}, answers
    assert answers["200"] > 20
    assert Judgment.objects.filter(annotator=scenario.annotators[0]).count() == 1


def test_a_worker_that_is_to_end_finishes_its_task_or_hands_it_back(site: Site) -> None:
    """SIGTERM to both worker hosts while a release is asked for: it is built by whoever comes back."""
    scenario = Scenario.make()
    lead = scenario.person(site, scenario.lead)
    for worker in site.workers:
        worker.send_signal(worker.polite)
    assert lead.post(reverse("judging:release-create", args=[scenario.project.uuid])).status_code == 200
    for worker in site.workers:
        assert worker.ended_within(60)
        assert worker.process is not None and worker.process.returncode == 0
    site.bring_back("worker")
    eventually(lambda: Release.objects.get(project=scenario.project).state == Release.State.READY)
