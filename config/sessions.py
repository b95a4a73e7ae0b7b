"""Who is asking: the session and the account, each read by one prepared statement.

Every request needs both. Django's ORM spends more time on wording these two look-ups than on a whole judgment's SQL.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import connection

from annotation.models import User

SESSION = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > now()"
FIELDS = [field.attname for field in User._meta.concrete_fields]
ACCOUNT = f"SELECT {', '.join(FIELDS)} FROM {User._meta.db_table} WHERE id = %s"  # noqa: S608


class SessionStore(DatabaseStore):
    """Django's sessions in the database; only reading one is our own."""

    def load(self) -> dict[str, Any]:
        row = None
        if "\0" not in (self.session_key or ""):  # a cookie may hold anything
            with connection.cursor() as cursor:
                cursor.execute(SESSION, [self.session_key])
                row = cursor.fetchone()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row[0])


class AccountBackend(ModelBackend):
    """Django's log-in by name and password; only reading the account of a session is our own."""

    def get_user(self, user_id: int) -> User | None:
        with connection.cursor() as cursor:
            cursor.execute(ACCOUNT, [user_id])
            row = cursor.fetchone()
        user = User.from_db(connection.alias, FIELDS, row) if row else None
        return user if user is not None and self.user_can_authenticate(user) else None
