"""The client against the API's description: a method for each operation, which asks for it as it is described."""

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from io import BytesIO, StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest
import yaml
from django.core.management import call_command
from jsonschema import Draft202012Validator

from moment_retrieval import client
from moment_retrieval.client import Client

METHODS = {"_pages": "GET", "_download": "GET", "_upload": "POST"}  # of helpers that name only a path
NO_METHOD: dict[str, str] = {}  # operations without one, each with the reason
COMBINED = {"video_send", "wait_until", "wait_until_ready"}  # methods that ask by others
BY_HEADERS = {"video_upload_begin", "video_piece"}  # methods whose arguments go into headers, or are the body itself
UUID = "2f1c3d52-6f0a-4c62-9c7b-0c1f5a8d9e10"
# A value of each argument that is no key of a path; those of one method differ.
VALUES: dict[str, Any] = {
    "baseline": "xml",
    "change": "close",
    "corpus_name": "Films",
    "decision": "extend",
    "depth": 7,
    "events": ["batch.done", "release.ready"],
    "extractor": "file",
    "file_name": "film.mp4",
    "form": "tvr",
    "grade": 3,
    "key": UUID,
    "kind": "video",
    "method": "shots",
    "mail": True,
    "modified_ms": 8,
    "name": "A project",
    "offset": 5,
    "piece": b"bytes",
    "provider": "openai",
    "q": "a dog that barks",
    "reason": "broken",
    "runs": [UUID],
    "seed": 5,
    "size": 9,
    "skip_bad": True,
    "split": "test",
    "system": "A system",
    "test": "10%",
    "title": "A man sings",
    "round": UUID,
    "text": "A man opens the door.",
    "type": "vt",
    "start_s": 1.5,
    "end_s": 2.5,
    "space": {"lr": "1e-4, 1e-3"},
    "url": "https://hook.example/",
    "val": 500,
    "version": 4,
}
RULES = {
    "top_grade": 1,
    "judges": 3,
    "max_spread": 0,
    "max_rounds": 2,
    "batch_size": 10,
    "has_second_batch": False,
    "strata": [{"first": 1, "last": 10, "sample": 10}],
}
# What methods take besides, by name.
OPTIONS: dict[str, dict[str, Any]] = {
    "batches": {"state": "done"},
    "batches_open": {"similarity": "words"},
    "candidates_rank": {"similarity": "words"},
    "corpus_import_upload": {"format": "csv", "source_split": "train", "clip": True},
    "experiment_start": {"release": 2, "seeds": 3, "top_n": 20, "lr": 0.5, "endpoints": False},
    "features_start": {"model": "a/model", "name": "Some", "path": "/data/features"},
    "flag": {"comment": "It flickers.", "key": UUID},
    "ground_truth_upload": {"split": "val", "form": "tvr", "is_public": True},
    "invitation_create": {"role": "lead", "qualifies": True, "email": "a@b.example", "name": "Ada", "days": 5},
    "judgment": {"comment": "Hardly.", "active_ms": 800},
    "leaderboard": {
        "release": 2,
        "split": "test",
        "sort": "NDCG@10,IoU>=0.3",
        "base": UUID,
        "convention": "paper",
        "gain": "linear",
        "empty": "one",
    },
    "policy_publish": {"lease_minutes": 30, "extend_automatically": True, "pay_rate": "12.50"},
    "pool_plan": {
        "features": [UUID],
        "depth": 9,
        "iou_min": 0.5,
        "makes_moments": True,
        "most": 40,
        "mixing": "turns",
        "split": "test",
        "query_set": UUID,
    },
    "query_submit": {"seen_file": "film-1", "active_ms": 900},
    "project_create": {
        "corpus": UUID,
        "settings_of": UUID,
        "with_queries": True,
        **RULES,
    },
    "proposal_start": {"threshold": 3.5, "segment_s": 5.0, "most": 90},
    "queries_draw": {"again": True},
    "query_set_change": {"priority": "high", "paused": True, "pilot": False},
    "release_create": {"includes_pilot": True, "is_anonymised": False},
    "rules_change": RULES,
    "run_upload": {"team": "A team", "release": 2},
    "search": {"training": UUID, "limit": 5, "every": True},
    "settings_search_start": {"release": 2, "method": "grid", "n_runs": 6, "seed": 3, "stops_early": False},
    "truth_run_upload": {
        "team": "A team",
        "measures": "vcmr,vr",
        "cutoffs": "1,5",
        "thresholds": "0.5",
        "nms": "0.5",
        "convention": "released",
        "gain": "linear",
        "directions": "v2t",
    },
    "writing_round_create": {
        "kind": "textual",
        "share_v": 1,
        "share_t": 60,
        "share_vt": 40,
        "queries_per_clip": 4,
        "queries_per_visit": 2,
        "least_tokens": 6,
        "most_overlap": 0.7,
    },
    "verification_study_create": {
        "n_pairs": 9,
        "answers_per_pair": 2,
        "round": UUID,
        "seed": 3,
        "statements": ["It fits."],
    },
    "written_query_check": {
        "decision": "reject",
        "start_s": 1.5,
        "end_s": 2.5,
        "reason": "wrong",
        "note": "He sits.",
        "active_ms": 700,
    },
    "topic_change": {"title": "A man", "description": "Sings.", "narrative": "Loudly.", "seen_version": 2},
    "topic_create": {
        "description": "Sings.",
        "narrative": "Loudly.",
        "number": 301,
        "split": "val",
        "query_set": "some",
    },
    "webhook_change": {"events": ["batch.done"], "is_active": False},
}
NAMED_ELSEWHERE = {
    "experiment_start",
    "policy_publish",
    "settings_search_start",
}  # with more options than a docstring lists
NO_OPTIONS = {"link", "file", "broken", "unreadable", "offensive"}  # in docstrings: a field of the answer, values


@pytest.fixture(scope="module")
def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation by its name."""
    out = StringIO()
    call_command("spectacular", stdout=out)
    return {
        what["operationId"]: (method.upper(), re.sub(r"{\w+}", "{}", path.removeprefix("/api/v1/")), what)
        for path, methods in yaml.safe_load(out.getvalue())["paths"].items()
        for method, what in methods.items()
    }


def requests_of_methods() -> dict[str, list[tuple[str, str]]]:
    """Return the requests that each public method of the client writes down, as method and path."""
    modules = [client, *(sys.modules[part.__module__] for part in Client.__bases__)]
    classes = [node for module in modules for node in ast.parse(inspect.getsource(module)).body]
    bodies = [node.body for node in classes if isinstance(node, ast.ClassDef)]
    functions = [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]
    return {function.name: list(map(request_of, calls_in(function))) for function in functions}


def calls_in(function: ast.FunctionDef) -> list[ast.Call]:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("_")]


def request_of(call: ast.Call) -> tuple[str, str]:
    assert isinstance(call.func, ast.Attribute)
    texts = [text_of(argument) for argument in call.args[:2]]
    return (METHODS[call.func.attr], texts[0]) if call.func.attr in METHODS else (texts[0], texts[1])


def text_of(node: ast.expr) -> str:
    """Return a text with ``{}`` for each value put into it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "{}"


def test_every_operation_has_its_method(operations: dict[str, tuple[str, str, dict[str, Any]]]) -> None:
    requests = requests_of_methods()
    assert set(requests) - COMBINED == operations.keys() - NO_METHOD.keys()
    for name, (method, path, _) in operations.items():
        if name not in NO_METHOD:
            assert requests[name] == [(method, path)], name
    assert [requests[name] for name in COMBINED] == [[]] * len(COMBINED)


def test_long_lists_come_page_by_page_and_files_in_pieces(
    operations: dict[str, tuple[str, str, dict[str, Any]]],
) -> None:
    for name, (method, _, what) in operations.items():
        text = inspect.getsource(getattr(Client, name))
        names = {parameter["name"] for parameter in what.get("parameters", [])}
        assert ("self._pages(" in text) == ("cursor" in names), name
        kinds = {
            kind for status, answer in what["responses"].items() if status < "300" for kind in answer.get("content", {})
        }
        is_file = bool(kinds) and (kinds != {"application/json"} or name == "train_set_json")
        assert ("self._download(" in text) == is_file, name
        media_types = set(what.get("requestBody", {}).get("content", {}))
        assert ("self._upload(" in text) == ("multipart/form-data" in media_types), name
        assert method in ("GET", "POST", "PATCH", "DELETE")


@dataclass
class Request:
    """A request as the client would send it."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests of clients; each is answered with an empty page."""
    requests: list[Request] = []

    def send(
        self: Client,
        method: str,
        url: str,
        receive: Callable[[Any], Any],
        data: Callable[[], Any] = lambda: None,
        headers: Mapping[str, str] = MappingProxyType({}),
        *,
        once: bool = False,
    ) -> Any:
        content = data() or b""
        content = content if isinstance(content, bytes) else b"".join(content)
        requests.append(Request(method, url, dict(headers), content))
        answer = BytesIO(b'{"results": [], "next": null}')
        answer.headers = {}  # type: ignore[attr-defined]
        return receive(answer)

    monkeypatch.setattr(Client, "_send", send)
    return requests


def test_docstrings_name_the_options_there_are() -> None:
    """Each option of a method is in its docstring, and in the table above."""
    described = Described.of_site()
    for name, method in public_methods():
        parameters = inspect.signature(method).parameters.values()
        own = {one.name for one in parameters}
        words = set(re.findall(r"``([a-z]\w+)``", inspect.getdoc(method) or "")) - own - NO_OPTIONS
        takes_more = any(one.kind is one.VAR_KEYWORD for one in parameters)
        assert takes_more == (name in OPTIONS), name
        if takes_more:
            fields = described.fields(name) - own
            assert words <= OPTIONS[name].keys() & fields, f"{name}: {words}"
            assert name in NAMED_ELSEWHERE or fields <= words, f"{name}: {fields - words}"


def test_every_argument_arrives_as_it_is_described(
    operations: dict[str, tuple[str, str, dict[str, Any]]], requests: list[Request], tmp_path: Path
) -> None:
    """Check paths, queries, headers and bodies: what is needed is there, nothing is unknown, and types are right."""
    described = Described.of_site()
    for name in operations.keys() - NO_METHOD.keys():
        arguments = arguments_of(name, tmp_path)
        answer = getattr(Client("https://site.example", "t"), name)(**arguments)
        if isinstance(answer, Iterator):
            assert list(answer) == [], name
        (request,) = requests
        requests.clear()
        described.check(name, request, arguments)


def public_methods() -> list[tuple[str, Any]]:
    methods = inspect.getmembers(Client, inspect.isfunction)
    return [(name, method) for name, method in methods if not name.startswith("_") and name not in COMBINED]


def arguments_of(name: str, folder: Path) -> dict[str, Any]:
    """Return arguments for a method: a value of its own for each, and all the options that it takes."""
    parameters = inspect.signature(getattr(Client, name)).parameters.values()
    keywords = [one for one in parameters if one.kind is one.KEYWORD_ONLY]
    arguments = {one.name: VALUES[one.name] for one in keywords if one.name != "durations"} | OPTIONS.get(name, {})
    for one in parameters:
        if one.name in ("file", "durations"):
            arguments[one.name] = folder / one.name
            arguments[one.name].write_text(one.name)
        elif one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "self":
            arguments[one.name] = VALUES.get(one.name) or str(uuid4())
    return arguments


@dataclass(frozen=True)
class Described:
    """The site's description, to check requests against."""

    operations: dict[str, tuple[str, str, dict[str, Any]]]  # method, path and description by name
    components: dict[str, Any]

    @classmethod
    def of_site(cls) -> "Described":
        out = StringIO()
        call_command("spectacular", stdout=out)
        site = yaml.safe_load(out.getvalue())
        operations = {
            what["operationId"]: (method.upper(), path, what)
            for path, methods in site["paths"].items()
            for method, what in methods.items()
        }
        return cls(operations, site["components"])

    def check(self, name: str, request: Request, arguments: dict[str, Any]) -> None:
        """Fail where the request is not as its operation is described, or an argument is not in it."""
        method, path, what = self.operations[name]
        url, rest = urlsplit(request.url), dict(arguments)
        keys = (argument for argument in positional(name) if argument != "file")
        for field in re.findall(r"{(\w+)}", path):
            path = path.replace(f"{{{field}}}", rest.pop(next(keys)))
        assert (request.method, url.path) == (method, path), name
        parameters = [row for row in what.get("parameters", []) if row["in"] == "query"]
        query = self._typed(parse_qsl(url.query), {row["name"]: row["schema"] for row in parameters})
        shape = {
            "properties": {row["name"]: row["schema"] for row in parameters},
            "required": [row["name"] for row in parameters if row.get("required")],
        }
        self._check(name, shape, query)
        headers = {row["name"] for row in what.get("parameters", []) if row["in"] == "header" and row.get("required")}
        assert headers <= request.headers.keys(), name
        body = self._body(name, request, what)
        if name in BY_HEADERS:
            return
        values = query | body
        for argument, value in rest.items():
            if isinstance(value, Path):
                assert method == "GET" or values.get(argument) == value.name, f"{name}: {argument}"
            else:
                assert str(values.get(argument)) == str(value), f"{name}: {argument}"

    def fields(self, name: str) -> set[str]:
        """Return the names in the query and the body of an operation."""
        what = self.operations[name][2]
        query = {row["name"] for row in what.get("parameters", []) if row["in"] == "query" and row["name"] != "cursor"}
        contents = what.get("requestBody", {}).get("content", {}).values()
        return query.union(*(self._resolved(content["schema"]).get("properties", {}) for content in contents))

    def _body(self, name: str, request: Request, what: dict[str, Any]) -> dict[str, Any]:
        contents = what.get("requestBody", {}).get("content", {})
        if not request.content:
            assert not what.get("requestBody", {}).get("required"), f"{name} needs a body"
            return {}
        kind, _, _ = request.headers["Content-Type"].partition(";")
        assert kind in contents, f"{name}: {kind}"
        shape = contents[kind]["schema"]
        if kind == "application/json":
            body = json.loads(request.content)
        elif kind == "multipart/form-data":
            fields = self._resolved(shape)["properties"]
            body = self._typed(fields_of_form(request), fields)
        else:
            return {}
        self._check(name, shape, body)
        assert isinstance(body, dict)
        return body

    def _check(self, name: str, shape: dict[str, Any], values: dict[str, Any]) -> None:
        whole = {**self._resolved(shape), "additionalProperties": False, "components": self.components}
        validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
        assert [f"{name}: {error.message}" for error in validator.iter_errors(values)] == []

    def _typed(self, rows: list[tuple[str, str]], shapes: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Return texts as the values they stand for, where they can be read."""
        values: dict[str, Any] = dict(rows)
        assert len(values) == len(rows), "a field comes twice"
        for field, text in rows:
            if self._resolved(shapes.get(field, {})).get("type") in ("integer", "number", "boolean"):
                with suppress(ValueError):
                    values[field] = json.loads(text)
        return values

    def _resolved(self, shape: dict[str, Any]) -> dict[str, Any]:
        return self.components["schemas"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape


def positional(name: str) -> list[str]:
    parameters = inspect.signature(getattr(Client, name)).parameters.values()
    return [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "self"]


def fields_of_form(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form; of a file its name."""
    head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
    form = message_from_bytes(head + request.content)
    rows = []
    for part in form.get_payload():
        assert isinstance(part, Message)
        field = str(part.get_param("name", header="content-disposition"))
        rows.append((field, part.get_filename() or str(part.get_payload())))
    return rows
