"""The site with routes that fail on request; no database is needed."""

from config.settings.test import *  # noqa: F403

ROOT_URLCONF = "tests.config.answers.urls"
