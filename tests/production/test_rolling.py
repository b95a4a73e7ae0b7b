"""A new release is brought into service while people judge, and nobody sees an error."""

from django.urls import reverse

from judging.models import Release
from tests.production.faults.crowd import Crowd
from tests.production.topology import Site
from tests.production.topology.compose import Roll
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually


def test_both_web_hosts_are_rolled_without_an_error(site: Site) -> None:
    """Each request is a connection of its own, as keep-alive ends with any proxy's."""
    before = [web.pid for web in site.web]
    crowd = Crowd(site, batches=16)
    for browser in crowd.browsers:
        browser.person.session.headers["Connection"] = "close"
    with crowd:
        crowd.await_grades(5)
        roll = Roll(site)
        roll.run()
        crowd.await_done()
    assert roll.calls[0] == "run --rm migrate docker/migrate --rolling"
    assert all(new != old for new, old in zip((web.pid for web in site.web), before, strict=True))
    assert not crowd.troubles, crowd.troubles
    crowd.check()


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
