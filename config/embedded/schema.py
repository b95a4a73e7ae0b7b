"""A new data folder gets its tables with the first command that needs them."""

from collections.abc import Sequence

WITHOUT_SCHEMA = {
    *("migrate", "makemigrations", "showmigrations", "sqlmigrate", "squashmigrations"),
    *("flush", "dbshell", "restore"),
}


def lay_schema(argv: Sequence[str]) -> None:
    """Migrate the embedded database when it holds no table at all; an older schema is left to `manage.py migrate`."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    from config.embedded.holding import needs_database

    if not needs_database(argv) or argv[1] in WITHOUT_SCHEMA or not settings.EMBEDDED_DATABASE:
        return
    django.setup()
    from django.db import connection

    if not connection.introspection.table_names():
        call_command("migrate", verbosity=0)
    connection.close()
