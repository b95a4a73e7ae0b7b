"""User: who logs in. Identity: who that is, in a table that no export joins."""

from typing import ClassVar
from uuid import uuid4

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower


class UserManager(BaseUserManager["User"]):
    def create_user(self, username: str, password: str | None = None, *, is_simulated: bool = False) -> "User":
        """A new person; without a password nobody can log in as them."""
        user = self.model(username=self.model.normalize_username(username), is_simulated=is_simulated)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """One account. Roles belong to projects (Membership); names and e-mail to Identity."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    username = models.CharField(max_length=150, unique=True, validators=[UnicodeUsernameValidator()])
    is_active = models.BooleanField(default=True)
    is_simulated = models.BooleanField(default=False, help_text="A program that grades in the demo and in tests.")
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    def __str__(self) -> str:
        return self.username


class Identity(models.Model):
    """Name and e-mail of a person; only leads see it, and deleting it keeps every judgment."""

    user = models.OneToOneField(
        User, models.CASCADE, null=True, related_name="identity", help_text="Null: invited, not here yet."
    )
    name = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(
                Lower("email"), condition=Q(user__isnull=False) & ~Q(email=""), name="identity_email_of_one_account"
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False) | ~Q(email=""), name="identity_of_the_invited_has_an_email"
            ),
        ]

    def __str__(self) -> str:
        return self.name
