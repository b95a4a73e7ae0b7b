"""Write all files of a release into a folder, and make its archive."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from typing import Any
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.db.models import Count, Model

from accounts.models import Project
from annotation.captions.selectors import captions_serving
from annotation.models import Candidate, Moment, PoolAnswer, PoolEntry, Query
from annotation.pools.rules import Stratum, strata_of
from annotation.pools.services.candidates import measure_of
from annotation.pools.services.new_moments import pools_of_moments
from annotation.queries.selectors import queries_to_train_on
from annotation.similarity import registry
from annotation.topics.selectors import all_versions
from annotation.train_sets.files import JsonArrayFile, JsonTrainFile
from annotation.train_sets.services import train_pool_of
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from judging.releases import layout
from judging.releases.documents import counts_of, datasheet, manifest_facts, readme
from judging.releases.layout import csv_file, write_json, yes
from judging.releases.metadata import croissant, write_settings
from judging.releases.selectors import IS_PILOT, Scope, judged_key, write_judgments
from judging.studies.selectors import contributions
from moment_retrieval.formats.trec import NOT_JUDGED

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry of an archive: the earliest that the form knows
PIECE = 1 << 20
CHUNK = 2000  # rows read at once
QUERIES_AT_ONCE = 200
NO_WORD = re.compile(r"[\s%]")  # percent-encoded, so that two names never become one
IMPORTED = "imported"  # how the moment of such a pair was found is not known
Step = Release.Step
OnStep = Callable[[str, int, int], None]  # step, done, total
OnProgress = Callable[[int, int], None]  # done, total
Facts = dict[str, Any]


def untold(step: str, n_done: int, total: int) -> None:
    """Progress that nobody waits for."""


def write_files(release: Release, scope: Scope, folder: Path, on_step: OnStep = untold) -> Facts:
    """Write every file into ``folder``, which is made if need be; what the manifest says."""
    folder.mkdir(parents=True, exist_ok=True)
    described, counts = write_content(scope, folder, on_step)
    facts = manifest_facts(release, scope, counts)
    content = _digests(folder)
    # of the names and sums of the files of content: equal where releases hold the same
    lines = [f"{content[name]['sha256']}  {name}\n" for name in sorted(content) if name not in layout.ABOUT_THE_RELEASE]
    facts["content_sha256"] = sha256("".join(lines).encode()).hexdigest()
    write_json(folder / layout.CROISSANT, croissant(facts, described, content))
    manifest = {**facts, "files": dict(sorted({**content, **_digests(folder, layout.CROISSANT)}.items()))}
    (folder / layout.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    entries = {**manifest["files"], **_digests(folder, layout.MANIFEST)}
    sums = "".join(f"{entries[name]['sha256']}  {name}\n" for name in sorted(entries))
    (folder / layout.SUMS).write_text(sums, encoding="utf-8")
    return manifest


def write_content(scope: Scope, folder: Path, on_step: OnStep = untold) -> tuple[Facts, Facts]:
    """The files that are not about the others; what settings.json says, and the counts."""
    on_step(Step.JUDGED, 0, len(scope.listed))
    last = write_judged(scope, folder, partial(on_step, Step.JUDGED))
    write_queries(scope, folder)
    write_topics(scope, folder)
    for name, rows in (
        (layout.POOL_ANSWERS, _answers(scope)),
        (layout.POOL_ENTRIES, _pool_entries(scope)),
        (layout.MISSING, scope.missing),
    ):
        with csv_file(folder, name) as file:
            file.writerows(rows)
    write_corpus(scope, folder, partial(on_step, Step.CORPUS))
    on_step(Step.TRAINING, 0, 0)
    write_train(scope.project, folder, first=last + 1, on_progress=partial(on_step, Step.TRAINING))
    on_step(Step.JUDGMENTS, 0, 1)
    write_judgments(scope.keys, folder, anonymised=scope.is_anonymised)
    described, counts = write_settings(scope, folder), counts_of(scope)
    (folder / layout.DATASHEET).write_text(datasheet(described, counts), encoding="utf-8")
    names = {path.name for path in folder.iterdir()} | {layout.README, *layout.ABOUT_THE_RELEASE}
    (folder / layout.README).write_text(readme(described, counts, names), encoding="utf-8")
    return described, counts


def pack(folder: Path, archive: Path, on_step: OnStep = untold) -> None:
    """A zip archive that depends on names and bytes alone: no times, no rights of files, no order of the disk."""
    files = sorted(folder.iterdir(), key=lambda path: path.name)
    with ZipFile(archive, "w") as packed:
        for index, path in enumerate(files):
            on_step(Step.PACKING, index, len(files))
            entry = ZipInfo(path.name, EPOCH)
            entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, 3, 0o644 << 16
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, packed.open(entry, "w") as target:
                copyfileobj(source, target, PIECE)


def digest_of(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


def _digests(folder: Path, *names: str) -> dict[str, Facts]:
    """Size and SHA-256 of these files, or of all."""
    file_names = names or sorted(path.name for path in folder.iterdir())
    return {name: {"bytes": (folder / name).stat().st_size, "sha256": digest_of(folder / name)} for name in file_names}


def numbers_by_key(rows: Mapping[int, Model]) -> dict[int, int]:
    """Keys of numbered rows to their numbers in files."""
    return {row.pk: number for number, row in rows.items()}


def file_number(pair: Pair) -> int:
    """Number of the pair in files: that of the imported file, else our own."""
    return pair.pk if pair.source_id is None else pair.source_id


def moment_name(moment: Moment) -> str:
    """Video, start and end in seconds as one word: the document id of TREC files."""
    return f"{NO_WORD.sub(lambda match: quote(match[0]), moment.video.name)}:{moment.start_s!r}-{moment.end_s!r}"


Pairs = dict[int, list[Pair]]  # by the key of the query judged


def write_judged(scope: Scope, folder: Path, on_progress: OnProgress) -> int:
    """Write the files; the largest number of a pair is returned."""
    n_done, last = 0, 0
    with ExitStack() as stack:
        arrays = {
            split: stack.enter_context(JsonArrayFile(folder / name)) for split, name in layout.JUDGED_SPLITS.items()
        }
        names = (layout.PAIRS, layout.CANDIDATES, layout.BATCHES)
        pairs_csv, candidates_csv, batches_csv = (stack.enter_context(csv_file(folder, name)) for name in names)
        qrels, pool = (
            stack.enter_context((folder / name).open("w", encoding="utf-8", newline="\n"))
            for name in (layout.QRELS, layout.POOL)
        )
        queries = iter(scope.listed)
        while chunk := list(islice(queries, QUERIES_AT_ONCE)):
            pairs = _pairs({judged_key(query) for query in chunk})
            for split, array in arrays.items():
                for entry in _entries(scope, [query for query in chunk if query.split == split], pairs):
                    array.add_entry(entry)
            own = [query for query in chunk if query.judged_as_id is None]
            pairs_csv.writerows(_pair_rows(own, pairs))
            qrels.writelines(_qrels(own, pairs))
            pool.writelines(_pool(scope, chunk, pairs))
            candidates_csv.writerows(_candidate_rows(scope, own))
            batches_csv.writerows(_batch_rows(scope, own))
            last = max([last, *(file_number(pair) for query in own for pair in pairs[judged_key(query)])])
            n_done += len(chunk)
            on_progress(n_done, len(scope.listed))
    return last


def _pairs(judged: Collection[int]) -> Pairs:
    """Pairs of each query, best rank first."""
    rows = Pair.objects.filter(batch__query__in=judged).order_by("batch__query", "candidate__rank")
    pairs: Pairs = defaultdict(list)
    for pair in rows.select_related("batch", "candidate__moment__video").defer("candidate__wordings"):
        pairs[pair.batch.query_id].append(pair)
    return pairs


def _entries(scope: Scope, queries: Iterable[Query], pairs: Pairs) -> Iterator[dict[str, object]]:
    """Queries with their settled moments; a duplicate shares the relevance of the query judged for it."""
    own_queries = [query for query in queries if not query.is_placeholder]
    moments = {pair.candidate.moment_id for query in own_queries for pair in pairs[judged_key(query)]}
    serving = captions_serving(scope.project.dataset.corpus_id).filter(moment__in=moments)
    captions = dict(serving.order_by("-id").values_list("moment", "text"))  # of each moment the first that serves
    for query in own_queries:
        settled = [pair for pair in pairs[judged_key(query)] if pair.state == Pair.State.SETTLED]
        rows = [_moment_row(pair, captions) for pair in settled]
        yield {"query_id": query.number, "query": query.text, "relevant_moment": rows}


def _moment_row(pair: Pair, captions: dict[int, str]) -> dict[str, object]:
    moment = pair.candidate.moment
    return {
        "pair_id": file_number(pair),
        "video_name": moment.video.name,
        "timestamp": [moment.start_s, moment.end_s],
        "duration": moment.video.duration_s,
        "caption": captions.get(moment.pk),
        "similarity": pair.candidate.similarity,
        "relevance": pair.relevance,
    }


def _pair_rows(queries: Sequence[Query], pairs: Pairs) -> Iterator[Sequence[object]]:
    returned = contributions(pair.candidate_id for query in queries for pair in pairs[judged_key(query)])
    for query in queries:
        for pair in pairs[judged_key(query)]:
            candidate, moment = pair.candidate, pair.candidate.moment
            by = sorted(returned.get(candidate.pk, []), key=lambda source: (source[1], source[0]))
            span = ("", "", "") if query.is_placeholder else (moment.video.name, moment.start_s, moment.end_s)
            yield (
                *(file_number(pair), query.number, query.text, *span, candidate.rank, candidate.similarity),
                *(pair.batch.number, pair.state, pair.relevance, pair.reason),
                IMPORTED if query.is_placeholder else candidate.source,
                "; ".join(f"{name}: {rank}" for name, rank in by),
            )


def _qrels(queries: Iterable[Query], pairs: Pairs) -> Iterator[str]:
    """TREC lines: query, 0, moment, relevance."""
    for query in queries:
        for pair in [] if query.is_placeholder else pairs[judged_key(query)]:
            if pair.state == Pair.State.SETTLED:
                yield f"{query.number} 0 {moment_name(pair.candidate.moment)} {pair.relevance}\n"


def _pool(scope: Scope, queries: Iterable[Query], pairs: Pairs) -> Iterator[str]:
    """Yield a TREC line of every candidate: query, 0, moment, stratum, relevance; -1 where it has none.

    The stratum is the batch, so that a second batch counts for itself. Where the project samples it is the ranks that
    batches were drawn from, of which what the same pools returned is a stratum of its own: all of it may be judged.
    What could not be drawn is not in such a pool. Queries without a settled pair have no line.
    """
    judged = {
        judged_key(query)
        for query in queries
        if not query.is_placeholder and any(pair.state == Pair.State.SETTLED for pair in pairs[judged_key(query)])
    }
    pair_of = {pair.candidate_id: pair for key in judged for pair in pairs[key]}
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    rows = Candidate.objects.filter(query__in=judged).order_by("query", "rank").defer("wordings")
    for candidate in rows.select_related("moment__video"):
        candidates[candidate.query_id].append(candidate)
    strata = strata_of(scope.project.strata)
    pools = _pools_of(scope, judged) if strata else {}
    for query in queries:
        for candidate in candidates[judged_key(query)] if not query.is_placeholder else ():
            pair = pair_of.get(candidate.pk)
            stratum: str | None = layout.NO_BATCH if pair is None else f"batch-{pair.batch.number}"
            if strata:
                key = (candidate.query_id, candidate.moment_id)
                stratum = _stratum(candidate, pair, strata, pools.get(key, ()))
            if stratum is None:
                continue
            relevance = pair.relevance if pair is not None and pair.state == Pair.State.SETTLED else NOT_JUDGED
            yield f"{query.number} 0 {moment_name(candidate.moment)} {stratum} {relevance}\n"


def _stratum(candidate: Candidate, pair: Pair | None, strata: Sequence[Stratum], pools: Collection[int]) -> str | None:
    """Name the stratum of a candidate of a project that samples; None where it could not be drawn.

    Args:
        pools: numbers of the opened pools that returned it, ascending.
    """
    if candidate.source == Candidate.Source.SIMILARITY:
        for stratum in strata:
            if stratum.holds(candidate.rank):
                if pair is None and candidate.moment.preview_state in Moment.NEVER_SEEN:
                    return None
                return "-".join([stratum.name, *(["pool", *map(str, pools)] if pools else [])])
    return layout.POOLED if pair is not None else None


def _pools_of(scope: Scope, judged: Collection[int]) -> dict[tuple[int, int], list[int]]:
    """Numbers of the opened pools that returned each query and moment, ascending."""
    numbers = numbers_by_key(scope.pools)
    rows = PoolEntry.objects.filter(answer__source__pooling__in=numbers, answer__query__in=judged)
    pools: dict[tuple[int, int], set[int]] = defaultdict(set)
    for query, moment, pooling in rows.values_list("answer__query", "moment", "answer__source__pooling"):
        pools[query, moment].add(numbers[pooling])
    return {key: sorted(pool_numbers) for key, pool_numbers in pools.items()}


def _candidate_rows(scope: Scope, queries: Sequence[Query]) -> Iterator[Sequence[Any]]:
    numbers = {judged_key(query): query.number for query in queries if not query.is_placeholder}
    rows = Candidate.objects.filter(query__in=numbers).order_by("query__number", "rank")
    measures, pools = numbers_by_key(scope.measures), numbers_by_key(scope.pools)
    moment = ("moment__video__name", "moment__start_s", "moment__end_s")
    columns = ("query", "rank", *moment, "similarity", "measure", "source", "pooling")
    for query, *facts, measure, source, pool in rows.values_list(*columns):
        yield (numbers[query], *facts, measures.get(measure), source, pools.get(pool))


def _batch_rows(scope: Scope, queries: Sequence[Query]) -> Iterator[Sequence[Any]]:
    numbers = {judged_key(query): query.number for query in queries}
    decisions = BatchReview.objects.filter(batch__query__in=numbers)
    reviews = {
        batch: (decision, suggestion, "lead" if lead else "rule")
        for batch, decision, suggestion, lead in decisions.values_list("batch", "decision", "suggestion", "decided_by")
    }
    pools = numbers_by_key(scope.pools)
    rows = Batch.objects.filter(query__in=numbers).order_by("query__number", "number")
    columns = ("pk", "query", "number", "round", "pooling", "is_pilot")
    for pk, query, number, rounds, pool, pilot in rows.values_list(*columns):
        decided = reviews.get(pk, ("", "", ""))
        yield (numbers[query], number, rounds, pools.get(pool), yes(pilot), *decided)


def _answers(scope: Scope) -> Iterator[Sequence[Any]]:
    pools = numbers_by_key(scope.pools)
    rows = PoolAnswer.objects.filter(source__pooling__in=pools, query__in=scope.among)
    columns = ("source__name", "query__number", "spans", "unmatched", "without_preview", "drawn_from")
    sorted_rows = rows.order_by("source__pooling__opened_at", "source__pooling", "source", "query__number")
    for pool, *facts in sorted_rows.values_list("source__pooling", *columns).iterator(chunk_size=CHUNK):
        yield (pools[pool], *facts)


def _pool_entries(scope: Scope) -> Iterator[Sequence[Any]]:
    pools = numbers_by_key(scope.pools)
    rows = PoolEntry.objects.filter(answer__source__pooling__in=pools, answer__query__in=scope.among)
    columns = ("answer__source__name", "answer__query__number", "moment__video__name", "moment__start_s")
    sorted_rows = rows.order_by(
        *("answer__source__pooling__opened_at", "answer__source__pooling", "answer__source"),
        *("answer__query__number", "rank", "moment"),
    )
    values = sorted_rows.values_list("answer__source__pooling", *columns, "moment__end_s", "rank")
    for pool, *facts in values.iterator(chunk_size=CHUNK):
        yield (pools[pool], *facts)


def write_corpus(scope: Scope, folder: Path, on_progress: OnProgress) -> None:
    corpus = scope.project.dataset.corpus
    rows = corpus.videos.order_by("pk").values_list("name", "index", "duration_s", "source_split")
    videos = [] if corpus.is_placeholder else list(rows)
    with csv_file(folder, layout.VIDEOS) as file:
        file.writerows(videos)
    write_json(folder / layout.VIDEO_CORPUS, {name: [seconds, index] for name, index, seconds, _ in sorted(videos)})
    with (folder / layout.MOMENTS).open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(_moments(scope, on_progress))


def _moments(scope: Scope, on_progress: OnProgress) -> Iterator[str]:
    """One line for each moment, in the order of their import, which breaks ties between similarities."""
    corpus = scope.project.dataset.corpus
    moments = Moment.objects.filter(video__corpus=corpus, video__corpus__is_placeholder=False)
    n_done, total = 0, moments.count()
    pools, pool_of = numbers_by_key(scope.pools), pools_of_moments(corpus.pk)
    columns = ("pk", "video__name", "start_s", "end_s", "preview_state")
    rows = moments.order_by("pk").values_list(*columns).iterator(chunk_size=CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        captions = _captions(corpus.pk, [pk for pk, *_ in chunk])
        for pk, video, start_s, end_s, preview in chunk:
            moment: dict[str, Any] = {"video_name": video, "start": start_s, "end": end_s}
            if preview in Moment.NEVER_SEEN:
                moment["not_cut"] = True
            if pk in pool_of:
                moment["pool"] = pools.get(pool_of[pk] or 0)
            yield json.dumps({**moment, "captions": captions.get(pk, [])}, ensure_ascii=False) + "\n"
        n_done += len(chunk)
        on_progress(n_done, total)


def _captions(corpus_id: int, moments: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The captions of each moment that serve, first made first."""
    captions: dict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = captions_serving(corpus_id).filter(moment__in=moments).order_by("pk")
    columns = ("description__source_id", "description__kind", "text", "provider", "model")
    for moment, *values in rows.values_list("moment", *columns):
        captions[moment].append(dict(zip(("id", "kind", "text", "provider", "model"), values, strict=True)))
    return captions


def write_queries(scope: Scope, folder: Path) -> None:
    """All queries of the project, released or not; one that is not is there with its text and split only."""
    serving = captions_serving(scope.project.dataset.corpus_id).values("pk")
    released = set(scope.keys)
    pilots = set(Query.objects.filter(IS_PILOT, project=scope.project).values_list("pk", flat=True))
    rows = Query.objects.filter(project=scope.project).order_by("number")
    captions = dict(rows.filter(caption__in=serving).values_list("pk", "caption__description__source_id"))
    columns = ("pk", "number", "text", "split", "judged_as", "judged_as__number", "query_set__name", "is_placeholder")
    with csv_file(folder, layout.QUERIES) as file:
        values = rows.values_list(*columns).iterator(chunk_size=CHUNK)
        for pk, number, text, split, judged, judged_as_number, query_set, is_placeholder in values:
            answers = map(yes, (is_placeholder, (judged or pk) in released, pk in pilots))
            file.writerow((number, text, split, judged_as_number, query_set, captions.get(pk), *answers))


def write_topics(scope: Scope, folder: Path) -> None:
    """Write every version of the project's topics, released or not; no file where it has none."""
    versions = list(all_versions(scope.project))
    if not versions:
        return
    final = Judgment.objects.filter(pair__batch__query__in=scope.among).exclude(assignment__state=Assignment.State.OPEN)
    counts = final.filter(assignment__topic_version__isnull=False).order_by().values_list("assignment__topic_version")
    n_judgments = dict(counts.annotate(n=Count("pk")))
    with (folder / layout.TOPICS).open("w", encoding="utf-8", newline="\n") as lines:
        for row in versions:
            texts = {"title": row.title, "description": row.description, "narrative": row.narrative}
            n_under = row.judgments_imported + n_judgments.get(row.pk, 0)
            line = {"number": row.topic.query.number, "version": row.version, **texts, "judgments": n_under}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_train(project: Project, folder: Path, *, first: int, on_progress: OnProgress) -> None:
    """``first`` is the number of the first row; nobody judges these, so they are numbered behind the judged."""
    total = queries_to_train_on(project.pk).count()
    if not total:
        for name in layout.TRAIN_FILES.values():
            write_json(folder / name, [])
        return
    pool = train_pool_of(project=project, measure=measure_of(registry.sentence_model(settings.SENTENCE_MODEL)))
    n_done = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(JsonTrainFile(folder / name, pool.moments, depth=depth, first=first))
            for depth, name in layout.TRAIN_FILES.items()
        ]
        for block in pool.ranked(project, depth=max(layout.TRAIN_DEPTHS)):
            for file in files:
                file.add(block)
            n_done += len(block.numbers)
            on_progress(n_done, max(n_done, total))
