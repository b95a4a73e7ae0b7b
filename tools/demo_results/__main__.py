"""``python -m tools.demo_results``: see the package."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
django.setup()

from tools.demo_results.make import main  # noqa: E402 - Django first

main()
