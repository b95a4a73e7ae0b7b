"""The SECRET_KEY of a local installation, made once and kept beside its data."""

import os
import secrets
import tempfile
from pathlib import Path

from config.embedded.errors import FolderUnusable
from config.embedded.paths import make_var_folder

SHORTEST = 32


def local_secret(var: Path) -> str:
    """The key in ``<var>/secret_key``, made on first use; racing processes all get the same one.

    Raises:
        FolderUnusable: the file cannot be made or read, or holds no usable key.
    """
    path = var / "secret_key"
    try:
        if not path.exists():
            make_var_folder(var)
            _write_once(path, secrets.token_urlsafe(48))
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FolderUnusable(f"The secret key {path} cannot be used: {error}") from error
    if len(secret) < SHORTEST:
        raise FolderUnusable(f"{path} holds no usable key. Delete it: a new one is made, and everybody logs in again.")
    return secret


def _write_once(path: Path, text: str) -> None:
    """Give ``path`` its content in one step; if somebody else was first, theirs stays."""
    handle, draft = tempfile.mkstemp(prefix="secret_key.", dir=path.parent)  # mode 0600
    try:
        with open(handle, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
