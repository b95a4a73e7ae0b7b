"""The configuration that docker/ ships, as nginx reads it."""

import http.client
import ssl

from tests.production.topology import Site


def test_nginx_accepts_the_shipped_template(site: Site) -> None:
    assert "syntax is ok" in site.nginx.check()


def test_a_body_beyond_what_any_page_takes_is_refused_before_it_is_read(site: Site) -> None:
    assert announced(site, 219_000_000) is None
    assert announced(site, 240_000_000) == 413


def announced(site: Site, length: int) -> int | None:
    """What nginx says to the mere announcement of so long a body; None when it waits for it."""
    trusted = ssl.create_default_context(cafile=str(site.nginx.certificate))
    connection = http.client.HTTPSConnection(site.nginx.address, site.nginx.port, timeout=3, context=trusted)
    connection.putrequest("POST", "/login/")
    connection.putheader("Content-Length", str(length))
    connection.endheaders()
    try:
        return connection.getresponse().status
    except TimeoutError:
        return None
    finally:
        connection.close()


def test_pages_are_packed_and_files_from_nginx_alone_are_not_reached(site: Site) -> None:
    page = site.visitor().get("/login/")
    assert page.headers["Content-Encoding"] == "gzip"
    assert page.headers["Vary"].lower().count("accept-encoding") >= 1
    (site.shared / "media" / "secret.txt").write_text("for who may see it")
    assert site.visitor().get("/protected/secret.txt").status_code == 404


def test_the_server_does_not_tell_its_version(site: Site) -> None:
    assert site.visitor().get("/login/").headers["Server"] == "nginx"
