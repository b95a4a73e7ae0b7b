"""The configuration that docker/ ships, as nginx reads it."""

import http.client

import pytest

from tests.production.header_lines import lacking
from tests.production.topology import Site

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_nginx_accepts_the_template_without_object_storage_and_ipv6(site: Site) -> None:
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


UPLOADS = ["/corpora/import/", "/judgments/imports/new/", f"/runs/{UNKNOWN}/upload/"]
UPLOADS.append(f"/api/v1/projects/{UNKNOWN}/runs/")
OTHERS = ["/login/", f"/pairs/{UNKNOWN}/grade/", f"/api/v1/pairs/{UNKNOWN}/judgment/"]


@pytest.mark.parametrize(
    ("paths", "most", "too_much"), [(OTHERS, 2_500_000, 4_000_000), (UPLOADS, 219_000_000, 240_000_000)]
)
def test_a_body_too_long_for_its_page_is_refused_before_it_is_read(
    site: Site, paths: list[str], most: int, too_much: int
) -> None:
    for path in paths:
        assert (announced(site, path, most), announced(site, path, too_much)) == (100, 413), path


def test_what_is_too_large_is_refused_in_words(site: Site) -> None:
    much = b"x" * 4_000_000
    page = site.visitor().post("/login/", headers={"Content-Type": "text/plain"}, data=much)
    assert (page.status_code, lacking(page), "every other page takes 3 MB" in page.text) == (413, [], True)
    answer = site.visitor().post(f"/api/v1/pairs/{UNKNOWN}/judgment/", data=much)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def announced(site: Site, path: str, length: int) -> int:
    """Return the status with which nginx answers the headers of so long a body; 100 when it waits for the body."""
    head = f"POST {path} HTTP/1.1\r\nHost: {site.nginx.address}\r\nContent-Length: {length}\r\n"
    with site.nginx.open_connection(180) as connection, connection.makefile("rb") as answer:
        connection.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        return int(answer.readline().split()[1])


def test_what_nginx_says_itself_has_the_headers_of_every_answer(site: Site) -> None:
    visitor = site.visitor()
    for path, status in (("/metrics", 403), ("/protected/nothing.gif", 404), ("/protected/", 404)):
        answer = visitor.get(path)
        assert (answer.status_code, lacking(answer)) == (status, []), path
        assert answer.headers["Server"] == "nginx"  # and no version


def test_headers_that_django_sets_are_sent_once(site: Site) -> None:
    visitor = site.visitor()
    for path, page in (("/login/", True), ("/nowhere/", True), ("/readyz", False), ("/static/css/app.css", True)):
        assert lacking(visitor.get(path), page=page) == [], path
    page = visitor.get("/login/")
    (header,) = page.raw.headers.getlist("Cache-Control")
    assert "no-store" in header
    assert (page.headers["Server"], page.headers["Content-Encoding"]) == ("nginx", "gzip")
    assert "accept-encoding" in page.headers["Vary"].lower()


def test_ipv6_is_answered_where_the_machine_has_it(site: Site) -> None:
    if not site.nginx.also:
        pytest.skip("this machine has no IPv6")
    trusted = site.nginx.trusted
    trusted.check_hostname = False  # it names the other address
    connection = http.client.HTTPSConnection("::1", site.nginx.port, timeout=180, context=trusted)
    connection.request("GET", "/healthz", headers={"Host": site.nginx.address})
    assert connection.getresponse().status == 200
    connection.close()
