"""manage.py retention [--dry-run]: delete what was kept as long as settings say, as beat does every six hours."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from judging.people.person_data import retention_apply, retention_counts

WORDS = {
    "logs": "log files set aside, older than RETENTION_LOG_DAYS",
    "sessions": "log-ins not used for RETENTION_SESSION_DAYS",
    "invited": "e-mail addresses of people who did not come within RETENTION_INVITATION_DAYS",
    "left": "identities of people who left RETENTION_IDENTITY_MONTHS ago",
}


class Command(BaseCommand):
    help = "Delete what names people and was kept as long as settings say."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        counts = retention_counts(now=now) if options["dry_run"] else retention_apply(now=now)
        for name, words in WORDS.items():
            self.stdout.write(f"{counts[name]:6,} {words}")
        self.stdout.write("Nothing was deleted." if options["dry_run"] else "Deleted.")
