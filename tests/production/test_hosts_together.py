"""Two web hosts and the judging worker work as one site."""

from judging.models import Batch, Judgment
from tests.production.topology import Site
from tests.production.topology.project import Scenario, always, judge_all
from tests.production.topology.site import eventually


def test_a_batch_is_judged_over_both_web_hosts_and_decided_by_the_judging_worker(site: Site) -> None:
    scenario = Scenario.make(annotators=2)
    batch = scenario.batch(pairs=6)
    for number, user in enumerate(scenario.annotators):
        assert judge_all(scenario.person(site, user), scenario, always(3 + number)) == 6
    assert all(str(scenario.project.uuid) in web.log_output() for web in site.web)
    eventually(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)
    assert Judgment.objects.filter(pair__batch=batch).count() == 12
    assert list(batch.pairs.values_list("state", "relevance")) == [("settled", 4)] * 6
    workers = [site.judging, *site.workers]
    assert [host for host in workers if "judging.tasks.batch_advance[" in host.log_output()] == [site.judging]


def test_a_session_made_on_one_host_ends_on_the_other(site: Site) -> None:
    scenario = Scenario.make(annotators=1)
    person = scenario.person(site, scenario.annotators[0])
    assert all(cookie.secure for cookie in person.session.cookies)
    desk = scenario.path("desk")
    assert {person.get(desk).status_code for _ in range(4)} == {200}
    person.post("/logout/")
    assert [person.get(desk, allow_redirects=False).status_code for _ in range(4)] == [302] * 4
