"""The test suite: a data folder of its own, fast hashing, tasks run in place."""

import os

os.environ.setdefault("MOMENTJUDGE_VAR", os.path.join(os.path.dirname(__file__), "..", "..", "var", "test"))

from .base import *  # noqa: F403

SECRET_KEY = "tests-only-" + "x" * 32
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
ALLOWED_HOSTS = ["*"]
SITE_URL = "http://testserver"
FEATURES_ROOTS = [MOMENTJUDGE_VAR / "official-features"]
EMAIL_HOST = "mail.testserver"
SLOW_QUERY_MS = 0  # a busy machine says nothing more than a quiet one
