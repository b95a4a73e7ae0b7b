"""croissant.json: the release in MLCommons Croissant 1.0, for programs that look for data. Pure."""

from collections.abc import Mapping
from typing import Any

from judging.releases.layout import COLUMNS, JUDGMENTS, PAIRS, QRELS, QUERIES

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {
    "json": "application/json",
    "jsonl": "application/jsonlines",
    "csv": "text/csv",
    "md": "text/markdown",
    "txt": "text/plain",
}
WHOLE, REAL, TEXT = "sc:Integer", "sc:Float", "sc:Text"
KINDS = {
    **dict.fromkeys(
        ("pair_id", "query_id", "rank", "relevance", "batch", "worker", "round", "seat", "position"), WHOLE
    ),
    **dict.fromkeys(("guideline", "policy", "judged_as", "caption"), WHOLE),
    **dict.fromkeys(("start", "end", "similarity"), REAL),
}
QREL = ("query_id", "iteration", "moment", "relevance")
RECORDS = {
    "pairs": (PAIRS, "Every pair: a query with a moment, its state and its relevance.", ["pair_id"]),
    "judgments": (JUDGMENTS, "Every single grade, by annotator number.", ["pair_id", "round", "seat"]),
    "queries": (QUERIES, "Every query with its split.", ["query_id"]),
}


def croissant(
    manifest: Mapping[str, Any], words: Mapping[str, str], files: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The description; ``files`` has size and SHA-256 of each file by name."""
    about = {
        "name": words["title"] or manifest["project"],
        "description": words["description"] or _description(manifest),
        "version": f"0.0.0+{manifest['content_sha256'][:12]}",
        "datePublished": manifest["as_of"],
        "license": words["licence_url"] or words["licence"],
        "url": words["url"],
        "citeAs": words["citation"],
        "creator": {"@type": "sc:Organization", "name": words["creators"]} if words["creators"] else None,
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **{name: value for name, value in about.items() if value},
        "distribution": [_file(name, files[name]) for name in sorted(files)],
        "recordSet": [*(_table(name, *told) for name, told in RECORDS.items()), _qrels()],
    }


def _description(manifest: Mapping[str, Any]) -> str:
    counts = manifest["counts"]
    return (
        f"Queries and video moments with their relevance from 0 to 4: {sum(counts['pairs'].values()):,} pairs of "
        f"{counts['queries']:,} queries, {counts['judgments']:,} judgments."
    )


def _file(name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{facts['bytes']} B",
        "encodingFormat": TYPES.get(name.rsplit(".", 1)[-1], "text/plain"),
        "sha256": facts["sha256"],
    }


def _table(name: str, file: str, description: str, key: list[str]) -> dict[str, Any]:
    fields = [
        _field(
            f"{name}/{column}", KINDS.get(column, TEXT), {"fileObject": {"@id": file}, "extract": {"column": column}}
        )
        for column in COLUMNS[file]
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "key": [{"@id": f"{name}/{column}"} for column in key],
        "field": fields,
    }


def _qrels() -> dict[str, Any]:
    """Lines without a head: each cell is taken out by its place."""
    fields = []
    for place, column in enumerate(QREL):
        regex = r"^" + r" ".join(r"(\S+)" if at == place else r"\S+" for at in range(len(QREL)))
        source = {
            "fileObject": {"@id": QRELS},
            "extract": {"fileProperty": "lines"},
            "transform": {"regex": regex},
        }
        fields.append(_field(f"qrels/{column}", TEXT if column == "moment" else WHOLE, source))
    return {
        "@type": "cr:RecordSet",
        "@id": "qrels",
        "name": "qrels",
        "description": "Settled pairs as TREC qrels; a moment is video:start-end, blanks and % percent-encoded.",
        "field": fields,
    }


def _field(name: str, kind: str, source: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": name, "name": name.partition("/")[2], "dataType": kind, "source": source}
