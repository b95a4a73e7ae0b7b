"""The demo's ground truth of another form: a matrix of videos and queries, made of its grades, with two runs."""

import io

import numpy as np
from django.core.files.base import ContentFile
from numpy.typing import NDArray

from annotation.models import Query
from judging.demo.simulation import lead_of
from judging.models import Release
from models_runner.ground_truths.rules import DIRECTIONS
from models_runner.ground_truths.services import (
    ground_truth_create,
    ground_truth_work,
    truth_run_upload,
    truth_run_work,
)
from models_runner.leaderboard.services.scorings import run_table, truth_table
from models_runner.models import GroundTruth, Run, TruthRun
from moment_retrieval.tables import Floats, Ints, JudgedTable, RunTable

NAME = "Videos and queries by grade"
SPLIT = Query.Split.VAL.value  # whose labels are open in the demo
N_RUNS = 2
NOBODY = -1  # the owner of a query without a relevant moment


def ground_truth_add(release: Release) -> bool:
    """Add the matrix, and the first baselines' runs of its split as matrices; what is there stays. Returns whether all
    of it is scored; if not, other workers are at it and a repeat goes on."""
    project, lead = release.project, lead_of(release.project)
    membership = project.memberships.get(user=lead)
    videos, relevance, owners = relevance_of(judged := truth_table(release=release, split=SPLIT), project.top_grade)
    truth = GroundTruth.objects.filter(project=project, name=NAME).first()
    if truth is None:
        file = ContentFile(npz_of(relevance=relevance, owners=owners), "relevance.npz")
        truth = ground_truth_create(
            project=project, actor=lead, file=file, name=NAME, split=SPLIT, form="matrix", is_public=True
        )
    if truth.is_at_work:
        ground_truth_work(truth_id=truth.pk)
        truth.refresh_from_db()
    if not truth.is_ready:
        return truth.state == GroundTruth.State.FAILED
    runs = Run.objects.filter(release=release, split=SPLIT, source=Run.Source.BASELINE, labels=Run.Labels.JUDGED)
    for run in runs.exclude(state=Run.State.FAILED).order_by("pk")[:N_RUNS]:
        if run.is_at_work:
            return False
        row = truth.runs.filter(system=run.system).first()
        if row is None:
            file = ContentFile(npz_of(similarity=similarity_of(run_table(run), judged, videos)), "similarity.npz")
            options = {"gain": "exponential", "directions": list(DIRECTIONS)}
            row = truth_run_upload(
                membership=membership,
                truth=truth,
                file=file,
                system=run.system,
                measures=truth.measures,
                options=options,
            )
        if row.is_at_work:
            truth_run_work(run_id=row.pk)
            row.refresh_from_db()
        if row.state == TruthRun.State.WAITING:
            return False
    return True


def relevance_of(judged: JudgedTable, top_grade: int) -> tuple[list[str], Floats, Ints]:
    """Return the names of the videos, the relevance of each to each query, and whose each query is.

    The relevance [V, Q] is the highest grade of the video's moments for the query, as a share of the top grade. A query
    belongs to the first of the videos that it is most relevant to; videos that no query belongs to are left out.
    """
    relevance = np.zeros((len(judged.spans.names), len(judged)))
    np.maximum.at(relevance, (judged.spans.video, judged.query), judged.weights / top_grade)
    owners = np.where(relevance.max(axis=0) > 0, relevance.argmax(axis=0), NOBODY)
    rows = np.unique(owners[owners != NOBODY])
    numbers = np.where(owners == NOBODY, NOBODY, np.searchsorted(rows, owners))
    return [judged.spans.names[row] for row in rows], relevance[rows], numbers


def similarity_of(run: RunTable, judged: JudgedTable, videos: list[str]) -> Floats:
    """Return [V, Q] the reciprocal rank of the video's first moment in the list of the query, 0 where it has none."""
    video_index = {name: index for index, name in enumerate(videos)}
    rows = np.array([video_index.get(name, NOBODY) for name in run.spans.names], np.int64)[run.spans.video]
    columns = np.array([judged.row_of.get(query_id, NOBODY) for query_id in run.query_ids], np.int64)[run.query]
    mask = (rows != NOBODY) & (columns != NOBODY)
    similarity = np.zeros((len(videos), len(judged)))
    np.maximum.at(similarity, (rows[mask], columns[mask]), 1 / (run.order[mask] + 1))
    return similarity


def npz_of(**arrays: NDArray[np.generic]) -> bytes:
    """Return the arrays as a file of numpy."""
    target = io.BytesIO()
    np.savez(target, **arrays)  # type: ignore[arg-type]
    return target.getvalue()
