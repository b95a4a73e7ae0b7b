"""The configuration that docker/ ships, as nginx reads it."""

import http.client
import ssl

import pytest

from tests.production.header_lines import lacking
from tests.production.topology import Site

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_nginx_accepts_the_shipped_template(site: Site) -> None:
    assert "syntax is ok" in site.nginx.check()


def test_nginx_accepts_it_without_object_storage_and_ipv6(site: Site) -> None:
    values_before = site.nginx.storage, site.nginx.also
    site.nginx.storage = site.nginx.also = ""
    try:
        assert "syntax is ok" in site.nginx.check()
    finally:
        site.nginx.storage, site.nginx.also = values_before


def test_what_begins_after_a_reload_is_not_cut_off_by_it(site: Site) -> None:
    """A connection that nginx's old processes took would be closed between two requests."""
    for _ in range(10):
        old = site.nginx.accepting()
        site.nginx.reload()
        assert site.nginx.accepting()
        assert not set(old) & set(site.nginx.accepting())


UPLOADS = [
    "/corpora/import/",
    "/judgments/imports/new/",
    f"/runs/{UNKNOWN}/upload/",
    f"/api/v1/projects/{UNKNOWN}/runs/",
]


def test_a_body_beyond_what_a_page_takes_is_refused_before_it_is_read(site: Site) -> None:
    for path in ("/login/", f"/pairs/{UNKNOWN}/grade/", f"/api/v1/pairs/{UNKNOWN}/judgment/"):
        assert announced(site, path, 2_500_000) == 100
        assert announced(site, path, 4_000_000) == 413


@pytest.mark.parametrize("path", UPLOADS)
def test_where_files_are_uploaded_they_are_let_through_up_to_the_limit_of_the_site(site: Site, path: str) -> None:
    assert announced(site, path, 219_000_000) == 100
    assert announced(site, path, 240_000_000) == 413


def test_what_is_too_large_is_refused_in_words(site: Site) -> None:
    much = b"x" * 4_000_000
    page = site.visitor().post("/login/", headers={"Content-Type": "text/plain"}, data=much)
    answer = site.visitor().post(f"/api/v1/pairs/{UNKNOWN}/judgment/", data=much)
    assert (page.status_code, "every other page takes 3 MB" in page.text) == (413, True)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def announced(site: Site, path: str, length: int) -> int:
    """Return the status with which nginx answers the headers of so long a body; 100 when it waits for the body."""
    trusted = ssl.create_default_context(cafile=str(site.nginx.certificate))
    connection = http.client.HTTPSConnection(site.nginx.address, site.nginx.port, timeout=180, context=trusted)
    connection.putrequest("POST", path)
    connection.putheader("Content-Length", str(length))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    try:
        with connection.sock.makefile("rb") as answer:  # http.client would pass over a 100
            return int(answer.readline().split()[1])
    finally:
        connection.close()


def test_what_nginx_says_itself_has_the_headers_of_every_answer(site: Site) -> None:
    visitor = site.visitor()
    for path, status in (("/metrics", 403), ("/protected/nothing.gif", 404), ("/protected/", 404)):
        answer = visitor.get(path)
        assert (answer.status_code, lacking(answer)) == (status, []), path
    much = visitor.post("/login/", headers={"Content-Type": "text/plain"}, data=b"x" * 4_000_000)
    assert (much.status_code, lacking(much)) == (413, [])


def test_headers_that_django_sets_are_sent_once(site: Site) -> None:
    visitor = site.visitor()
    for path, page in (("/login/", True), ("/nowhere/", True), ("/readyz", False), ("/static/css/app.css", True)):
        assert lacking(visitor.get(path), page=page) == [], path
    (header,) = visitor.get("/login/").raw.headers.getlist("Cache-Control")
    assert "no-store" in header


def test_ipv6_is_answered_where_the_machine_has_it(site: Site) -> None:
    if not site.nginx.also:
        pytest.skip("this machine has no IPv6")
    trusted = ssl.create_default_context(cafile=str(site.nginx.certificate))
    trusted.check_hostname = False  # it names the other address
    connection = http.client.HTTPSConnection("::1", site.nginx.port, timeout=180, context=trusted)
    connection.request("GET", "/healthz", headers={"Host": site.nginx.address})
    assert connection.getresponse().status == 200
    connection.close()


def test_pages_are_packed_and_files_from_nginx_alone_are_not_reached(site: Site) -> None:
    page = site.visitor().get("/login/")
    assert page.headers["Content-Encoding"] == "gzip"
    assert page.headers["Vary"].lower().count("accept-encoding") >= 1
    (site.shared / "media" / "secret.txt").write_text("for who may see it")
    assert site.visitor().get("/protected/secret.txt").status_code == 404


def test_the_server_does_not_reveal_its_version(site: Site) -> None:
    assert site.visitor().get("/login/").headers["Server"] == "nginx"
