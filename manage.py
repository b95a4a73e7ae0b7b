#!/usr/bin/env python
"""Django's entry point; it brings up the embedded PostgreSQL when a command needs it."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    from django.core.management import execute_from_command_line

    from config.embedded import database_for_command
    from config.embedded.schema import lay_schema

    with database_for_command(sys.argv):
        lay_schema(sys.argv)
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
