"""Two web hosts, a judging worker and two worker hosts work as one site."""

import io
import zipfile

from django.urls import reverse

from judging.models import Batch, Judgment, Release
from judging.work.services.batches import batch_review
from tests.production.topology import Site
from tests.production.topology.project import Scenario, always, judge_all
from tests.production.topology.site import eventually


def hosts_that_answered(site: Site, path: str) -> list[str]:
    """The web hosts that were asked for this path, by their access logs."""
    return [web.name for web in site.web if path in web.log_output()]


def test_a_batch_is_judged_over_both_web_hosts_and_released_by_any_worker(site: Site) -> None:
    scenario = Scenario.make(annotators=2)
    batch = scenario.batch(pairs=6)
    for number, user in enumerate(scenario.annotators):
        assert judge_all(scenario.person(site, user), scenario, always(3 + number)) == 6
    assert hosts_that_answered(site, str(scenario.project.uuid)) == ["web-1", "web-2"]

    eventually(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)
    assert Judgment.objects.filter(pair__batch=batch).count() == 12
    assert list(batch.pairs.values_list("state", "relevance")) == [("settled", 4)] * 6
    decided_by = [
        host.name for host in (site.judging, *site.workers) if "judging.tasks.batch_advance[" in host.log_output()
    ]
    assert decided_by == ["judging"]

    batch.refresh_from_db()
    batch_review(batch=batch, extend=False, lead=scenario.lead)
    lead = scenario.person(site, scenario.lead)
    assert lead.post(reverse("judging:release-create", args=[scenario.project.uuid])).status_code == 200
    release = Release.objects.get(project=scenario.project)
    eventually(lambda: Release.objects.get(pk=release.pk).state == Release.State.READY)

    path = reverse("judging:release-download", args=[release.uuid])
    archives = [lead.get(path).content for _ in range(4)]
    assert hosts_that_answered(site, path) == ["web-1", "web-2"]
    assert len(set(archives)) == 1
    assert zipfile.ZipFile(io.BytesIO(archives[0])).testzip() is None


def test_a_session_made_on_one_host_ends_on_the_other(site: Site) -> None:
    scenario = Scenario.make(annotators=1)
    person = scenario.person(site, scenario.annotators[0])
    desk = scenario.path("desk")
    assert {person.get(desk).status_code for _ in range(4)} == {200}
    person.post("/logout/")
    assert [person.get(desk, allow_redirects=False).status_code for _ in range(4)] == [302] * 4


def test_plain_http_leads_to_https_and_every_answer_says_so(site: Site) -> None:
    visitor = site.visitor()
    answer = visitor.get(f"http://{site.nginx.address}:{site.nginx.plain_port}/login/", allow_redirects=False)
    assert answer.status_code == 301
    assert answer.headers["Location"] == f"{site.url}/login/"
    page = visitor.get("/login/")
    assert page.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    assert all(cookie.secure for cookie in visitor.session.cookies)
