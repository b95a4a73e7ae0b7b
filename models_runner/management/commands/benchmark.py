"""manage.py benchmark PROJECT: start a baseline, and wait for it with --wait."""

from pathlib import Path
from time import sleep
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from accounts.models import Project
from models_runner.experiments.forms import CHANGES, form_of
from models_runner.experiments.selectors import row_of
from models_runner.experiments.services import experiment_create
from models_runner.experiments.settings import PRESETS
from models_runner.features.selectors import KINDS, feature_choices
from models_runner.models import Experiment, Training
from moment_retrieval.settings import Boundaries, Encoder, Ranking, Streams

LOOK_S = 2.0
FORM_OPTIONS = ("top_n", "seeds", "release", "name", "preset", "labels", "candidates", *CHANGES)  # the form's own names
HELP = {
    **{"padding": "official or compact", "precision": "float32, bfloat16 or float16", "end_offset_s": "0 or 1.5"},
    **dict.fromkeys(("endpoints", "mask_positives", "sum_positives", "weigh_by_similarity"), "yes or no"),
    **dict.fromkeys(("same_split", "shuffle_links", "score_videos", "modular"), "yes or no"),
    **{"ranking": ", ".join(Ranking), "encoder": ", ".join(Encoder), "streams": ", ".join(Streams)},
    "boundaries": ", ".join(Boundaries),
}


class Command(MomentJudgeCommand):
    help = "Train a baseline on a release with one seed or several; the worker of the queue gpu does it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", nargs="?", help="name of the project (default: the only one)")
        parser.add_argument("--model", required=True, choices=Experiment.Baseline.values)
        parser.add_argument("--top-n", type=int, default=40, choices=Experiment.TOP_N, metavar="N", help="1 to 40")
        parser.add_argument("--seeds", type=int, default=1, help="how many (default: 1)")
        parser.add_argument("--first-seed", type=int, default=1)
        parser.add_argument("--release", type=int, help="its version (default: the newest that is ready)")
        parser.add_argument("--name", default="", help="on the leaderboard (default: baseline and N)")
        parser.add_argument("--preset", choices=list(PRESETS), default="released")
        for kind, label in KINDS.items():
            parser.add_argument(f"--{kind}", metavar="FILE", help=f"features: {label}; path, or name")
        parser.add_argument("--candidates", metavar="UUID", help="a finished seed of XML or ReLoCLNet, for conquer")
        parser.add_argument("--labels", choices=Experiment.Labels.values, default="judged", help="of val and test")
        for name in CHANGES:
            prefix = f"{HELP[name]}; " if name in HELP else ""
            parser.add_argument(f"--{name.replace('_', '-')}", help=f"{prefix}default: as the preset")
        parser.add_argument("--wait", action="store_true", help="until all seeds have ended; shows how far they are")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        form_data = {name: options[name] for name in FORM_OPTIONS if options[name] is not None}
        features, files = self._features(project, options)
        form = form_of(project, {**form_data, "baseline": options["model"], **features}, files)
        if not form.is_valid():
            raise CommandError(form.refusal)
        experiment = experiment_create(actor=None, first_seed=options["first_seed"], **form.values())
        self.stdout.write(f"{experiment.name}: {options['seeds']} to train, {experiment.uuid}")
        names = [f"{kind} {experiment.features.get(kind, {}).get('name', 'none')}" for kind in KINDS]
        self.stdout.write(f"Features: {', '.join(names)}.")
        if options["wait"]:
            self._wait(experiment)

    def _features(self, project: Project, options: dict[str, Any]) -> tuple[dict[str, str], dict[str, Path]]:
        """Return what to choose of each kind: by path, by name, or the only ones of the project; and the paths."""
        features: dict[str, str] = {}
        files: dict[str, Path] = {}
        for kind in KINDS:
            choices, option = feature_choices(project, kind), options[kind]
            matches = [key for key, facts in choices.items() if option is None or option in (key, facts["name"])]
            if option is not None and not matches:
                files[kind] = Path(option).resolve()
                features[kind] = str(files[kind])
            elif len(matches) == 1 and (option is not None or kind != "subtitle"):
                features[kind] = matches[0]
            elif matches and kind != "subtitle":
                raise CommandError(f"Choose with --{kind}: {', '.join(choices[key]['name'] for key in matches)}.")
        return features, files

    def _wait(self, experiment: Experiment) -> None:
        """Say what changes; the last line of output is JSON."""
        lines: dict[int, str] = {}
        while True:
            trainings = list(experiment.trainings.order_by("seed"))
            for training in trainings:
                line = _line(training)
                if lines.get(training.seed) != line:
                    lines[training.seed] = line
                    self.stdout.write(line)
            if not any(training.is_awaited for training in trainings):
                break
            sleep(LOOK_S)
        row = row_of(Experiment.objects.get(pk=experiment.pk))
        summary = {
            "uuid": str(experiment.uuid),
            "state": row.state,
            "done": row.done,
            "best": row.best,
            "sd": row.spread,
        }
        self.write_json(summary)
        if row.done < row.seeds:
            failed = [f"seed {each.seed}: {each.error or each.state}" for each in trainings if each.state != "done"]
            raise CommandError("\n".join(failed))


def _line(training: Training) -> str:
    best = f", best {training.best:.4f}" if training.best is not None else ""
    return f"seed {training.seed}: {training.state}, step {training.step:,} of {training.steps:,}{best}"
