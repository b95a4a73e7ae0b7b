"""Second steps of people, set up without any page."""

from contextlib import suppress

from allauth.mfa.models import Authenticator

from accounts.models import User
from accounts.services.credentials import decrypt, phone_begin, phone_confirm
from core.exceptions import NotPossible
from tests.accounts.phone import code_at


def give_phone(person: User) -> list[str]:
    """Set up the second step of somebody without any page: the codes on paper."""
    secret = phone_begin(user=person)
    with suppress(NotPossible):  # a half minute may end between the two
        return phone_confirm(user=person, secret=secret, code=code_at(secret, -1), session=None)
    return phone_confirm(user=person, secret=secret, code=code_at(secret, -1), session=None)


def shown_on_phone(person: User, steps: int = 0) -> str:
    """Return the phone's code, as if the last one were of long ago."""
    phone = Authenticator.objects.get(user=person, type=Authenticator.Type.TOTP)
    phone.data["counter"] = -1
    phone.save(update_fields=["data"])
    return code_at(decrypt(phone.data["secret"]), steps)
