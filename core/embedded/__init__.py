"""PostgreSQL and Valkey from Python wheels: found, started, shared and stopped without Docker or root.

``python -m core.embedded`` runs the whole site (``make run``); ``database_for_command`` and
``hold_database`` lend the PostgreSQL alone to one command or one test run. Importing this is cheap
and reads no settings: the settings import it.
"""

from core.embedded.holding import database_for_command, hold_database

__all__ = ["database_for_command", "hold_database"]
