"""The client against the API's description: a method for each operation, which asks for it as it is described."""

import ast
import inspect
import re
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from moment_retrieval import client
from moment_retrieval.client import Client

METHODS = {"_pages": "GET", "_download": "GET", "_upload": "POST"}  # of helpers that name only a path
NO_METHOD: dict[str, str] = {}  # operations without one, each with the reason
COMBINED = {"video_send", "wait_until", "wait_until_ready"}  # methods that ask by others


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
    tree = ast.parse(inspect.getsource(client))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Client")
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
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
    source = inspect.getsource(Client)
    for name, (method, _, what) in operations.items():
        text = inspect.getsource(getattr(Client, name)) if name not in NO_METHOD else source
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


def test_arguments_are_fields_of_the_description(operations: dict[str, tuple[str, str, dict[str, Any]]]) -> None:
    """The operation takes what the method names, and the method asks for what the operation needs."""
    out = StringIO()
    call_command("spectacular", stdout=out)
    shapes = yaml.safe_load(out.getvalue())["components"]["schemas"]
    for name, (_, path, what) in operations.items():
        parameters = inspect.signature(getattr(Client, name)).parameters.values()
        keywords = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
        contents = what.get("requestBody", {}).get("content", {}).values()
        fields, needed = set[str](), set[str]()
        for content in contents:
            shape = content["schema"]
            shape = shapes[shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape
            fields |= set(shape.get("properties", {}))
            needed |= set(shape.get("required", []))
        query = [row for row in what.get("parameters", []) if row["in"] == "query" and row["name"] != "cursor"]
        fields |= {row["name"] for row in query}
        needed |= {row["name"] for row in query if row.get("required")}
        if name in ("video_upload_begin", "video_piece"):  # by headers
            continue
        arguments = keywords | {one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD}
        assert keywords <= fields, f"{name}: {keywords - fields}"
        assert needed <= arguments, f"{name} {path}: {needed - arguments}"
