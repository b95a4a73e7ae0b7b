"""Operations on what systems return: pools, runs, leaderboards, features, benchmark runs, search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from moment_retrieval.api_requests import Json, Requests


class Benchmarks(Requests):
    """Requests about what systems return, and how good it is."""

    # Pools, runs, benchmarks

    def pools(self, project: str) -> Iterator[Json]:
        """Yield pools, newest first."""
        return self._pages(f"projects/{project}/pools/")

    def pool_plan(self, project: str, *, runs: Sequence[str] = (), **options: Any) -> Json:
        """Plan a pool from runs, or from ``features`` of videos, with ``depth``, ``iou_min``, and maybe which queries.

        A ``split`` or ``query_set`` says which queries; ``makes_moments`` makes moments of the spans that fit none;
        ``most`` new candidates a query gets at most, by ``mixing`` of runs: rank or turns.
        """
        return self._row("POST", f"projects/{project}/pools/", {"runs": list(runs), **options}, once=True)

    def pool(self, pool: str) -> Json:
        """Return what a pool would add, or how far it is."""
        return self._row("GET", f"pools/{pool}/")

    def pool_open(self, pool: str) -> Json:
        """Have the new pairs of a pool judged."""
        return self._row("POST", f"pools/{pool}/open/")

    def pool_discard(self, pool: str) -> Json:
        """Discard the plan of a pool."""
        return self._row("POST", f"pools/{pool}/discard/")

    def runs(self, project: str) -> Iterator[Json]:
        """Yield your runs, newest first; all of them to leads and admins."""
        return self._pages(f"projects/{project}/runs/")

    def run_upload(self, project: str, file: str | Path, *, system: str, split: str, **fields: Any) -> Json:
        """Send a run, with ``team`` and ``release`` if you like; wait until it is scored."""
        return self._upload(f"projects/{project}/runs/", {"file": file}, {"system": system, "split": split, **fields})

    def run(self, run: str) -> Json:
        """Return a run with its scores."""
        return self._row("GET", f"runs/{run}/")

    def run_withdraw(self, run: str, *, reason: str) -> Json:
        """Withdraw a run."""
        return self._row("DELETE", f"runs/{run}/", query={"reason": reason}, once=True)

    def leaderboard(self, project: str, **query: Any) -> Json:
        """Return every run of a ``release`` and ``split``, best first by the measure ``sort``.

        ``query``: also ``convention``, ``gain`` and ``empty`` of the measures, and the run to test against, ``base``.
        """
        return self._row("GET", f"projects/{project}/leaderboard/", query=query)

    def ground_truths(self, project: str) -> Iterator[Json]:
        """Yield ground truths of other forms, newest first; those with public labels to participants."""
        return self._pages(f"projects/{project}/ground-truths/")

    def ground_truth_upload(self, project: str, file: str | Path, *, name: str, **fields: Any) -> Json:
        """Send ground truth, with ``split``, ``form`` and ``is_public`` if you like; wait until it is read."""
        return self._upload(f"projects/{project}/ground-truths/", {"file": file}, {"name": name, **fields})

    def ground_truth(self, truth: str) -> Json:
        """Return how far a ground truth is, and what it can measure."""
        return self._row("GET", f"ground-truths/{truth}/")

    def ground_truth_delete(self, truth: str) -> None:
        """Delete a ground truth that no run stands on."""
        self._call("DELETE", f"ground-truths/{truth}/", once=True)

    def ground_truth_scores(self, truth: str) -> Json:
        """Return every scored run on a ground truth by every measure."""
        return self._row("GET", f"ground-truths/{truth}/scores/")

    def truth_runs(self, truth: str) -> Iterator[Json]:
        """Yield your runs on a ground truth with their scores; all of them to leads and admins."""
        return self._pages(f"ground-truths/{truth}/runs/")

    def truth_run_upload(self, truth: str, file: str | Path, *, system: str, **fields: Any) -> Json:
        """Send a run on a ground truth; wait until it is scored.

        ``fields``: ``team``, ``measures`` (families with commas; all if left out), and how they are computed:
        ``cutoffs``, ``thresholds``, ``nms``, ``convention``, ``gain``, ``directions``.
        """
        return self._upload(f"ground-truths/{truth}/runs/", {"file": file}, {"system": system, **fields})

    def truth_run(self, run: str) -> Json:
        """Return a run on a ground truth with its scores."""
        return self._row("GET", f"truth-runs/{run}/")

    def truth_run_withdraw(self, run: str, *, reason: str) -> Json:
        """Withdraw a run on a ground truth."""
        return self._row("DELETE", f"truth-runs/{run}/", query={"reason": reason}, once=True)

    def search(self, project: str, *, q: str, **query: Any) -> Json:
        """Return ``limit`` moments for typed words, ranked by a ``training``; with ``every``, overlapping ones too."""
        return self._row("GET", f"projects/{project}/search/", query={"q": q, **query})

    def features(self, project: str) -> Iterator[Json]:
        """Yield sets of features, newest first."""
        return self._pages(f"projects/{project}/features/")

    def features_start(self, project: str, *, kind: str, extractor: str, **options: Any) -> Json:
        """Make features, with ``model`` and ``name``; or check the official file at ``path`` (extractor ``file``)."""
        body = {"kind": kind, "extractor": extractor, **options}
        return self._row("POST", f"projects/{project}/features/", body, once=True)

    def feature_set(self, feature_set: str) -> Json:
        """Return how far a set of features is, and what is wrong with it."""
        return self._row("GET", f"features/{feature_set}/")

    def features_cancel(self, feature_set: str) -> Json:
        """Stop making features."""
        return self._row("POST", f"features/{feature_set}/cancel/", once=True)

    def features_resume(self, feature_set: str) -> Json:
        """Go on with features that were cancelled or failed."""
        return self._row("POST", f"features/{feature_set}/resume/", once=True)

    def features_delete(self, feature_set: str) -> None:
        """Delete features that no training needs."""
        self._call("DELETE", f"features/{feature_set}/", once=True)

    def experiments(self, project: str) -> Iterator[Json]:
        """Yield benchmark runs, newest first."""
        return self._pages(f"projects/{project}/experiments/")

    def experiment_start(self, project: str, *, baseline: str, key: str = "", **options: Any) -> Json:
        """Start a benchmark run, with the fields of its form; one for each ``key``, a UUID."""
        body = {"baseline": baseline, "key": key or str(uuid4()), **options}
        return self._row("POST", f"projects/{project}/experiments/", body)

    def experiment(self, experiment: str) -> Json:
        """Return a benchmark run with its seeds."""
        return self._row("GET", f"experiments/{experiment}/")

    def experiment_delete(self, experiment: str) -> None:
        """Delete a benchmark run that has ended."""
        self._call("DELETE", f"experiments/{experiment}/", once=True)

    def training_cancel(self, training: str) -> Json:
        """Cancel one seed."""
        return self._row("POST", f"trainings/{training}/cancel/", once=True)

    def training_resume(self, training: str) -> Json:
        """Go on with one seed."""
        return self._row("POST", f"trainings/{training}/resume/", once=True)

    def settings_searches(self, project: str) -> Iterator[Json]:
        """Yield searches over settings, newest first."""
        return self._pages(f"projects/{project}/settings-searches/")

    def settings_search_start(
        self, project: str, *, baseline: str, space: Mapping[str, str], key: str = "", **options: Any
    ) -> Json:
        """Start a search over settings, with the fields of its form; ``space`` is ``{"lr": "1e-5 to 1e-3"}``."""
        body = {"baseline": baseline, "space": space, "key": key or str(uuid4()), **options}
        return self._row("POST", f"projects/{project}/settings-searches/", body)

    def settings_search(self, search: str) -> Json:
        """Return a search over settings with its trials."""
        return self._row("GET", f"settings-searches/{search}/")

    def settings_search_delete(self, search: str) -> None:
        """Delete a search over settings that has ended."""
        self._call("DELETE", f"settings-searches/{search}/", once=True)

    def settings_search_cancel(self, search: str) -> Json:
        """Cancel a search over settings."""
        return self._row("POST", f"settings-searches/{search}/cancel/", once=True)

    def settings_search_resume(self, search: str) -> Json:
        """Go on with a search over settings."""
        return self._row("POST", f"settings-searches/{search}/resume/", once=True)
