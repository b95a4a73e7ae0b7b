"""A small ground truth of each form with a run, and uploads of them."""

import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounts.models import Membership, Project
from models_runner.ground_truths.services import (
    ground_truth_create,
    ground_truth_work,
    truth_run_upload,
    truth_run_work,
)
from models_runner.models import GroundTruth, TruthRun
from tests.factories import UserFactory
from tests.models_runner.acts import uploaded


def npy(array: NDArray[Any]) -> bytes:
    target = io.BytesIO()
    np.save(target, array)
    return target.getvalue()


def npz(**arrays: NDArray[Any]) -> bytes:
    target = io.BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def moment(number: int, video: str, query_type: str = "v") -> dict[str, Any]:
    return {"desc_id": number, "desc": "q", "type": query_type, "vid_name": video, "ts": [0, 10]}


PREDICTIONS = [[2, 0, 9, 0.9], [1, 0, 4, 0.8], [1, 0, 9, 0.7], [2, 20, 30, 0.7]]  # of the videos b, a, a, b
SUBMISSION = {"video2idx": {"a": 1, "b": 2}} | {
    task: [{"desc_id": number, "predictions": PREDICTIONS} for number in (1, 2)] for task in ("VCMR", "SVMR", "VR")
}
WINDOWS = {"qid": 1, "vid": "a", "pred_relevant_windows": [[0, 8, 1], [20, 30, 0.5]], "pred_saliency_scores": [0, 1]}
CLIPS = {"qid": 1, "vid": "a", "duration": 4, "relevant_windows": [[0, 10]], "relevant_clip_ids": [1]}
POOL = {"a": {"predictions": [[["b", 0, 9, 0.9], ["a", 0, 6, 0.8]]]}}
POSITIVES = {"duration": 9, "timestamps": [[0, 9]], "sentences": ["s"], "pos_moments": [[["b", "t", [0, 3]]]]}
POSITIVES |= {"retrieval_pool": [["a", "b"]]}
NOTHING = {"duration": 9, "timestamps": [], "sentences": [], "pos_moments": [], "retrieval_pool": []}
RELEVANCE = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]])
SIMILARITY = np.array([[0.1, 0.9, 0.5], [0.2, 0.3, 0.4]])
FILES: dict[str, tuple[bytes, bytes]] = {  # ground truth and run
    "tvr": (lines(moment(1, "a"), moment(2, "b", "t")), json.dumps(SUBMISSION).encode()),
    "qvhighlights": (lines(CLIPS | {"saliency_scores": [[4, 2, 3]]}), lines(WINDOWS)),
    "mvmr": (json.dumps({"a": POSITIVES, "b": NOTHING}).encode(), json.dumps(POOL).encode()),
    "matrix": (npz(relevance=RELEVANCE, owners=np.array([0, 1, 0])), npy(SIMILARITY)),
}


def upload_truth(project: Project, content: bytes | str = "tvr", *, work: bool = True, **values: Any) -> GroundTruth:
    """Upload a ground truth, by its form or as bytes; read unless told otherwise."""
    data = FILES[content][0] if isinstance(content, str) else content
    fields = {"name": "labels", "split": "test", "actor": UserFactory(), **values}
    truth = ground_truth_create(project=project, file=uploaded(data, "labels"), **fields)
    if work:
        ground_truth_work(truth_id=truth.pk)
        truth.refresh_from_db()
    return truth


def upload_run(
    membership: Membership, truth: GroundTruth, content: bytes | None = None, *, work: bool = True, **values: Any
) -> TruthRun:
    """Upload a run by all measures, scored unless told otherwise."""
    data = FILES[truth.form][1] if content is None else content
    fields = {"system": "ours", "team": "the team", "measures": truth.measures, "options": {}, **values}
    run = truth_run_upload(membership=membership, truth=truth, file=uploaded(data, "run"), **fields)
    if work:
        truth_run_work(run_id=run.pk)
        run.refresh_from_db()
    return run
