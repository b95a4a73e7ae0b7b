"""One machine, embedded services: what `make run` and a bare `manage.py` use."""

from core.embedded.folder import local_secret

from .base import *  # noqa: F403
from .base import MOMENTJUDGE_VAR

SECRET_KEY = local_secret(MOMENTJUDGE_VAR)
