"""Requests that no browser sends, through nginx as docker/ configures it: what stands behind it must not read them
otherwise than it does, and no header of a stranger's may speak for nginx."""

import ssl
from contextlib import ExitStack, suppress
from urllib.parse import quote

import pytest
import requests
from django.urls import reverse

from tests.production.test_files import give_preview
from tests.production.topology import Site
from tests.production.topology.project import Scenario, take
from tests.production.topology.site import eventually

Answers = list[tuple[int, bytes]]  # status and body, in the order in which they came
SECRET = "for who may see it"
CUT: list[int] = []  # refused before all was read: the closing can overtake the answer


def send_raw(site: Site, raw: bytes) -> bytes:
    """All that comes back until nginx closes the connection, which it may do before it has read everything."""
    with site.nginx.open_connection() as line:
        with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
            line.sendall(raw)
        received = b""
        with suppress(ConnectionResetError, ssl.SSLError):
            while piece := line.recv(65536):
                received += piece
        return received


def statuses(received: bytes) -> list[int]:
    return [int(part.split(b" ", 2)[1]) for part in received.split(b"\r\n") if part.startswith(b"HTTP/1.1 ")]


def host(site: Site) -> bytes:
    return f"{site.nginx.address}:{site.nginx.port}".encode()


def request(site: Site, method: bytes, path: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: " + host(site), b"Connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


HIDDEN = b"GET /metrics-of-nobody HTTP/1.1\r\nHost: x\r\n\r\n"
TWO_READINGS = {  # headers and body that one server may read as one request and another as two
    "length and chunks": ((b"Content-Length: 4", b"Transfer-Encoding: chunked"), b"0\r\n\r\n" + HIDDEN),
    "chunks and length": ((b"Transfer-Encoding: chunked", b"Content-Length: 4"), b"0\r\n\r\n" + HIDDEN),
    "two lengths": ((b"Content-Length: 0", b"Content-Length: %d" % len(HIDDEN)), HIDDEN),
    "a list of lengths": ((b"Content-Length: 0, %d" % len(HIDDEN),), HIDDEN),
    "a signed length": ((b"Content-Length: +0",), HIDDEN),
    "a hexadecimal length": ((b"Content-Length: 0x0",), HIDDEN),
    "an unknown coding": ((b"Transfer-Encoding: xchunked",), b"0\r\n\r\n" + HIDDEN),
    "chunks twice": ((b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"), b"0\r\n\r\n" + HIDDEN),
    "chunks behind a tab": ((b"Transfer-Encoding:\tchunked, identity",), b"0\r\n\r\n" + HIDDEN),
    "a folded header": ((b"Transfer-Encoding:", b" chunked"), b"0\r\n\r\n" + HIDDEN),
    "a space before the colon": ((b"Content-Length : 0",), HIDDEN),
    "a chunk of no size": ((b"Transfer-Encoding: chunked",), b"-1\r\n" + HIDDEN),
    "a chunk too large to count": ((b"Transfer-Encoding: chunked",), b"fffffffffffffffff1\r\n" + HIDDEN),
}


@pytest.mark.parametrize("name", TWO_READINGS)
def test_no_second_request_hides_in_a_first(site: Site, name: str) -> None:
    headers, body = TWO_READINGS[name]
    before = requests_for_hidden_path(site)
    received = send_raw(site, request(site, b"POST", b"/login/", *headers, body=body))
    assert len(statuses(received)) <= 1, received[:2000]
    assert all(status < 500 or status == 501 for status in statuses(received)), received[:500]
    assert site.visitor().get("/login/").status_code == 200
    assert requests_for_hidden_path(site) == before


def requests_for_hidden_path(site: Site) -> int:
    """How often a web host was asked for the hidden request's path."""
    return sum(web.log_output().count("metrics-of-nobody") for web in site.web)


def test_what_a_stranger_says_of_themselves_is_not_believed(site: Site) -> None:
    """Neither address, scheme, host nor method: only nginx and the request line say these."""
    visitor = site.visitor()
    spoofed = {
        "X-Forwarded-Proto": "http",
        "X-Forwarded-Host": "elsewhere.example",
        "X-Forwarded-Port": "1",
        "X-Forwarded-Server": "elsewhere.example",
        "Forwarded": "host=elsewhere.example;proto=http",
        "X-Original-URL": "/metrics",
        "X-Rewrite-URL": "/metrics",
        "X-HTTP-Method-Override": "DELETE",
        "X-Real-IP": "127.0.0.1",
    }
    answer = visitor.get("/login/", headers=spoofed, allow_redirects=False)
    assert answer.status_code == 200
    assert "elsewhere.example" not in answer.text + str(answer.headers)
    moved = visitor.get("/account/", headers=spoofed, allow_redirects=False)
    assert (moved.status_code, moved.headers["Location"]) == (302, "/login/?next=/account/")
    for inside in ("/metrics", "/readyz"):
        status = visitor.get(inside, headers={"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"}).status_code
        assert status == (403 if inside == "/metrics" else 200)  # the tests come from 127.0.0.0/8, which may ask


def test_an_address_that_somebody_claims_does_not_save_them_from_the_limit(site: Site) -> None:
    name = f"nobody-{site.nginx.port}"
    answers = [
        site.visitor().post("/login/", {"username": name, "password": "x"}, headers={"X-Forwarded-For": f"10.0.0.{n}"})
        for n in range(8)
    ]
    assert answers[-1].status_code == 429, [answer.status_code for answer in answers]


@pytest.mark.parametrize("name", ["elsewhere.example", "127.0.0.10.elsewhere.example", "a b", "x" * 5000, "[::1", ""])
def test_a_host_that_is_not_ours_gets_no_page(site: Site, name: str) -> None:
    raw = f"GET /login/ HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
    received = send_raw(site, raw)
    assert statuses(received) in ([400], [414], [431]), received[:300]
    assert b"elsewhere.example" not in received


SAME_FILE = r"""
/protected/{} //protected/{} /protected//{} /./protected/{} /%70rotected/{} /protected%2f{} /Protected/{}
/login/../protected/{} /login/%2e%2e/protected/{} /login/..%2fprotected/{} /login/;/../protected/{}
/static/../protected/{} /static/..%2f..%2fprotected/{} /static/%2e%2e/%2e%2e/shared/media/{}
/static/..\..\shared\media\{} /protected/../../shared/media/{} /protected../media/{} /momentjudge/..%2fprotected/{}
"""  # names of a file that nginx gives only when Django says so


@pytest.mark.parametrize("path", SAME_FILE.split())
def test_a_file_is_not_reached_by_another_name_of_its_path(site: Site, path: str) -> None:
    (site.shared / "media" / "secret.txt").write_text(SECRET)
    for method in (b"GET", b"HEAD", b"POST"):
        received = send_raw(
            site, request(site, method, path.format("secret.txt").encode(), b"X-Accel-Redirect: /protected/")
        )
        assert statuses(received)[0] in (400, 403, 404, 405), received[:300]
        assert SECRET.encode() not in received


@pytest.mark.parametrize(
    "header", ["X-Accel-Redirect: /protected/secret.txt", "X-Sendfile: /etc/passwd", "X-Accel-Internal: /protected/"]
)
def test_a_stranger_does_not_choose_what_nginx_sends(site: Site, header: str) -> None:
    (site.shared / "media" / "secret.txt").write_text(SECRET)
    for path in (b"/login/", b"/healthz", b"/static/css/app.css", b"/nowhere/"):
        received = send_raw(site, request(site, b"GET", path, header.encode()))
        assert SECRET.encode() not in received and b"root:x:0" not in received


def test_closed_paths_have_one_name(site: Site) -> None:
    for path in ("/metrics", "//metrics", "/./metrics", "/login/../metrics", "/%6detrics", "/metrics/", "/metrics/x"):
        received = send_raw(site, request(site, b"GET", path.encode()))
        assert statuses(received)[0] in (403, 404), path
        assert b"momentjudge_" not in received.partition(b"\r\n\r\n")[2], path


def test_every_slash_and_dot_leads_to_the_same_refusal(site: Site) -> None:
    """A path must be the same to nginx and Django: a page is refused under all names of its own."""
    scenario = Scenario.make(annotators=1)
    lead, person = scenario.person(site, scenario.lead), scenario.person(site, scenario.annotators[0])
    overview = reverse("judging:overview", args=[scenario.project.uuid])
    for path in (overview, f"/{overview}", overview.replace("-", "%2d"), f"/x/..{overview}", f"/%2e{overview}"):
        assert person.session.get(f"{site.url}{path}", timeout=60).status_code in (403, 404), path
    assert lead.get(overview).status_code == 200


def test_ranges_by_the_thousand_are_one_file_at_most(site: Site) -> None:
    """A range repeated multiplies what is sent; nginx sends the file, or less."""
    scenario = Scenario.make(annotators=1)
    moment = give_preview(scenario.batch(pairs=1).pairs.get().candidate.moment)
    person = scenario.person(site, scenario.annotators[0])
    take(person, scenario)
    url = reverse("judging:preview-clip", args=[moment.preview_uuid])
    ranges = {"0-," + ",".join(f"{n}-" for n in range(1000)): (200, 206), "9" * 200 + "-": (416,), "-0": (416,)}
    for byte_range, status_codes in {**ranges, "5-1": (200, 416), "x": (200, 416), "0-0,-1,0-0": (200, 206)}.items():
        answer = person.get(url, headers={"Range": f"bytes={byte_range}"})
        assert answer.status_code in status_codes, byte_range
        assert len(answer.content) <= 4 * 10 + 1000, (byte_range[:20], len(answer.content))


def test_headers_without_end_are_refused_and_others_are_served(site: Site) -> None:
    for more in (
        [b"X-%d: %s" % (n, b"y" * 4000) for n in range(40)],
        [b"Cookie: " + b"a=b; " * 9000],
        [b"X: " + b"y" * 60_000],
    ):
        received = send_raw(site, request(site, b"GET", b"/login/", *more))
        assert statuses(received) in (CUT, [400], [431], [494]), received[:200]
    assert statuses(send_raw(site, request(site, b"GET", b"/" + b"a" * 60_000))) in (CUT, [414])
    assert site.visitor().get("/login/").status_code == 200


@pytest.mark.parametrize(
    "text", ["a\r\nSet-Cookie: evil=1", "a\nX-Evil: 1", "a%0d%0aSet-Cookie:%20evil=1", "a\r\n\r\n<script>"]
)
def test_an_address_writes_no_header(site: Site, text: str) -> None:
    for path in (f"/login/?next={quote(text)}", f"/{quote(text)}", f"/account/?{quote(text)}", f"/login/?next=/{text}"):
        with suppress(requests.exceptions.InvalidURL):
            answer = site.visitor().get(path, allow_redirects=False)
            assert "evil" not in answer.cookies and "X-Evil" not in answer.headers
    plain = f"http://{site.nginx.address}:{site.nginx.plain_port}/{quote(text)}"
    moved = site.visitor().get(plain, allow_redirects=False)
    assert moved.headers["Location"].startswith(f"{site.url}/")
    assert "X-Evil" not in moved.headers and "Set-Cookie" not in moved.headers


def test_whoever_sends_half_a_request_holds_up_nobody(site: Site) -> None:
    """nginx keeps them from the web processes, of which there are eight threads a host."""
    with ExitStack() as lines:
        for n in range(100):
            line = lines.enter_context(site.nginx.open_connection())
            line.sendall(
                b"POST /login/ HTTP/1.1\r\nHost: " + host(site) + b"\r\nContent-Length: 1000\r\n\r\nhalf" * (n % 2)
                or b"GE"
            )
        answers = [site.visitor().get("/login/").status_code for _ in range(20)]
    assert answers == [200] * 20
    eventually(lambda: site.visitor().get("/login/").status_code == 200)
