"""Where somebody is logged in and how to end it; a session and its account are read by one prepared statement.

Every request needs both. Django's ORM spends more time on wording these two look-ups than on a whole judgment's SQL.
"""

import re
from contextvars import ContextVar
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.middleware import AuthenticationMiddleware, get_user
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import connection, transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from accounts.models import BrowserSession, User
from core.audit import audit_record
from core.sql import row_first

BROWSERS = [  # the first that fits: the others say that they are Safari, too
    *[("Edge", "Edg"), ("Opera", "OPR/"), ("Firefox", "Firefox|FxiOS"), ("Chrome", "Chrome|CriOS")],
    ("Safari", "Safari"),
]
SYSTEMS = [
    *[("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")],
    *[("macOS", "Mac OS"), ("ChromeOS", "CrOS"), ("Linux", "Linux")],
]
CLIENT = "client"
TABLE = BrowserSession._meta.db_table
USED = f"UPDATE {TABLE} SET used_at = now() WHERE session_key = %s"  # noqa: S608  # nosec B608 - constants
FIELDS = [field.attname for field in User._meta.concrete_fields]
ID = FIELDS.index("id")
SESSION = (
    "SELECT session.session_data, session.used_at < now() - interval '10 minutes',"  # noqa: S608  # nosec B608
    " cardinality(%(roles)s::varchar[]) > 0 AND EXISTS (SELECT 1 FROM accounts_membership member"
    " WHERE member.user_id = person.id AND member.roles && %(roles)s::varchar[]),"
    f" {', '.join(f'person.{name}' for name in FIELDS)}"
    f" FROM {TABLE} session LEFT JOIN {User._meta.db_table} person ON person.id = session.user_id"
    " WHERE session.session_key = %(key)s AND session.expire_date > now()"
)
AccountRow = tuple[Any, ...]  # as in FIELDS
_read_with_session: ContextVar[AccountRow | None] = ContextVar("_read_with_session", default=None)


def rough_client(user_agent: str) -> str:
    """A browser as people know theirs: no version, nothing that tells two of one kind apart."""
    browser = next((name for name, pattern in BROWSERS if re.search(pattern, user_agent)), "")
    system = next((name for name, pattern in SYSTEMS if re.search(pattern, user_agent)), "")
    return f"{browser or 'A browser'} on {system}" if system else browser or "A program or an unknown browser"


def sessions_of(user: User) -> list[BrowserSession]:
    """Those that still open something, the one used last first."""
    return list(user.browser_sessions.filter(expire_date__gt=timezone.now()))


@transaction.atomic
def session_end(*, user: User, uuid: UUID) -> bool:
    """Log the person out there; False when they have no such session."""
    User.objects.select_for_update().get(pk=user.pk)
    ended, _ = user.browser_sessions.filter(uuid=uuid).delete()
    if ended:
        audit_record(project=None, actor=user, action="session.end", subject=user.uuid, sessions=ended)
    return bool(ended)


@transaction.atomic
def sessions_end(*, user: User, actor: User | None, but: str | None = None) -> int:
    """Log the person out everywhere, but for the session with the key ``but``."""
    User.objects.select_for_update().get(pk=user.pk)
    ended, _ = user.browser_sessions.exclude(session_key=but or "").delete()
    if ended:
        audit_record(project=None, actor=actor, action="session.end", subject=user.uuid, sessions=ended)
    return ended


class SessionStore(DatabaseStore):
    """Django's sessions in the database, in a table that says whose they are; reading one is our own.

    Attributes:
        account: the person's row as it was when the session was read.
        second_step_is_required: whether a role of the person's was one of TOTP_REQUIRED_FOR then.
    """

    second_step_is_required: bool | None = None

    account: AccountRow | None = None

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        session = cast(BrowserSession, super().create_model_instance(data))
        session.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        session.client = data.get(CLIENT, "")
        return session

    def load(self) -> dict[str, Any]:
        row = None
        if "\0" not in (self.session_key or ""):  # a cookie may hold anything
            with connection.cursor() as cursor:
                cursor.execute(SESSION, {"key": self.session_key, "roles": list(settings.TOTP_REQUIRED_FOR)})
                row = cursor.fetchone()
                if row and row[1]:
                    cursor.execute(USED, [self.session_key])
        if row is None:
            self._session_key = None
            return {}
        self.second_step_is_required, self.account = row[2], row[3:]
        return self.decode(row[0])


class AccountMiddleware(AuthenticationMiddleware):
    """Django's own, but that the account was read with the session; whether they fit each other Django decides."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.user = cast(User, SimpleLazyObject(lambda: person_of_session(request)))


def person_of_session(request: HttpRequest) -> User | AnonymousUser:
    """Return who is logged in, for ``request.user``."""
    request.session.get(SESSION_KEY)  # reads the session
    mark = _read_with_session.set(getattr(request.session, "account", None))
    try:
        return get_user(request)
    finally:
        _read_with_session.reset(mark)


class AccountBackend(ModelBackend):
    """Django's log-in by name and password; only reading the account of a session is our own."""

    def get_user(self, user_id: int) -> User | None:
        row = _read_with_session.get()
        if row is None or row[ID] != user_id:
            user = row_first(User, "WHERE id = %s", user_id)
        else:
            user = User.from_db(connection.alias, FIELDS, row)
        return user if user is not None and self.user_can_authenticate(user) else None


@receiver(user_logged_in)
def client_remember(request: HttpRequest, **kwargs: Any) -> None:
    """The person's list of sessions says in which browser each is."""
    request.session[CLIENT] = rough_client(request.headers.get("User-Agent", ""))
