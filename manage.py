#!/usr/bin/env python
"""Django's entry point; it brings up the embedded PostgreSQL when a command needs it."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from core.embedded.holding import database_for_command, lay_schema

    try:
        with database_for_command(sys.argv):
            lay_schema(sys.argv)
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")  # words for who set it, not for who wrote it


if __name__ == "__main__":
    main()
