"""One machine, embedded services: what `make run` and a bare `manage.py` use."""

from core.embedded.folder import make_var_folder
from core.env import env_bool, local_secret

from .base import *  # noqa: F403
from .base import MOMENTJUDGE_VAR, STORAGES

SECRET_KEY = local_secret(make_var_folder(MOMENTJUDGE_VAR))
LEADS_RUN_BENCHMARKS = env_bool("LEADS_RUN_BENCHMARKS", True)
# Static files are served from where they lie, nothing is collected
STATIC_ROOT = None  # type: ignore[assignment]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
