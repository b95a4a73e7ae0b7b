"""Settings from the environment: typed, and loud about what cannot be read."""

import math
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

Number = TypeVar("Number", int, float, Decimal)
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
ISSUER = re.compile(r"(https://|http://(localhost|127\.0\.0\.1)(?=[:/]|$))[\w.:-]*(/[\w.~%/-]*)?", re.ASCII)
ACCEL = re.compile(r"/[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/")
S3_NEEDED = ("S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")
SHORTEST_SECRET = 32  # characters
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
    valid_roles = {"annotator", "participant", "lead", "admin", "writer", "checker"}
    roles = [part.strip().lower() for part in text.split(",") if part.strip()]
    if unknown := set(roles) - valid_roles:
        raise ImproperlyConfigured(f"Roles are {', '.join(sorted(valid_roles))}; {min(unknown)!r} is none.")
    return roles


class Provider(NamedTuple):
    """One provider of single sign-on, as allauth wants it."""

    app: dict[str, Any]
    origins: list[str]  # where its forms are


def oidc_from_env() -> list[Provider]:
    """Return the providers that OIDC_PROVIDERS names, each described by OIDC_<NAME>_URL, _CLIENT_ID, _SECRET, _NAME."""
    return [_provider(name.strip()) for name in env_str("OIDC_PROVIDERS", "").split(",") if name.strip()]


def _provider(name: str) -> Provider:
    if not re.fullmatch(r"[a-z][a-z0-9]{0,29}", name):
        raise ImproperlyConfigured(f"A name in OIDC_PROVIDERS has small letters and digits alone; {name!r} is none.")
    start = f"OIDC_{name.upper()}_"
    values = {word: env_str(f"{start}{word}", "") for word in ("URL", "CLIENT_ID", "SECRET", "NAME", "ORIGINS")}
    if missing := [f"{start}{word}" for word in ("URL", "CLIENT_ID") if not values[word]]:
        raise ImproperlyConfigured(f"OIDC_PROVIDERS names {name!r}, and {' and '.join(missing)} must be set for it.")
    for url in (values["URL"], *values["ORIGINS"].split()):
        if not ISSUER.fullmatch(url):
            raise ImproperlyConfigured(
                f"{start}URL and {start}ORIGINS begin with https://; {url!r} is no such address."
            )
    app = {
        "provider_id": name,
        "name": values["NAME"] or name.capitalize(),
        "client_id": values["CLIENT_ID"],
        "secret": values["SECRET"],
        "settings": {"server_url": values["URL"].rstrip("/")},
    }
    parts = [urlsplit(url) for url in (values["URL"], *values["ORIGINS"].split())]
    return Provider(app, [f"{part.scheme}://{part.netloc}" for part in parts])


def tls_of(text: str) -> tuple[bool, bool]:
    """Whether a mail server is spoken to with STARTTLS, and whether with TLS from the start."""
    modes = {"starttls": (True, False), "tls": (False, True), "none": (False, False)}
    if text.lower() not in modes:
        raise ImproperlyConfigured(f"EMAIL_TLS must be one of {', '.join(modes)}; it is {text!r}.")
    return modes[text.lower()]


def env_secret(name: str) -> str:
    """The secret called ``name``. Raises ImproperlyConfigured when it is absent or short."""
    text = os.environ.get(name, "")
    if len(text) < SHORTEST_SECRET:
        raise ImproperlyConfigured(f"{name} must be set to at least {SHORTEST_SECRET} characters.")
    return text


def local_secret(var: Path) -> str:
    """The key in ``<var>/secret_key``, made on first use; racing processes all get the same one.

    Raises:
        ImproperlyConfigured: the file cannot be made or read, or holds no usable key.
    """
    path = var / "secret_key"
    try:
        if not path.exists():
            # Linked when it is whole; if another process was first, its key stays. The draft has mode 0600.
            with tempfile.NamedTemporaryFile(prefix="secret_key.", dir=var) as draft:
                draft.write(secrets.token_urlsafe(48).encode() + b"\n")
                draft.flush()
                os.fsync(draft.fileno())
                with suppress(FileExistsError):
                    os.link(draft.name, path)
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"The secret key {path} cannot be used: {error}") from error
    if len(secret) < SHORTEST_SECRET:
        raise ImproperlyConfigured(
            f"{path} holds no usable key. Delete it: a new one is made, and everybody logs in again."
        )
    return secret


def tune_command() -> list[str]:
    """Return the command that searches over settings in the folder named after it, in one process."""
    return [sys.executable, "-m", "moment_retrieval", "tune"]


def train_command(gpus: int) -> list[str]:
    """Return the command that trains the folder named after it: one process, or one for each GPU."""
    program = ["-m", "moment_retrieval", "train"]
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(gpus)] if gpus > 1 else []
    return [sys.executable, *several, *program]


@dataclass(frozen=True)
class Media:
    """The entry of STORAGES, and the origin that pages load media from besides the site's own (empty: none)."""

    storage: dict[str, Any]
    origin: str = ""


def media_from_env() -> Media:
    """Return what MEDIA_STORAGE names; ImproperlyConfigured where it, or a setting of S3, makes no sense."""
    kind = env_str("MEDIA_STORAGE", "local") or "local"
    if kind == "local":
        return Media({"BACKEND": "core.storage.folder.FolderMedia"})
    if kind != "s3":
        raise ImproperlyConfigured(f"MEDIA_STORAGE must be local or s3; it is {kind!r}.")
    return _s3()


def accel_from_env() -> str:
    """The internal location of nginx below which stored files lie; empty where there is none."""
    text = env_str("MEDIA_ACCEL", "")
    if text and not ACCEL.fullmatch(text):
        raise ImproperlyConfigured(f"MEDIA_ACCEL must be a path such as /protected/; it is {text!r}.")
    return text


def url_seconds_from_env() -> int:
    """How long a signed address of a file opens it."""
    return env_int("MEDIA_URL_S", 120, least=60, most=300)


def _s3() -> Media:
    if missing := [name for name in S3_NEEDED if not env_str(name, "")]:
        raise ImproperlyConfigured(f"MEDIA_STORAGE is s3: {', '.join(missing)} must be set.")
    bucket, region = env_str("S3_BUCKET", ""), env_str("S3_REGION", "")
    if not BUCKET.fullmatch(bucket):
        raise ImproperlyConfigured(f"S3_BUCKET is no name of a bucket: {bucket!r}.")
    own = _web_address("S3_ENDPOINT_URL", "")
    if not own and not region:
        raise ImproperlyConfigured("MEDIA_STORAGE is s3: S3_ENDPOINT_URL or S3_REGION must be set.")
    endpoint = own or f"https://s3.{region}.amazonaws.com"
    public = _web_address("S3_PUBLIC_URL", endpoint)
    addressing = env_str("S3_ADDRESSING", "") or ("path" if own else "virtual")
    if addressing not in ("path", "virtual"):
        raise ImproperlyConfigured(f"S3_ADDRESSING must be path or virtual; it is {addressing!r}.")
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint,
        "public_url": public,
        "region_name": region or "us-east-1",
        "access_key": env_str("S3_ACCESS_KEY_ID", ""),
        "secret_key": env_str("S3_SECRET_ACCESS_KEY", ""),
        "addressing": addressing,
    }
    parts = urlsplit(public)
    origin = f"{parts.scheme}://{f'{bucket}.' if addressing == 'virtual' else ''}{parts.netloc}"
    return Media({"BACKEND": "core.storage.bucket.S3Media", "OPTIONS": options}, origin)


def _web_address(name: str, default: str) -> str:
    text = env_address(name, default).rstrip("/")
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.username):
        raise ImproperlyConfigured(
            f"{name} must be an address such as https://s3.example.org, without user and password."
        )
    return text
