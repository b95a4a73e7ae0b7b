from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.embedded.folder import SHORTEST, EmbeddedError, local_secret


def test_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    var = tmp_path / "var"
    secret = local_secret(var)
    assert len(secret) >= SHORTEST and local_secret(var) == secret != local_secret(tmp_path / "other")
    assert (var / "secret_key").stat().st_mode & 0o777 == 0o600


def test_racing_processes_agree_and_leave_no_drafts(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        secrets = set(pool.map(local_secret, [tmp_path / "var"] * 64))
    assert len(secrets) == 1
    assert {path.name for path in (tmp_path / "var").iterdir()} == {"secret_key", "log"}


def test_damaged_secret_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("short\n")
    with pytest.raises(EmbeddedError, match="Delete it"):
        local_secret(tmp_path)
