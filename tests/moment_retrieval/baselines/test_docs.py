import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from moment_retrieval.batches import Sequences
from moment_retrieval.published import CONQUER, TWO_STREAM

PAGE = Path(__file__).resolve().parents[3] / "docs" / "baselines.md"


@pytest.mark.slow  # the released sizes
def test_the_notebook_of_the_page_runs() -> None:
    source = re.search(r"```python\n(.+?)```", PAGE.read_text(), re.DOTALL)
    assert source
    draw = np.random.default_rng(1)
    streams = tuple(Sequences.of([draw.normal(size=(9, size)).astype(np.float32)]) for size in (1024, 768))
    namespace: dict[str, Any] = {
        "epoch": 0,
        "generator": torch.Generator(),
        "features": draw.normal(size=(60, 1024)).astype(np.float32),
        "subtitles": draw.normal(size=(60, 768)).astype(np.float32),
        "query": draw.normal(size=(12, 768)).astype(np.float32),
        "queries": Sequences.of([draw.normal(size=(7, 768)).astype(np.float32)]),
        "batches": [streams],
    }
    exec(source[1], namespace)
    assert namespace["loss"].total.isfinite()
    assert namespace["start_s"].shape == namespace["end_s"].shape == (1, 40)
    assert (namespace["end_s"] > namespace["start_s"])[namespace["found"].real].all()


def test_the_page_shows_every_name_that_is_translated() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \|$", PAGE.read_text(), re.MULTILINE))
    assert rows == {**TWO_STREAM, **CONQUER}
