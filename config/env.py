"""Settings from the environment: typed, and loud about what cannot be read."""

import os
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def env_str(name: str, default: str) -> str:
    return os.environ.get(name, default)


def env_path(name: str, default: Path) -> Path:
    return Path(os.environ.get(name) or default).expanduser().resolve()


def env_paths(name: str) -> list[Path]:
    """Folders with colons between, as in PATH; none unless it is set."""
    return [Path(part).expanduser() for part in os.environ.get(name, "").split(os.pathsep) if part.strip()]


def env_bool(name: str, default: bool) -> bool:
    text = os.environ.get(name)
    if text is None:
        return default
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be one of 1/0, true/false, yes/no, on/off; it is {text!r}.")


def env_int(name: str, default: int) -> int:
    text = os.environ.get(name)
    try:
        return default if text is None else int(text)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number; it is {text!r}.") from error


def roles_of(text: str) -> list[str]:
    """Roles with commas between; none where it is empty."""
    known = {"annotator", "participant", "lead", "admin"}
    roles = [part.strip().lower() for part in text.split(",") if part.strip()]
    if unknown := set(roles) - known:
        raise ImproperlyConfigured(f"Roles are {', '.join(sorted(known))}; {min(unknown)!r} is none.")
    return roles


def tls_of(text: str) -> tuple[bool, bool]:
    """Whether a mail server is spoken to with STARTTLS, and whether with TLS from the start."""
    known = {"starttls": (True, False), "tls": (False, True), "none": (False, False)}
    if text.lower() not in known:
        raise ImproperlyConfigured(f"EMAIL_TLS must be one of {', '.join(known)}; it is {text!r}.")
    return known[text.lower()]


def env_secret(name: str) -> str:
    """The secret called ``name``. Raises ImproperlyConfigured when it is absent or short."""
    text = os.environ.get(name, "")
    if len(text) < 32:
        raise ImproperlyConfigured(f"{name} must be set to at least 32 characters.")
    return text


def train_command(gpus: int) -> list[str]:
    """What trains the folder that is named after it: one process, or one for each GPU."""
    program = ["-m", "models_runner.retrieval", "train"]
    if gpus < 1:
        raise ImproperlyConfigured(f"TRAIN_GPUS must be 1 or more; it is {gpus}.")
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(gpus)] if gpus > 1 else []
    return [sys.executable, *several, *program]
