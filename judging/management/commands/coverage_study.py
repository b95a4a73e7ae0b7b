"""manage.py coverage_study PROJECT: how many relevant moments lie beyond the candidates by similarity."""

import secrets
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named, row_named
from accounts.models import Project
from annotation.models import Pooling, Query
from annotation.pools.rules import OTHERS, QUERIES, TOP
from annotation.pools.services.poolings import Draw, coverage_create, coverage_plan, pooling_discard
from judging.figures.study_charts import study_figure
from judging.studies.rules import Coverage, grade_range, least_highly
from judging.studies.selectors import coverage_studies, plan_shortfall, pool_report, study_coverage
from judging.studies.services import pool_open, pool_open_request, queries_chosen, queries_to_study


class Command(MomentJudgeCommand):
    help = "Judge the best moments and random others for some queries, or report on it; the last line is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        parser.add_argument("--query", type=int, action="append", default=[], metavar="NUMBER", help="of this query")
        parser.add_argument("--queries", type=int, default=QUERIES, help=f"else so many, drawn at random ({QUERIES})")
        parser.add_argument("--split", choices=["val", "test"], default="", help="draw from its queries alone")
        parser.add_argument("--query-set", help="draw from the queries of this set alone")
        parser.add_argument("--top", type=int, default=TOP, help=f"best moments by similarity ({TOP})")
        parser.add_argument("--others", type=int, default=OTHERS, help=f"random others of each query ({OTHERS})")
        parser.add_argument("--seed", type=int, help="of the draws (default: a random one, which is printed)")
        parser.add_argument("--dry-run", action="store_true", help="say what would be judged, and open nothing")
        parser.add_argument("--report", action="store_true", help="open nothing: what the last study found")
        parser.add_argument("--csv", type=Path, help="write the report here: a row for each query and band")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        self.write_json(self._report(project, options) if options["report"] else self._study(project, options))

    def _study(self, project: Project, options: dict[str, Any]) -> dict[str, object]:
        seed = secrets.randbelow(2**31) if options["seed"] is None else options["seed"]
        draw = Draw(seed=seed, top=options["top"], others=options["others"])
        study = coverage_create(project=project, queries=self._queries(project, options, seed), draw=draw)
        try:
            coverage_plan(pooling=study)
            planned = pool_report(study).union
            if shortfall := plan_shortfall(study):
                self.stdout.write(shortfall)
            n_batches = 0
            if not options["dry_run"]:
                pool_open_request(pooling=study, actor=None, wake=False)
                n_batches = pool_open(pooling_id=study.pk)
        finally:
            if not Pooling.objects.get(pk=study.pk).is_opened:
                pooling_discard(pooling=study)
        numbers = [row.query.number for row in pool_report(study).queries]
        for query in Query.objects.filter(project=project, number__in=numbers).order_by("number"):
            self.stdout.write(f"{query.number}: {query.text}")
        return {"seed": seed, "moments": planned.moments, "pairs": planned.to_judge, "batches": n_batches}

    def _queries(self, project: Project, options: dict[str, Any], seed: int) -> list[Query]:
        if options["query"]:
            queries = list(queries_to_study(project).filter(number__in=options["query"]).order_by("number"))
            if missing := sorted(set(options["query"]) - {query.number for query in queries}):
                raise CommandError(f"Not judged to their end, or not there: {', '.join(map(str, missing))}.")
            return queries
        query_set = row_named(project.query_sets.all(), options["query_set"]) if options["query_set"] else None
        found_all = queries_to_study(project, split=options["split"], query_set=query_set)
        return queries_chosen(found_all, n=options["queries"], seed=seed)

    def _report(self, project: Project, options: dict[str, Any]) -> dict[str, object]:
        study = coverage_studies(project).filter(state=Pooling.State.DONE).first()
        if study is None:
            raise CommandError("No coverage study of this project is opened.")
        if options["csv"]:
            options["csv"].write_text(study_figure(study).csv(), encoding="utf-8")
        coverage = study_coverage(study)
        self._write(coverage, project.top_grade)
        bands = {one.band.name: {"settled": one.settled, "relevant": one.relevant} for one in coverage.total}
        beyond = {str(one.rank): one.estimate.value if one.estimate else None for one in coverage.beyond}
        open_pairs = sum(one.open for one in coverage.total)
        return {"queries": len(coverage.by_query), "open": open_pairs, "bands": bands, "estimated_beyond": beyond}

    def _write(self, coverage: Coverage, top_grade: int) -> None:
        highly = grade_range(least_highly(top_grade), top_grade)
        self.stdout.write(f"{'ranks':<10}{'moments':>9}{'settled':>9}{'relevant':>10}{highly:>9}")
        for one in coverage.total:
            band = f"{one.band.name:<10}{one.moments:>9}{one.settled:>9}{one.relevant:>10}{one.highly:>9}"
            self.stdout.write(band)
        for beyond in coverage.beyond:
            guess = beyond.estimate
            words = f"{guess.value:.0f} ({guess.low:.0f} to {guess.high:.0f})" if guess else "unknown"
            self.stdout.write(f"beyond rank {beyond.rank}: {beyond.relevant} found, estimated in all {words}")
