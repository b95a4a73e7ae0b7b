"""manage.py pool_runs PROJECT RUN...: judge what runs returned and similarity did not."""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named, row_named
from accounts.models import Project
from annotation.models import Pooling
from annotation.pools.rules import IOU_MIN, JOIN_IOU, RUN_DEPTH, iou_by_default
from annotation.pools.services.new_moments import new_moments_of, videos_to_cut
from annotation.pools.services.poolings import Scope, pooling_create, pooling_discard
from annotation.previews.services import video_cut_previews
from core.lists import csv_write
from judging.studies.selectors import ALL_RUNS, COLUMNS, PoolReport, pool_report, report_rows
from judging.studies.services import pool_open, pool_open_request, pool_plan
from models_runner.models import Run
from models_runner.pools.services import returned_by, sources_of
from models_runner.pools.similarity import FeaturePair, feature_pairs, uuids_of
from moment_retrieval.errors import ScoringError
from moment_retrieval.records import VideoCorpus, read_corpus

HEAD = ("source", "spans", "unmatched", "moments", "known", "new", "alone")


class Command(MomentJudgeCommand):
    help = "Pool the best of runs, open batches of what is new; the last line of output is JSON."

    known_errors = (ScoringError,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        parser.add_argument(
            "runs", nargs="*", metavar="run", help="a run file; or a stored run by UUID or by its system's name"
        )
        parser.add_argument(
            "--features",
            action="append",
            default=[],
            metavar="NAME",
            help="of videos: moments by their similarity to queries, of which the same model's text half made features",
        )
        parser.add_argument("--depth", type=int, default=RUN_DEPTH, help=f"ranks of each run ({RUN_DEPTH})")
        parser.add_argument(
            "--iou", type=float, help=f"from which a span is a moment ({IOU_MIN}; with --new-moments {JOIN_IOU})"
        )
        parser.add_argument("--new-moments", action="store_true", help="make moments of the spans that fit none")
        parser.add_argument("--most", type=int, help="new candidates of a query at most (all)")
        parser.add_argument(
            "--mixing",
            choices=Pooling.Mixing.values,
            default=Pooling.Mixing.RANK.value,
            help="which go first: the best rank in any run, or one of each run in turn (rank)",
        )
        parser.add_argument("--split", choices=["val", "test"], default="", help="for its queries alone")
        parser.add_argument("--query-set", help="for the queries of this set alone")
        parser.add_argument("--corpus", type=Path, help="video_corpus.json for runs that name videos by other indexes")
        parser.add_argument("--report", type=Path, help="write the pool report here, as CSV")
        parser.add_argument("--dry-run", action="store_true", help="say what would be added, and add nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        files, database_runs = self._sources(project, options["runs"])
        corpus: VideoCorpus | None = read_corpus(options["corpus"]) if options["corpus"] else None
        sources: dict[str, list[UUID]] = {**{name: [] for name in files}, **sources_of(database_runs)}
        pairs = [_pair_named(project, name) for name in options["features"]]
        pooling = pooling_create(
            project=project, sources=sources, features=uuids_of(pairs), scope=self._scope(project, options)
        )
        try:
            pool_plan(pooling=pooling, returned=returned_by(pooling, files=files, corpus=corpus))
            report = pool_report(pooling)
            self._print(report)
            if options["report"]:
                with options["report"].open("w", newline="", encoding="utf-8") as target:
                    csv_write(target, COLUMNS, report_rows(report))
            n_batches = 0
            new_moments = {"new_moments": new_moments_of(pooling).count()} if pooling.makes_moments else {}
            if not options["dry_run"]:
                pool_open_request(pooling=pooling, actor=None, wake=False)
                for video_id in videos_to_cut(pooling):
                    video_cut_previews(video_id=video_id)
                n_batches = pool_open(pooling_id=pooling.pk)
        finally:
            if not Pooling.objects.get(pk=pooling.pk).is_opened:
                pooling_discard(pooling=pooling)
        summary = {"queries": len(report.growing), "pairs": report.union.to_judge, "new": report.union.new}
        self.write_json({**summary, "unmatched": report.union.unmatched, **new_moments, "batches": n_batches})

    def _scope(self, project: Project, options: dict[str, Any]) -> Scope:
        query_set = row_named(project.query_sets.all(), options["query_set"]) if options["query_set"] else None
        iou_min, makes_moments = options["iou"], options["new_moments"]
        return Scope(
            depth=options["depth"],
            iou_min=iou_by_default(makes_moments=makes_moments) if iou_min is None else iou_min,
            makes_moments=makes_moments,
            most=options["most"],
            mixing=options["mixing"],
            split=options["split"],
            query_set=query_set,
        )

    def _sources(self, project: Project, words: list[str]) -> tuple[dict[str, Path], list[Run]]:
        """Run files by their name, and stored runs."""
        files: dict[str, Path] = {}
        database_runs: list[Run] = []
        for word in words:
            path = Path(word)
            runs = [] if path.is_file() else _runs_named(project, word)
            if not path.is_file() and not runs:
                raise CommandError(f"{word} is no file, and no stored run of this project.")
            if set(runs) & set(database_runs) or (not runs and path.name in files):
                raise CommandError(f"{path.name} is given twice.")
            database_runs += runs
            if not runs:
                files[path.name] = path
        return files, database_runs

    def _print(self, report: PoolReport) -> None:
        rows = [(source.name, counts) for source, counts in report.totals]
        width = max(len(name) for name, _ in [*rows, (ALL_RUNS, None)])
        self.stdout.write(f"{HEAD[0]:<{width}}" + "".join(f"{word:>11}" for word in HEAD[1:]))
        for name, counts in [*rows, (ALL_RUNS, report.union)]:
            values = (counts.spans, counts.unmatched, counts.moments, counts.known, counts.new, counts.new_alone)
            self.stdout.write(f"{name:<{width}}" + "".join(f"{value:>11}" for value in values))
        for source in report.sources:
            if source.other_queries:
                self.stdout.write(f"{source.name}: {source.other_queries} queries are not among those pooled for")


def _pair_named(project: Project, name: str) -> FeaturePair:
    for pair in feature_pairs(project).values():
        if pair.videos.name == name:
            return pair
    raise CommandError(f"{name} are no features of videos with features of queries by the text half of their model.")


def _runs_named(project: Project, word: str) -> list[Run]:
    """By UUID; or the runs of that system on the newest release that has any."""
    runs = Run.objects.filter(project=project, state=Run.State.SCORED).select_related("release")
    try:
        return list(runs.filter(uuid=UUID(word)))
    except ValueError:
        newest = runs.filter(system=word).order_by("-release__version").first()
        return list(runs.filter(system=word, release=newest.release).order_by("split")) if newest else []
