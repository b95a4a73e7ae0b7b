"""Make, join and check files of features, and tune text models: the arguments and what is printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from moment_retrieval.errors import BrokenFeatures, InvalidRecord, at
from moment_retrieval.features.attributes import description
from moment_retrieval.features.checks import check
from moment_retrieval.features.extractors import LAST_LAYER, ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import MOST_REASONS, Film, Line, Sentence, Setup, Speech, extract
from moment_retrieval.features.extractors.videos import clip_count
from moment_retrieval.features.files import FeatureWriter, open_features
from moment_retrieval.features.joining import Normalisation, join_features
from moment_retrieval.jsonfiles import as_array, as_number, as_object, as_text, decode, parse_json, read_bytes
from moment_retrieval.records import read_corpus

HELP = "Make features of videos, subtitles and queries, join or check files of them, or tune a text model."
KINDS = [kind.value for kind in Kind]
ENDINGS = (".mp4", ".mkv", ".webm", ".avi", ".mov", ".flv", ".ts")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``features`` on ``parser``."""
    commands = parser.add_subparsers(title="commands", metavar="check|extract|join|tune", required=True)
    checking = commands.add_parser("check", help="list what is missing, of another shape, or not a number")
    for kind in KINDS:
        checking.add_argument(f"--{kind}", metavar="FILE", help="an HDF5 file or an LMDB folder")
    checking.add_argument("--json", action="store_true", help="print the findings as JSON")
    making = commands.add_parser("extract", help="make features; what was cut short goes on")
    making.add_argument("kind", choices=KINDS, help="what to make features of")
    making.add_argument("--to", metavar="FILE", type=Path, required=True, help="the HDF5 file to write")
    making.add_argument(
        "--extractor",
        choices=[extractor_name.value for extractor_name in ExtractorName],
        help="default: the one that is built in",
    )
    making.add_argument(
        "--model",
        default="",
        help="a hub name or a folder; of i3d, slowfast, c3d and vgg also a file of weights",
    )
    making.add_argument(
        "--layer",
        type=int,
        default=LAST_LAYER,
        help="of a text model, counted from the last: -2 for the second-to-last (default: %(default)s)",
    )
    making.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default: %(default)s)")
    making.add_argument("--threads", type=int, default=1, help="of a model on the CPU (default: %(default)s)")
    making.add_argument("--folder", metavar="FOLDER", type=Path, help="of the videos: files called as the corpus says")
    making.add_argument("--subtitles", metavar="FILE", type=Path, help="TVR's JSON lines of vid_name and sub")
    for command, output in ((checking, check_output), (making, extract_output)):
        command.add_argument("--corpus", metavar="FILE", type=Path, help="video_corpus.json: the videos")
        command.add_argument(
            "--queries", metavar="FILE", type=Path, nargs="+", default=[], help="of query_id and query"
        )
        command.set_defaults(features=output)
    _add_join(commands)
    _add_tune(commands)


def _add_join(commands: Any) -> None:
    command = commands.add_parser("join", help="write the rows of several files beside each other")
    command.add_argument("files", metavar="FILE", nargs="+", help="HDF5 files or LMDB folders, in this order")
    command.add_argument("--to", metavar="FILE", type=Path, required=True, help="the HDF5 file to write")
    command.add_argument(
        "--normalisation",
        choices=[how.value for how in Normalisation],
        default=Normalisation.L2.value,
        help="of each row of each file before it is joined (default: %(default)s)",
    )
    command.set_defaults(features=join_output)


def _add_tune(commands: Any) -> None:
    command = commands.add_parser("tune", help="tune a text model by guessing masked words; what was cut short goes on")
    command.add_argument("--model", required=True, help="of transformers: a name on the hub, or a folder")
    command.add_argument("--to", metavar="FOLDER", type=Path, required=True, help="folder to make; --model takes it")
    command.add_argument(
        "--queries", metavar="FILE", type=Path, nargs="+", default=[], help="of query and query_id, or of TVR's desc"
    )
    command.add_argument("--subtitles", metavar="FILE", type=Path, help="TVR's JSON lines of vid_name and sub")
    command.add_argument("--corpus", metavar="FILE", type=Path, help="take subtitles of these videos alone")
    command.add_argument("--epochs", type=int, default=3, help="default: %(default)s")
    command.add_argument("--batch", type=int, default=32, help="texts of a step (default: %(default)s)")
    command.add_argument("--rate", type=float, default=5e-5, help="largest learning rate (default: %(default)s)")
    command.add_argument("--mask", type=float, default=0.15, help="share of tokens to guess (default: %(default)s)")
    command.add_argument("--seed", type=int, default=2018, help="default: %(default)s")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default: %(default)s)")
    command.add_argument("--threads", type=int, default=1, help="of the model on the CPU (default: %(default)s)")
    command.set_defaults(features=tune_output)


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the command's output for parsed arguments, and the errors. Raises ScoringError."""
    result: tuple[str, list[str]] = options.features(options)
    return result


def check_output(options: argparse.Namespace) -> tuple[str, list[str]]:
    paths = {kind: getattr(options, kind) for kind in KINDS if getattr(options, kind)}
    if not paths:
        return "", [f"say what to check: {', '.join(f'--{kind}' for kind in KINDS)}"]
    names_by_kind: dict[str, Sequence[str]] = {}
    if options.corpus:
        videos = list(read_corpus(options.corpus).durations_s)
        names_by_kind = {"video": videos, "subtitle": videos}
    if options.queries:
        names_by_kind["query"] = [item.name for item in sentences(options.queries)]
    findings = check(paths, names_by_kind)
    fatal = [str(finding) for finding in findings if finding.is_fatal]
    if options.json:
        return json.dumps([finding.as_dict() for finding in findings]), fatal
    warnings = [str(finding) for finding in findings if not finding.is_fatal]
    report_attributes(paths)
    return "\n".join(warnings or ([] if fatal else ["Everything is in order."])), fatal


def report_attributes(paths: Mapping[str, str]) -> None:
    """Print to the stream of progress how each file was made that can be read and says so."""
    for kind, path in paths.items():
        with suppress(BrokenFeatures), open_features(path) as store:
            if attributes := store.attributes:
                print(f"{kind}: {description(attributes)}", file=sys.stderr)


def join_output(options: argparse.Namespace) -> tuple[str, list[str]]:
    how = Normalisation(options.normalisation)
    joining = join_features(options.files, options.to, normalisation=how, on_progress=report_progress)
    print(file=sys.stderr)
    names = [f"{name}: {reason}" for name, reason in islice(joining.reasons.items(), MOST_REASONS)]
    if len(joining.reasons) > len(names):
        names.append(f"and {len(joining.reasons) - len(names)} more")
    lines = [f"{options.to}: {joining.n_joined} joined, {joining.width} numbers in a row"]
    if joining.shortened:
        first = ", ".join(joining.shortened[:3])
        lines.append(f"cut to the shorter by more than a clip: {len(joining.shortened)} ({first})")
    return "\n".join(lines), names


def tune_output(options: argparse.Namespace) -> tuple[str, list[str]]:
    from moment_retrieval.features.extractors.tuning import Tuning, tune

    if not (options.queries or options.subtitles):
        return "", ["tuning needs texts: --queries or --subtitles, or both"]
    tuning = Tuning(options.epochs, options.batch, options.rate, options.mask, options.seed)
    setup = Setup(options.device, options.threads)
    outcome = tune(list(texts(options)), options.model, options.to, tuning=tuning, setup=setup, on_progress=report_loss)
    print(file=sys.stderr)
    losses = ", ".join(f"{loss:.3f}" for loss in outcome.losses)
    return f"{outcome.folder}: tuned on {outcome.n_texts:,} texts; loss of each epoch: {losses}", []


def texts(options: argparse.Namespace) -> Iterator[str]:
    """Yield the queries, then the lines of the subtitles."""
    for path in options.queries:
        for row in records(path):
            key = "desc" if "desc" in row and "query" not in row else "query"
            with at(str(path)):
                yield as_text(row.get(key), key)
    if options.subtitles:
        videos = set(read_corpus(options.corpus).durations_s) if options.corpus else None
        for row in records(options.subtitles):
            if videos is None or row.get("vid_name") in videos:
                yield from (line.text for line in lines(row))


def report_loss(n_done: int, total: int, loss: float) -> None:
    print(f"\r{n_done:,} of {total:,} steps, loss {loss:.3f}", end="", file=sys.stderr, flush=True)


def extract_output(options: argparse.Namespace) -> tuple[str, list[str]]:
    kind = Kind(options.kind)
    extractor_name = (
        ExtractorName(options.extractor)
        if options.extractor
        else ExtractorName.PIXELS
        if kind is Kind.VIDEO
        else ExtractorName.WORDS
    )
    needed = {Kind.VIDEO: ("corpus", "folder"), Kind.SUBTITLE: ("corpus", "subtitles"), Kind.QUERY: ("queries",)}
    if missing := [f"--{name}" for name in needed[kind] if not getattr(options, name)]:
        return "", [f"features of {kind.value} need {' and '.join(missing)}"]
    items = list(ITEMS[kind](options))
    try:
        extractor = extractor_of(
            extractor_name,
            kind,
            model=options.model,
            setup=Setup(options.device, options.threads),
            layer=options.layer,
        )
    except ValueError as error:
        return "", [str(error)]
    with FeatureWriter(options.to, width=extractor.width, attributes=extractor.attributes) as writer:
        outcome = extract(items, extractor, writer, total=len(items), on_progress=report_progress)
        count = len(writer)
    print(file=sys.stderr)
    errors = [f"{name}: {reason}" for name, reason in outcome.reasons.items()]
    if outcome.failures > len(errors):
        errors.append(f"and {outcome.failures - len(errors)} more")
    return f"{options.to}: {count} of {len(items)}, {extractor.width} numbers in a row, by {extractor.name}", errors


def report_progress(n_done: int, total: int) -> None:
    print(f"\r{n_done:,} of {total:,}", end="", file=sys.stderr, flush=True)


def films(options: argparse.Namespace) -> Iterator[Film]:
    """The videos of the corpus, with the files of a folder."""
    files = {file.stem: file for file in sorted(options.folder.rglob("*")) if file.suffix.lower() in ENDINGS}
    for name in read_corpus(options.corpus).durations_s:
        yield Film(name, files.get(name.rpartition("/")[2], options.folder / name))


def speeches(options: argparse.Namespace) -> Iterator[Speech]:
    """Yield the speech of every corpus video."""
    lines_by_video = {as_text(row.get("vid_name"), "vid_name"): lines(row) for row in records(options.subtitles)}
    for name, duration_s in read_corpus(options.corpus).durations_s.items():
        yield Speech(name, clip_count(duration_s), lines_by_video.get(name, []))


def lines(row: Mapping[str, Any]) -> list[Line]:
    with at(f"video {row.get('vid_name')}"):
        subs = [as_object(sub, "sub") for sub in as_array(row.get("sub"), "sub")]
        times = [(as_number(sub.get("start"), "start"), as_number(sub.get("end"), "end")) for sub in subs]
        return [Line(*time, as_text(sub.get("text"), "text")) for time, sub in zip(times, subs, strict=True)]


def sentences(paths: Sequence[Path]) -> list[Sentence]:
    """The queries of TVR-Ranking files, each once."""
    sentences_by_id: dict[str, Sentence] = {}
    for path in paths:
        for row in records(path):
            name = str(row.get("query_id", ""))
            with at(str(path)), at(f"query {name}"):
                sentences_by_id.setdefault(name, Sentence(name, as_text(row.get("query"), "query")))
    return list(sentences_by_id.values())


def records(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a JSON array, or of JSON lines."""
    with at(str(path)):
        text = decode(read_bytes(path)).strip()
        if text.startswith("["):
            values = as_array(parse_json(text), "the file")
        else:
            values = [parse_json(line) for line in text.splitlines() if line.strip()]
        if not values:
            raise InvalidRecord("the file holds no entry")
        for number, value in enumerate(values, start=1):
            yield as_object(value, f"entry {number}")


ITEMS = {Kind.VIDEO: films, Kind.SUBTITLE: speeches, Kind.QUERY: lambda options: iter(sentences(options.queries))}
