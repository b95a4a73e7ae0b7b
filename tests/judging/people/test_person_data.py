"""Data stored of one person: handed out, and forgotten."""

import csv
import io
import json
import os
from datetime import timedelta
from pathlib import Path
from uuid import uuid4
from zipfile import ZipFile

import pytest
from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.apps import apps
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.management.commands.person_traces import traces
from accounts.models import BrowserSession, Identity, Membership, StatusChange, User
from accounts.services.credentials import token_create
from accounts.services.identities import identity_set
from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Invitation
from judging.people.person_data import (
    OF_LIBRARIES,
    OWN,
    all_tables,
    our_models,
    person_data,
    references,
    retention_apply,
    retention_counts,
)
from judging.people.services import annotator_leave, invitation_create, person_forget
from tests.accounts.acts import give_phone
from tests.factories import BatchFactory, GoldGradeFactory, JudgmentFactory, MembershipFactory, ProjectFactory, lead
from tests.judging.play import grade, take
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, participant, ready_release, run_json

pytestmark = pytest.mark.django_db
NAME, EMAIL, USERNAME = "Quirinius Kowalkeit", "quirinius@kowalkeit.example", "qkowalkeit"
WORDS = ["quirinius", "kowalkeit"]


def files_in(packed: bytes) -> dict[str, str]:
    with ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def person() -> User:
    """An annotator with a name, who has judged, logged in, mistyped, and was invited once more."""
    user = take(BatchFactory()).annotator
    User.objects.filter(pk=user.pk).update(username=USERNAME)
    user.refresh_from_db()
    identity_set(user=user, name=NAME, email=EMAIL)
    return user


def membership(person: User) -> Membership:
    return person.memberships.select_related("project", "user").get()


class TestTheirOwn:
    def test_who_they_are_and_what_they_gave_and_nothing_of_others(self, person: User) -> None:
        assignment = person.assignments.get()  # type: ignore[misc]
        grade(assignment, [3, 1])
        person.judgments.filter(grade=3).update(comment="=HYPERLINK(1)")  # type: ignore[attr-defined]
        other = JudgmentFactory(grade=4)
        files = files_in(person_data(user=person, actor=person, own=True))
        assert json.loads(files["person.json"])["identity"] == {"name": NAME, "email": EMAIL}
        grades = {row["grade"]: row["comment"] for row in rows(files["OwnGrade.csv"])}
        assert grades == {"3": "'=HYPERLINK(1)", "1": ""}
        assert rows(files["Membership.csv"])[0]["number"] == str(membership(person).number)
        text = "".join(files.values())
        assert str(other.uuid) not in text and str(other.pair.uuid) not in text

    def test_nothing_that_grades_are_measured_by(self) -> None:
        """Whether a pair is gold, its truth, its round, slot, rank and batch are in no column."""
        secrets = ("truth", "gold", "round", "slot", "rank", "batch")
        columns = {name for table, (_, names) in OWN.items() for name in names if table != "judging.WritingRoundMember"}
        assert not [name for name in columns if any(word in name for word in secrets)]
        person = GoldGradeFactory().annotator
        assert "judging.GoldGrade.annotator.csv" in files_in(person_data(user=person, actor=None, own=False))
        own = files_in(person_data(user=person, actor=person, own=True))
        assert len(rows(own["OwnGrade.csv"])) == 1  # as any other grade
        assert not any("Gold" in name or "truth" in text for name, text in own.items())

    def test_it_is_downloaded_on_the_account_page(self, person: User) -> None:
        browser = Client()
        assert browser.post(reverse("person-export")).status_code == 302  # to log in
        browser.force_login(person)
        assert reverse("person-export") in browser.get(reverse("account")).content.decode()
        answer = browser.post(reverse("person-export"))
        assert answer.headers["Content-Type"] == "application/zip"
        assert "BrowserSession.csv" in files_in(answer.content)
        assert browser.get(reverse("person-export")).status_code == 405
        event = AuditEvent.objects.filter(action="identity.export").latest("id")
        assert (event.actor, event.data) == (person, {"own": True})


class TestInFull:
    def test_every_reference_to_an_account_is_followed(self) -> None:
        fields = {(model._meta.label, name) for model in our_models() for name in references(model)}
        direct = {
            (model._meta.label, field.name)
            for model in our_models()
            for field in model._meta.concrete_fields
            if field.related_model is User
        }
        assert direct <= fields
        assert {
            ("accounts.StatusChange", "membership__user"),
            ("judging.JudgmentChange", "judgment__annotator"),
        } <= fields

    def test_tables_of_the_log_in_are_followed_and_forgotten(self, person: User) -> None:
        """Those of django-allauth that stay empty, too: no e-mail address and no provider's token is written there."""
        give_phone(person)
        address = EmailAddress.objects.create(user=person, email=EMAIL)
        EmailConfirmation.create(address)
        account = SocialAccount.objects.create(user=person, provider="lab", uid="0" * 64)
        SocialToken.objects.create(account=account, token="opens-something")
        models = {model for label in OF_LIBRARIES for model in apps.get_app_config(label).get_models()}
        models -= {SocialApp}  # of the site
        files = files_in(person_data(user=person, actor=None, own=False))
        names = {model._meta.label for model in models}
        assert {name.rpartition(".")[0] for name in files if name.startswith(tuple(names))} >= {
            f"{name}.{field}" for name in names for field in references(apps.get_model(name))
        }
        text = "".join(files.values())
        assert "opens-something" not in text and "0" * 64 not in text and "digests" not in text
        person_forget(user=person, actor=None, reason="Asked for.")
        assert [model for model in models if model.objects.exists()] == []

    def test_no_secret_is_in_it(self, person: User) -> None:
        token = token_create(user=person, name="laptop")
        browser = Client()
        browser.force_login(person)
        text = "".join(files_in(person_data(user=person, actor=None, own=False)).values())
        columns = {column for _, names, _ in all_tables(person) for column in names}
        assert not columns & {"password", "digest", "session_key", "session_data"}
        assert token not in text and browser.cookies["sessionid"].value not in text
        assert "laptop" in text

    def test_the_command_writes_a_file_for_one_pair_of_eyes(self, person: User, tmp_path: Path) -> None:
        path = tmp_path / "person.zip"
        call_command("person_export", USERNAME, str(path))
        assert path.stat().st_mode & 0o077 == 0
        assert "judging.Assignment.annotator.csv" in files_in(path.read_bytes())
        with pytest.raises(CommandError, match="there already"):
            call_command("person_export", USERNAME, str(path))
        with pytest.raises(CommandError, match="no account"):
            call_command("person_export", "nobody", str(tmp_path / "other.zip"))


def in_files(words: list[str], folder: str = "") -> list[str]:
    """Stored files whose name or content has one of the words."""
    folders, files = default_storage.listdir(folder)
    matches = [match for name in folders for match in in_files(words, os.path.join(folder, name))]
    for name in (os.path.join(folder, each) for each in files):
        with default_storage.open(name) as file:
            content = name.lower().encode() + file.read().lower()
        matches += [name for word in words if word.encode() in content]
    return matches


def mistyped(typed: str) -> None:
    """Somebody gives a wrong password for this user name."""
    Client().post(reverse("login"), {"username": typed, "password": "wrong"})


def spread(person: User) -> None:
    """The name gets wherever the site itself writes it."""
    project = membership(person).project
    boss = lead(project)
    other = ProjectFactory()
    Membership.objects.create(project=other, user=boss, roles=["lead"])
    invitation_create(project=other, actor=boss, role="annotator", email=EMAIL)
    for typed in (USERNAME, EMAIL.upper()):
        mistyped(typed)
    token_create(user=person, name="laptop of Quirinius")
    give_phone(person)
    browser = Client()
    browser.force_login(person)
    browser.get(reverse("account"))


class TestForgetting:
    def test_after_it_no_table_and_no_file_holds_the_name(self, person: User) -> None:
        """The property: whatever column and file there is, now or later."""
        spread(person)
        before = traces(WORDS)
        assert {"accounts_user.username", "accounts_identity.email"} <= set(before)
        assert "accounts_accesstoken.name" in before
        person_forget(user=person, actor=None, reason="Asked for.")
        assert traces(WORDS) == {}
        assert in_files(WORDS) == []

    def test_grades_and_number_stay_and_the_audit_says_that_it_was_and_not_whom(self, person: User) -> None:
        grade(person.assignments.get(), [3, 1])  # type: ignore[misc]
        number = membership(person).number
        person_forget(user=person, actor=None, reason="Asked for.")
        member = membership(person)
        assert (member.number, member.status) == (number, Membership.Status.LEFT)
        assert person.judgments.count() == 2  # type: ignore[attr-defined]
        forgotten = User.objects.get(pk=person.pk)
        assert not forgotten.is_active and not forgotten.has_usable_password()
        person_forget(user=forgotten, actor=None, reason="Again.")
        assert User.objects.get(pk=person.pk).username == forgotten.username
        event = AuditEvent.objects.get(action="identity.erase")
        assert (event.subject, event.data["reason"]) == (person.uuid, "Asked for.")

    def test_the_only_lead_of_a_project_stays(self) -> None:
        project = ProjectFactory()
        boss = lead(project)
        with pytest.raises(NotPossibleNow, match="Nobody else leads"):
            person_forget(user=boss, actor=None, reason="Asked for.")
        lead(project)
        person_forget(user=boss, actor=None, reason="Asked for.")
        assert not User.objects.get(pk=boss.pk).is_active

    @pytest.mark.usefixtures("encoder")
    def test_runs_lose_team_and_file_name(self) -> None:
        scenario = HandMade()
        theirs = participant(scenario.project)
        run = bring(theirs, ready_release(scenario.project), run_json({10: GOOD}), work=False)
        assert (run.team, run.file_name) == ("the team", "run.json")
        person_forget(user=theirs.user, actor=None, reason="Asked for.")
        run.refresh_from_db()
        assert (run.team, run.file_name, run.owner_id) == ("", "", theirs.user_id)

    def test_the_command_asks_for_the_user_name_and_takes_the_id_that_the_audit_gives(
        self, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("builtins.input", lambda prompt: "somebody else")
        with pytest.raises(CommandError, match="Nothing was erased"):
            call_command("person_erase", USERNAME)
        with pytest.raises(CommandError, match="There is no account named"):
            call_command("person_erase", str(uuid4()), "--typed", USERNAME)
        monkeypatch.setattr("builtins.input", lambda prompt: USERNAME)
        call_command("person_erase", USERNAME)
        assert traces(WORDS) == {}

    def test_the_command_takes_the_id_that_the_audit_gives(self, person: User) -> None:
        call_command("person_erase", str(person.uuid), "--typed", USERNAME)
        assert traces(WORDS) == {}
        events = AuditEvent.objects.filter(action="identity.erase")
        assert set(events.values_list("subject", flat=True)) == {person.uuid}

    def test_the_page_asks_for_the_number(self, person: User) -> None:
        member = membership(person)
        boss = Client()
        boss.force_login(lead(member.project))
        erase_url = reverse("judging:person-erase", args=[member.project.uuid, member.number])
        for typed in ("", "x", str((member.number or 0) + 1)):
            answer = boss.post(erase_url, {"number": typed})
            assert answer.status_code == 422
            assert "Nothing was erased" in answer.content.decode()
        assert Identity.objects.filter(user=person).exists()
        assert boss.post(erase_url, {"number": f" {member.number} "}).status_code == 302
        assert not Identity.objects.filter(user=person).exists()


def test_traces_are_of_a_word_as_it_is(person: User, capsys: pytest.CaptureFixture[str]) -> None:
    assert traces(["kowalkeit"])["accounts_identity.name"] == 1
    assert traces(["k_walkeit"]) == traces(["100%"]) == {}
    call_command("person_traces", "kowalkeit")
    assert "1 accounts_identity.name" in capsys.readouterr().out


@pytest.fixture
def _retention(settings: Settings, tmp_path: Path) -> None:
    settings.MOMENTJUDGE_VAR = tmp_path
    (tmp_path / "log").mkdir()
    settings.RETENTION_LOG_DAYS = settings.RETENTION_SESSION_DAYS = 30
    settings.RETENTION_INVITATION_DAYS, settings.RETENTION_IDENTITY_MONTHS = 90, 6


@pytest.mark.usefixtures("_retention")
class TestRetention:
    def test_what_is_old_goes_and_what_is_not_stays(self, person: User, settings: Settings) -> None:
        now = timezone.now()
        old, new = now - timedelta(days=31), now - timedelta(days=29)
        for n, at in enumerate((old, new)):
            BrowserSession.objects.create(
                session_key=f"key-{n}", user=person, used_at=at, expire_date=now + timedelta(days=5), session_data=""
            )
            log = settings.MOMENTJUDGE_VAR / "log" / f"web{n}.log.1"
            log.touch()
            os.utime(log, (at.timestamp(), at.timestamp()))
        counts = retention_apply(now=now)
        assert counts == {"logs": 1, "sessions": 1, "invited": 0, "left": 0}
        assert BrowserSession.objects.get().session_key == "key-1"
        assert [path.name for path in (settings.MOMENTJUDGE_VAR / "log").iterdir()] == ["web1.log.1"]

    def test_looking_deletes_nothing(self, person: User, capsys: pytest.CaptureFixture[str]) -> None:
        now = timezone.now() + timedelta(days=400)
        annotator_leave(membership=membership(person), actor=lead(membership(person).project))
        assert retention_counts(now=now)["left"] == 1
        call_command("retention", "--dry-run")
        assert "Nothing was deleted" in capsys.readouterr().out
        assert Identity.objects.filter(user=person).exists()
        assert retention_apply(now=now)["left"] == 1
        assert set(retention_apply(now=now).values()) == {0}

    def test_who_left_lately_or_stays_somewhere_remains(self, person: User) -> None:
        member = membership(person)
        annotator_leave(membership=member, actor=lead(member.project))
        left_at = StatusChange.objects.filter(membership=member).latest("id").created_at
        assert retention_counts(now=left_at + timedelta(days=179))["left"] == 0
        assert retention_counts(now=left_at + timedelta(days=181))["left"] == 1
        MembershipFactory(user=person)
        assert retention_counts(now=left_at + timedelta(days=181))["left"] == 0

    def test_an_invitation_nobody_took_loses_its_address(self) -> None:
        project = ProjectFactory()
        invitation, _ = invitation_create(project=project, actor=lead(project), role="annotator", email=EMAIL)
        due = invitation.expires_at + timedelta(days=91)
        assert retention_counts(now=invitation.expires_at + timedelta(days=89))["invited"] == 0
        assert retention_apply(now=due)["invited"] == 1
        assert Invitation.objects.get(pk=invitation.pk).identity is None
        assert traces(WORDS) == {}

    def test_0_keeps_all_and_less_is_refused(self, person: User, settings: Settings) -> None:
        names = [f"RETENTION_{name}" for name in ("LOG_DAYS", "SESSION_DAYS", "INVITATION_DAYS")]
        names.append("RETENTION_IDENTITY_MONTHS")
        for name in names:
            setattr(settings, name, 0)
        annotator_leave(membership=membership(person), actor=lead(membership(person).project))
        assert set(retention_apply(now=timezone.now() + timedelta(days=4000)).values()) == {0}
        for name in names:
            setattr(settings, name, -1)
            with pytest.raises(ValueError, match="lies ahead"):
                retention_apply(now=timezone.now())
            setattr(settings, name, 0)
        assert Identity.objects.filter(user=person).exists()
