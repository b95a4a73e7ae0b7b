"""manage.py features: make, check, add and list the features of a project, and say which model made a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from accounts.models import Project
from models_runner.features import services
from models_runner.features.making import feature_set_work
from models_runner.models import FeatureSet
from moment_retrieval.features import check

KINDS = FeatureSet.Kind.values
EXTRACTORS = [value for value in FeatureSet.Extractor.values if value != FeatureSet.Extractor.FILE]


class Command(MomentJudgeCommand):
    help = "Features of videos, subtitles and queries; the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        commands = parser.add_subparsers(dest="what", required=True, metavar="extract|check|add|model|list")
        extract = commands.add_parser("extract", help="make features; a set that was cut short goes on")
        extract.add_argument("kind", choices=KINDS)
        extract.add_argument("--extractor", choices=EXTRACTORS, help="default: the one that is built in")
        extract.add_argument(
            "--model", default="", help="of transformers: a hub name or a folder below MOMENTJUDGE_MODELS"
        )
        extract.add_argument("--name", default="", help="go on with the set of this name, or call the new one so")
        add = commands.add_parser("add", help="add an official file below FEATURES_ROOTS")
        add.add_argument("kind", choices=KINDS)
        add.add_argument("path")
        add.add_argument("--model", default="", help="text model that made the features of queries")
        add.add_argument("--name", default="")
        naming = commands.add_parser("model", help="say which text model made an official file of queries")
        naming.add_argument("set", help="its name")
        naming.add_argument(
            "text_model",
            help="of transformers: a hub name or a folder below MOMENTJUDGE_MODELS; empty where nobody knows",
        )
        checking = commands.add_parser("check", help="look through files, or sets by their names")
        for kind in KINDS:
            checking.add_argument(f"--{kind}", metavar="FILE|NAME", help="an HDF5 file, an LMDB folder, or a set")
        commands.add_parser("list", help="say what there is")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        getattr(self, f"_{options['what']}")(project, options)

    def _extract(self, project: Project, options: dict[str, Any]) -> None:
        feature_set = FeatureSet.objects.filter(project=project, name=options["name"] or None).first()
        if feature_set is None:
            builtin = "builtin-pixels" if options["kind"] == FeatureSet.Kind.VIDEO else "builtin-text"
            values = {name: options[name] for name in ("kind", "model", "name")}
            extractor = options["extractor"] or builtin
            feature_set = services.feature_set_start(
                project=project, extractor=extractor, actor=None, wake=False, **values
            )
        elif feature_set.may_go_on:
            feature_set = services.feature_set_resume(feature_set=feature_set, actor=None, wake=False)
        self._work(feature_set)

    def _add(self, project: Project, options: dict[str, Any]) -> None:
        values = {name: options[name] for name in ("kind", "path", "model", "name")}
        self._work(services.feature_set_register(project=project, actor=None, wake=False, **values))

    def _model(self, project: Project, options: dict[str, Any]) -> None:
        feature_set = FeatureSet.objects.filter(project=project, name=options["set"]).first()
        if feature_set is None:
            raise CommandError(f"There are no features named {options['set']!r}.")
        feature_set = services.feature_set_model(feature_set=feature_set, model=options["text_model"], actor=None)
        self.write_json(_summary(feature_set))

    def _work(self, feature_set: FeatureSet) -> None:
        feature_set_work(feature_set_id=feature_set.pk, on_progress=self.stderr.write)
        feature_set.refresh_from_db()
        if feature_set.state != FeatureSet.State.DONE:
            raise CommandError(
                feature_set.error or f"The features {feature_set.name} are {feature_set.get_state_display()}."
            )
        for name, reason in feature_set.reasons.items():
            self.stderr.write(f"{name}: {reason}")
        self._print(feature_set)
        self.write_json(_summary(feature_set))

    def _print(self, feature_set: FeatureSet) -> None:
        kind = feature_set.get_kind_display()
        about = f"{feature_set.name}: {feature_set.n_items} {kind}, {feature_set.width} numbers in a row"
        self.stdout.write(f"{about}, {feature_set.get_state_display()}\n  {feature_set.path}")
        for finding in feature_set.findings:
            self.stdout.write(f"  {finding['text']}")

    def _check(self, project: Project, options: dict[str, Any]) -> None:
        requested = {kind: options[kind] for kind in KINDS if options[kind]}
        if not requested:
            raise CommandError(f"Say what to check: {', '.join(f'--{kind}' for kind in KINDS)}.")
        sets = dict(FeatureSet.objects.filter(project=project).values_list("name", "path"))
        paths = {kind: Path(sets.get(name, name)) for kind, name in requested.items()}
        findings = check(paths, {kind: services.names_wanted(project, kind) for kind in paths})
        for finding in findings:
            self.stdout.write(str(finding))
        self.write_json([finding.as_dict() for finding in findings])
        if any(finding.is_fatal for finding in findings):
            raise CommandError("Training would fail on these features.")

    def _list(self, project: Project, options: dict[str, Any]) -> None:
        sets = list(FeatureSet.objects.filter(project=project))
        for feature_set in sets:
            self._print(feature_set)
        self.write_json([_summary(feature_set) for feature_set in sets])


def _summary(feature_set: FeatureSet) -> dict[str, Any]:
    names = ("name", "kind", "extractor", "model", "path", "state", "width", "n_items", "n_failed", "checksum")
    return {name: getattr(feature_set, name) for name in names} | {"findings": feature_set.findings}
