"""Exports as Label Studio writes them."""

import json
from collections.abc import Iterable
from typing import Any


def rated(grade: object, *, name: str = "grade", kind: str = "rating") -> dict[str, Any]:
    value = {kind: [grade] if kind == "choices" else grade}
    return {"id": "Dx_aB91ISN", "type": kind, "value": value, "from_name": name, "to_name": "clip", "origin": "manual"}


def annotation(number: int, person: object, *result: dict[str, Any], minute: int = 0, **values: Any) -> dict[str, Any]:
    return {
        "id": number,
        "completed_by": person,
        "result": list(result),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": f"2026-03-09T22:{minute:02}:08.728353Z",
        "lead_time": 4.288,
        **values,
    }


def task(number: int, data: dict[str, Any], *annotations: object, **values: Any) -> dict[str, Any]:
    return {
        "id": number,
        "annotations": list(annotations),
        "file_upload": "tasks.json",
        "drafts": [],
        "predictions": [],
        "data": {"gif": f"https://example.org/{number}.gif", **data},
        "meta": {},
        **values,
    }


def flat(number: int, person: object, data: dict[str, Any], **controls: Any) -> dict[str, Any]:
    """One annotation as JSON-MIN has it."""
    fields = {"annotator": person, "annotation_id": number, "created_at": "2026-03-09T22:16:08Z", "lead_time": 4.2}
    return {**data, "id": number, **controls, **fields}


def text(elements: Iterable[object]) -> str:
    return json.dumps(list(elements))
