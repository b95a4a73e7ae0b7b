"""Logs of nginx: who requests what."""

from judging.people.services import invitation_create
from tests.production.topology import Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

SECRET = "c2VjcmV0/d2l4s1-3f2a8b9c0d1e2f3a4b5c6d7e8f9a0b1c"


def lines_after(site: Site, paths: list[str]) -> list[str]:
    """The lines of the access log that came of asking for these addresses, as they are typed."""
    before = len(site.nginx.access_log.read_text().splitlines())
    visitor = site.visitor()
    for path in paths:
        visitor.get(path, allow_redirects=False, headers={"Referer": f"{site.url}/invitations/of-a-page/"})
    eventually(lambda: len(site.nginx.access_log.read_text().splitlines()) >= before + len(paths))
    return site.nginx.access_log.read_text().splitlines()[before:]


def test_the_log_of_requests_opens_nothing(site: Site) -> None:
    scenario = Scenario.make(annotators=0)
    _, link = invitation_create(project=scenario.project, actor=scenario.lead, role="annotator")
    secret = link.strip("/").split("/")[-1]
    log = "\n".join(
        lines_after(site, [link, f"/%69nvitations/{secret}/", f"/password/choose/{SECRET}/", f"/login/?next={link}"])
    )
    assert secret not in log
    assert SECRET.partition("/")[2] not in log
    assert "of-a-page" not in log
    assert "next=" not in log
    assert "GET /invitations/[secret] HTTP" in log
    assert "GET /password/choose/[secret] HTTP" in log
    assert "GET /login/ HTTP" in log


def test_a_line_names_the_request_as_the_other_logs_do(site: Site) -> None:
    answer = site.visitor().get("/login/")
    eventually(lambda: answer.headers["X-Request-ID"] in site.nginx.access_log.read_text())
    (line,) = lines_after(site, ["/metrics"])
    assert line.split()[-1].isalnum()  # one that no web host ever saw
