"""Settings from the environment: typed, and loud about what cannot be read."""

import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

Number = TypeVar("Number", int, float, Decimal)
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


def env_int(name: str, default: int, *, least: int = 1, most: float = math.inf) -> int:
    return _number(name, default, int, least, most)


def env_float(name: str, default: float, *, least: float = 0, most: float = math.inf) -> float:
    return _number(name, default, float, least, most)


def env_decimal(name: str, default: str) -> Decimal:
    """A price: exact, and not below 0."""
    return _number(name, Decimal(default), Decimal, 0, math.inf)


def _number(name: str, default: Number, read: Callable[[str], Number], least: float, most: float) -> Number:
    text = os.environ.get(name)
    if text is None:
        return default
    with suppress(ValueError, ArithmeticError):  # it is none, or too long for one
        value = read(text)
        if math.isfinite(value) and least <= value <= most:
            return value
    kind = "whole number" if read is int else "number"
    bounds = f"of {least} or more" if most == math.inf else f"from {least} to {most}"
    raise ImproperlyConfigured(f"{name} must be a {kind} {bounds}; it is {text!r}.")


def env_address(name: str, default: str) -> str:
    """An address of a server, which is not repeated where it cannot be read: it may hold a password."""
    text = os.environ.get(name)
    if not text:
        return default
    try:
        parts = urlsplit(text)
        is_cut = "@" in parts.path + parts.query + parts.fragment  # the password ended at its /, ? or #
        readable = not is_cut and parts.port != 0
    except ValueError:
        readable = False
    if not readable:
        raise ImproperlyConfigured(
            f"{name} is no address that can be read. Special characters in its user and password must be"
            " percent-encoded: %2F for /, %40 for @."
        )
    return text


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
    program = ["-m", "moment_retrieval", "train"]
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(gpus)] if gpus > 1 else []
    return [sys.executable, *several, *program]
