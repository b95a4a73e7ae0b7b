"""manage.py export_release DIR: the judged data of a project in the published file forms."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from judging.releases.services import release_build, release_create


class Command(MomentJudgeCommand):
    help = "Write a release into a folder; the last line of output is JSON with its counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--project", help="name of the project; needed when there are several")
        parser.add_argument("--anonymise", action="store_true", help="annotators under numbers drawn for this release")
        parser.add_argument("--include-pilot", action="store_true", help="queries of pilot sets, too")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} exists and is not an empty folder.")
        project = project_named(options["project"])
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".writable").touch()
            (folder / ".writable").unlink()
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
        release_options = {"includes_pilot": options["include_pilot"], "is_anonymised": options["anonymise"]}
        release = release_create(project=project, actor=None, wake=False, **release_options)
        self.stdout.write(f"Writing release {release.version} of {project} into {folder} ...")
        try:
            release = release_build(release_id=release.pk, folder=folder) or release
        except OSError as error:
            raise CommandError(f"The release could not be written: {error}.") from error
        if not release.manifest["counts"]["queries"]:
            self.stderr.write("No query is finished yet: this release holds no judged pair.")
        self.write_json(release.manifest["counts"])
