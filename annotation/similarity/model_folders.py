"""Which models people may name through the site: packaged ones, names on the hub, folders below configured roots.

Operators name models in settings, freely. Whoever names one through a page, or in a file that they upload, must not
learn what else lies on the server: whatever is refused is refused in the same words.
"""

import os
import re
from pathlib import Path

from django.conf import settings

from annotation.similarity.sentences import PACKAGED
from core.exceptions import NotPossible

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?")
REFUSAL = (
    "No model of this name can be used. Name one on the Hugging Face hub, or give the absolute path of a folder below"
    " a folder that the setting MOMENTJUDGE_MODELS names."
)


class ModelRefused(NotPossible):
    """This model may not be named through the site; why, only who runs the site can find out."""

    def __init__(self) -> None:
        super().__init__(REFUSAL)


def model_check(model: str) -> None:
    """Check that the model may be named through the site; it need not be there if it is one of the hub.

    Raises:
        ModelRefused: it is a path, and not that of a folder below MOMENTJUDGE_MODELS, links followed.
    """
    if model not in PACKAGED and not _is_hub_name(model) and not _is_folder_below_roots(model):
        raise ModelRefused


def _is_hub_name(model: str) -> bool:
    """Whether it reads as ``name`` or ``owner/name``; what loads models takes no such name for a folder."""
    return HUB_NAME.fullmatch(model) is not None and ".." not in model and "--" not in model


def _is_folder_below_roots(model: str) -> bool:
    try:
        folder = Path(model)
        if not folder.is_absolute():
            return False
        folder = folder.resolve(strict=True)
        roots = [Path(root).resolve() for root in settings.MOMENTJUDGE_MODELS]
        below = any(folder.is_relative_to(root) and folder != root for root in roots)
        return below and folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    except (OSError, RuntimeError, ValueError):  # missing, a loop of links, a name that no file has
        return False
