"""The template of docker/nginx against the site: what is masked in its log, and what takes long bodies."""

import inspect
import re
from collections.abc import Iterator

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from core.api import FileView
from core.embedded.services import BASE_DIR
from core.middleware import HEADERS

TEMPLATE = (BASE_DIR / "docker" / "nginx" / "momentjudge.conf.template").read_text()
UNKNOWN = "00000000-0000-4000-8000-000000000000"
SECRET = "Zm9v-c2VjcmV0-d2l4s13f2a8b9c"
HARMLESS_KINDS = {"uuid", "int", "slug"}
NAMES = {"name", "form"}  # of files and forms: `run.json`, `csv`


def routes(resolver: URLResolver, before: str = "/") -> Iterator[tuple[str, URLPattern]]:
    """Every route of the site, as it is written."""
    for each in resolver.url_patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from routes(each, path)
        else:
            yield path, each


ROUTES = dict(routes(get_resolver()))


def secret_parts(path: str) -> list[str]:
    """Parts that are neither numbers, UUIDs nor names."""
    parts = re.findall(r"<(?:(\w+):)?(\w+)>", path)
    return [name for kind, name in parts if kind not in HARMLESS_KINDS and name not in NAMES]


OPENING = [path for path in ROUTES if secret_parts(path)]


def logged(address: str) -> str:
    """Apply the template's map as nginx does: the first expression that fits."""
    block = re.search(r"map \$request_uri \$momentjudge_path \{\n(.*?)\n\}", TEMPLATE, re.DOTALL)
    assert block is not None
    for any_case, expression, value in re.findall(r'^\s+"~(\*?)(.+?)" (.+);$', block[1], re.MULTILINE):
        python = expression.replace("(?<", "(?P<")
        if match := re.search(python, address, re.IGNORECASE if any_case else 0):
            return re.sub(r"\$\{?(\w+)\}?", lambda name: match[name[1]], value.strip('"'))
    return ""


def test_every_route_with_a_secret_is_masked_in_the_log_and_every_other_is_logged_as_it_is() -> None:
    assert set(OPENING) >= {"/invitations/<str:secret>/", "/password/choose/<uidb64>/<token>/"}
    for path in OPENING:
        address = re.sub(r"<[^>]+>", SECRET, path)
        odd = [address.replace("/i", "/%69").replace("/p", "/%70"), address.upper(), f"//x/..{address}"]
        for url in (address, f"{address}?next=1", *odd):
            assert SECRET.casefold() not in logged(url).casefold(), url
        assert logged(address).endswith("[secret]")
    assert logged("/api/v1/mj_" + "x" * 43 + "/") == "/api/v1/mj_[secret]"  # tokens of the API, wherever they stand
    plain = [path for path in ROUTES if path not in OPENING and "/invitations/" not in path]
    addresses = [re.sub(r"<uuid:[^>]+>", UNKNOWN, re.sub(r"<(?!uuid)[^>]+>", "1", path)) for path in plain]
    assert [each for each in addresses if logged(f"{each}?page=2&q=words") != each] == []


def test_both_servers_log_by_this_format_alone() -> None:
    assert TEMPLATE.count("access_log ${MJ_LOGS}/access.log momentjudge;") == TEMPLATE.count("\nserver {") == 2
    assert TEMPLATE.count("access_log ") == 2
    (form,) = re.findall(r"log_format momentjudge ([^;]+);", TEMPLATE)
    telling = ("$request ", "$request_uri", "$uri", "$args", "$query_string", "$http_referer", "$http_cookie")
    assert [name for name in telling if name in form] == []


def takes_files(route: URLPattern) -> bool:
    """Whether its view has its file received on disk: without, a form with a file is refused."""
    view = inspect.unwrap(route.callback)
    view_class = getattr(view, "view_class", getattr(view, "cls", view))
    package = view_class.__module__.split(".")[0]
    if package not in ("core", "accounts", "annotation", "judging", "models_runner", "config"):
        return False
    is_file_view = isinstance(view_class, type) and issubclass(view_class, FileView)
    return is_file_view or "@receives_file(" in inspect.getsource(view_class)


def test_long_bodies_are_taken_where_files_are_uploaded_and_nowhere_else() -> None:
    blocks = re.findall(r"^    location ~\*? (\S+) \{\n(.*?)^    \}", TEMPLATE, re.MULTILINE | re.DOTALL)
    long = [where for where, block in blocks if "client_max_body_size ${MJ_MAX_BODY};" in block]
    assert TEMPLATE.count("${MJ_MAX_BODY}") == len(long)
    open_to = {path for path in ROUTES if any(re.search(where, re.sub(r"<[^>]+>", UNKNOWN, path)) for where in long)}
    assert open_to == {path for path, route in ROUTES.items() if takes_files(route)}
    assert len(open_to) == 12


def test_every_other_page_takes_the_longest_form_that_django_takes() -> None:
    (limit,) = re.findall(r"^    client_max_body_size (\d+)m;", TEMPLATE, re.MULTILINE)
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE < int(limit) << 20 < 2 * settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def test_nginx_says_of_its_own_answers_what_django_says_of_its() -> None:
    variable_of = dict(re.findall(r"^    add_header (\S+) (\$momentjudge_\w+) always;", TEMPLATE, re.MULTILINE))
    values = dict(
        re.findall(r'^map "[^"]+" (\$\w+) \{\n.*?\n    default "([^"]+)";', TEMPLATE, re.MULTILINE | re.DOTALL)
    )
    headers = {name: values[variable] for name, variable in variable_of.items() if variable in values}
    hsts = headers.pop("Strict-Transport-Security")
    assert hsts == "max-age=31536000; includeSubDomains; preload"  # config/settings/production.py
    assert headers == HEADERS
    (block,) = re.findall(r"location /protected/ \{\n(.*?)^    \}", TEMPLATE, re.MULTILINE | re.DOTALL)
    again = dict(re.findall(r"add_header (\S+) (\$momentjudge_\w+) always;", block))
    assert again == {name: variable for name, variable in variable_of.items() if variable in values}


def test_what_asks_every_server_is_answered_to_this_machine_alone() -> None:
    match = re.search(r"location = /readyz \{(.*?)\}", TEMPLATE, re.DOTALL)
    assert match is not None
    assert re.findall(r"(?:allow|deny) \S+;", match[1]) == ["allow 127.0.0.0/8;", "allow ::1;", "deny all;"]
