"""The configuration that docker/ ships, as nginx reads it."""

from tests.production.topology import Site


def test_nginx_accepts_the_shipped_template(site: Site) -> None:
    assert "syntax is ok" in site.nginx.check()


def test_a_large_upload_reaches_django_and_a_larger_one_does_not(site: Site) -> None:
    person = site.visitor()
    assert person.post("/login/", {"username": "x" * 1_000_000, "password": "y"}).status_code == 200
    assert person.post("/login/", {"username": "x" * 230_000_000, "password": "y"}).status_code == 413


def test_pages_are_packed_and_files_from_nginx_alone_are_not_reached(site: Site) -> None:
    page = site.visitor().get("/login/")
    assert page.headers["Content-Encoding"] == "gzip"
    assert page.headers["Vary"].lower().count("accept-encoding") >= 1
    (site.shared / "media" / "secret.txt").write_text("for who may see it")
    assert site.visitor().get("/protected/secret.txt").status_code == 404


def test_the_server_does_not_tell_its_version(site: Site) -> None:
    assert site.visitor().get("/login/").headers["Server"] == "nginx"
