"""Read what the product promises to the outside from the product itself: names and layouts that must not move.

Each function returns plain JSON of one kind. ``test_contract`` compares it with the file of the same name beside
this module; ``CONTRACT_WRITE=1 pytest tests/contract`` adds what is new, for a reviewed addition.
"""

import argparse
import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management import get_commands, load_command_class
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.exceptions import APIException, Throttled, ValidationError

from config.api import OUTSIDE
from core.error_pages import DATABASE
from core.exceptions import MomentJudgeError
from judging.audit.rules import KINDS
from moment_retrieval.cli import COMMANDS

ROOT = Path(__file__).parents[2]
APPS = {"annotation", "judging", "models_runner", "core", "accounts", "config"}
PYTHON = sorted(path for name in [*APPS, "moment_retrieval"] for path in (ROOT / name).rglob("*.py"))
METRIC = re.compile(r"momentjudge_[a-z_]+")
ENVIRONMENT = re.compile(r"^[A-Z][A-Z0-9_]+$")
FOREIGN = {"PATH", "HOME", "LANG", "TMPDIR", "PATH_INFO", "RAW_URI", "REQUEST_METHOD", "MJ_"}
NEVER_RAISED = {APIException, Throttled, ValidationError}  # a base; limits and bodies have errors of their own
WORDS = {"description", "summary", "title", "externalDocs"}  # texts of the API's description, which may change


def openapi() -> Any:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return _without_words(json.loads(json.dumps(schema, default=str)))


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_words(v) for k, v in value.items() if not (k in WORDS and isinstance(v, str))}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def routes() -> dict[str, str]:
    """Return every address of the site, as Django writes it, with the name it is reversed by."""
    return dict(sorted(_routes(get_resolver(), "", "")))


def _routes(resolver: URLResolver, before: str, namespace: str) -> Iterator[tuple[str, str]]:
    for entry in resolver.url_patterns:
        address = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield address, f"{namespace}{entry.name or ''}"
        else:
            yield from _routes(entry, address, f"{namespace}{entry.namespace}:" if entry.namespace else namespace)


def commands() -> dict[str, dict[str, Any]]:
    """Return each command's arguments: of ``manage.py`` and of the library."""
    by_command = {}
    for name, app in sorted(get_commands().items()):
        if isinstance(app, str) and app in APPS:
            parser = load_command_class(app, name).create_parser("manage.py", name)
            own = argparse.ArgumentParser()
            load_command_class(app, name).add_arguments(own)
            by_command[f"manage.py {name}"] = _arguments(own if own._actions else parser)
    for name, module in COMMANDS.items():
        parser = argparse.ArgumentParser()
        module.add_arguments(parser)
        by_command[f"library {name}"] = _arguments(parser)
    return by_command


def _arguments(parser: argparse.ArgumentParser) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            arguments |= {f"command {name}": _arguments(below) for name, below in action.choices.items()}
        if not isinstance(action, argparse._HelpAction):
            arguments[" ".join(action.option_strings) or action.dest] = {
                "choices": sorted(str(choice) for choice in action.choices) if action.choices else None,
                "required": action.required,
                "values": "none" if action.nargs == 0 else str(action.nargs or "one"),
            }
    return arguments


def error_codes() -> dict[str, int]:
    """Return the codes that programs read in answers, each with its status."""
    assert get_resolver().url_patterns  # so that every module with errors is imported
    pairs = {(error.code, error.status) for error in _errors_below(MomentJudgeError)}
    of_api = {error.__name__: error for error in _errors_below(APIException) if error not in NEVER_RAISED}
    pairs |= {(error.default_code, error.status_code) for error in of_api.values()}
    pairs |= {(code, status) for status, (code, _) in OUTSIDE.items()} | {(DATABASE.code, DATABASE.status)}
    pairs |= {code for tree in _trees() for node in ast.walk(tree) for code in _written_codes(node, of_api)}
    nginx = (ROOT / "docker" / "nginx" / "momentjudge.conf.template").read_text()
    pairs |= {(code, int(status)) for status, code in re.findall(r'return (\d+) \'{"code": "(\w+)"', nginx)}
    codes = dict(sorted(pairs))
    assert len(codes) == len(pairs), "a code has one status"
    return codes


def _errors_below(error: type[Exception]) -> Iterator[Any]:
    if error.__module__.partition(".")[0] in APPS or error.__module__ == APIException.__module__:
        yield error
    for child in error.__subclasses__():
        yield from _errors_below(child)


def _written_codes(node: ast.AST, of_api: Mapping[str, type[APIException]]) -> Iterator[tuple[str, int]]:
    """Yield the code in ``ParseError(..., code="malformed")`` and in ``JsonResponse({"code": "late"}, status=503)``."""
    if not isinstance(node, ast.Call):
        return
    options = {keyword.arg: getattr(keyword.value, "value", None) for keyword in node.keywords}
    if (error := of_api.get(ast.unparse(node.func))) and options.get("code"):
        yield str(options["code"]), error.status_code
    if node.args and isinstance(body := node.args[0], ast.Dict):
        items = {getattr(key, "value", None): value for key, value in zip(body.keys, body.values, strict=True)}
        if isinstance(code := items.get("code"), ast.Constant):
            yield str(code.value), int(options["status"])


@cache
def _trees() -> list[ast.Module]:
    return [ast.parse(path.read_text()) for path in PYTHON]


def environment() -> list[str]:
    """Return the names of environment variables that the programs and the files beside them read."""
    names = {name for tree in _trees() for name in _environment_of(tree)}
    for path in sorted((ROOT / "docker").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            names |= set(re.findall(r"\$\{([A-Z][A-Z0-9_]+)", path.read_text()))
            names |= set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", path.read_text(), re.MULTILINE))
        if path.suffix == ".py":
            names |= set(_environment_of(ast.parse(path.read_text())))
    return sorted(names - FOREIGN)


def _environment_of(tree: ast.Module) -> Iterator[str]:
    constants = {  # NAME = "PORT" in the same module
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        key: ast.expr | None = None
        if isinstance(node, ast.Call) and node.args and _reads_environment(node.func):
            key = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            key = node.slice
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("environ"):
            key = node.left
        name = constants.get(key.id) if isinstance(key, ast.Name) else getattr(key, "value", None)
        if isinstance(name, str) and ENVIRONMENT.match(name):
            yield name


def _reads_environment(function: ast.expr) -> bool:
    text = ast.unparse(function)
    return text.rpartition(".")[2].startswith("env_") or text.endswith(("environ.get", "environ.setdefault", "getenv"))


def metrics() -> dict[str, list[str]]:
    """Return the metrics' names in the code, and those that dashboards and alert rules ask for."""
    texts = (node.value for tree in _trees() for node in ast.walk(tree) if isinstance(node, ast.Constant))
    code = {name for text in texts if isinstance(text, str) for name in METRIC.findall(text)}
    files = [ROOT / "docker" / "momentjudge.rules.yml", *(ROOT / "docker" / "grafana").glob("*.json")]
    dashboard_metrics = {name for path in files for name in METRIC.findall(path.read_text())}
    return {"code": sorted(code), "dashboards": sorted(dashboard_metrics)}


def audit_actions() -> list[str]:
    """Return every action an audit event is written with, and every one that has a sentence."""
    in_code = {
        name.value
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in ("action", "actions")
        for name in (keyword.value.elts if isinstance(keyword.value, ast.Tuple) else [keyword.value])
        if isinstance(name, ast.Constant) and "." in str(name.value)
    }
    return sorted(in_code | {action for actions in KINDS.values() for action in actions})


def browser_storage() -> list[str]:
    """Return the names under which the browser keeps grades not yet sent, drafts and choices."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "static" / "js").glob("*.js")))
    return sorted(set(re.findall(r"[\"'`](momentjudge[-\w:]*)", text)))


def layout(value: Any) -> Any:
    """Return the keys of a JSON value, keys that are data written as ``*``; of a list, those of all its items."""
    if isinstance(value, dict):
        keys: dict[str, Any] = {}
        for key, item in value.items():
            name = str(key) if re.fullmatch(r"@?[A-Za-z_]\w*(:\w+)?", str(key)) else "*"
            keys[name] = _joined(keys.get(name), layout(item))
        return dict(sorted(keys.items()))
    if isinstance(value, list):
        items: Any = None
        for item in value:
            items = _joined(items, layout(item))
        return [items] if items is not None else []
    return type(value).__name__ if value is not None else None


def _joined(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _joined(one.get(key), other.get(key)) for key in sorted(one | other)}
    if isinstance(one, list) and isinstance(other, list):
        return [_joined(one[0], other[0])] if one and other else one or other
    return other if one is None else one


def file_layout(name: str, content: bytes) -> Any:
    """Return a CSV file's columns, or the keys of JSON and of lines of JSON; None for other files."""
    text = content.decode(errors="replace")
    if name.endswith(".csv"):
        return text.lstrip("\ufeff").splitlines()[0] if text else ""
    if name.endswith(".jsonl"):
        return layout([json.loads(line) for line in text.splitlines()])
    if name.endswith(".json"):
        return layout(json.loads(text))
    if name.endswith((".qrels", ".txt")):
        return [len(line.split()) for line in text.splitlines()[:1]]
    return None


def missing(recorded: Any, present: Any, at: str = "") -> list[str]:
    """Return what is recorded and no longer present; what is new beside it is no fault."""
    if isinstance(recorded, dict) and isinstance(present, dict):
        faults = [f"{at}/{key}" for key in recorded if key not in present]
        return faults + [
            fault for key in recorded if key in present for fault in missing(recorded[key], present[key], f"{at}/{key}")
        ]
    if isinstance(recorded, list) and isinstance(present, list):
        if at.endswith("/required"):
            return [] if recorded == present else [f"{at}: {recorded} became {present}"]
        return [f"{at}: {item}" for item in recorded if not any(not missing(item, other) for other in present)]
    return [] if recorded == present else [f"{at}: {recorded} became {present}"]


SCHEMA = {
    "columns": """
        SELECT c.relname || '.' || a.attname,
               concat_ws(' ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'NOT NULL' END,
                         CASE a.attidentity WHEN 'd' THEN 'IDENTITY' WHEN 'a' THEN 'IDENTITY ALWAYS' END,
                         'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), nullif(a.attgenerated, ''))
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
          AND NOT a.attisdropped""",
    "constraints": """
        SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
        FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND conrelid <> 0 AND contype NOT IN ('n', 't')""",
    "indexes": "SELECT tablename || '.' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": """
        SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal""",
    "functions": """
        SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid) FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid AND e.deptype = 'e')""",
    "views": """
        SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'
        UNION ALL SELECT matviewname, definition FROM pg_matviews WHERE schemaname = 'public'""",
    "extensions": "SELECT extname::text, ''::text FROM pg_extension",
}


def schema(rows: Callable[[str], Iterable[tuple[str, str]]]) -> dict[str, dict[str, str]]:
    """Return what the database enforces, by name: ``rows`` runs a statement."""
    return {kind: dict(sorted((str(name), text or "") for name, text in rows(sql))) for kind, sql in SCHEMA.items()}
