"""manage.py rewriting_prompt PROJECT: the chat model's prompt; prepare, try and publish its next version."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named, staff_named
from accounts.models import Project
from annotation.captions.selectors import prompt_in_force
from annotation.captions.services.prompts import (
    prompt_draft_discard,
    prompt_draft_save,
    prompt_publish,
    prompt_trial_run,
    prompt_trial_start,
    wording_of,
)
from annotation.models import PromptDraft

ACTIONS = ("show", "draft", "try", "publish", "discard")


class Command(MomentJudgeCommand):
    help = (
        "Print the prompt in force and the draft (show), save the draft of the next version (draft --text FILE), try it"
        " on ten descriptions beside the version in force (try), put it in force (publish), or delete it (discard)."
        " The output of all is JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        parser.add_argument("action", choices=ACTIONS, nargs="?", default="show")
        parser.add_argument("--as", dest="username", metavar="USERNAME", help="the lead or admin who decides")
        parser.add_argument("--text", type=Path, metavar="FILE", help="draft: the text of the prompt")
        parser.add_argument(
            "--examples", type=Path, metavar="FILE", help="draft: a JSON list of pairs of a description and its caption"
        )
        parser.add_argument("--seed", type=int, help="draft: for providers that know seeds")
        parser.add_argument("--other-descriptions", action="store_true", help="try: not those of the last trial")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        if options["action"] == "show":
            self.write_json(_prompts_of(project))
            return
        actor = staff_named(project, options["username"])
        if options["action"] == "draft":
            if not options["text"]:
                raise CommandError("Give the file with the text of the draft: --text FILE.")
            text, examples = options["text"].read_text(encoding="utf-8"), _examples(options["examples"])
            prompt_draft_save(project=project, actor=actor, text=text, examples=examples, seed=options["seed"])
            self.write_json(_prompts_of(project))
        elif options["action"] == "try":
            trial = prompt_trial_start(
                project=project, actor=actor, other_descriptions=options["other_descriptions"], wake=False
            )
            prompt_trial_run(trial_id=trial.pk)
            trial.refresh_from_db()
            if trial.error:
                raise CommandError(trial.error)
            self.write_json({"model": trial.model, "rows": trial.rows, "totals": trial.totals})
        elif options["action"] == "publish":
            self.write_json({"version": prompt_publish(project=project, actor=actor).version})
        else:
            self.write_json({"discarded": prompt_draft_discard(project=project)})


def _prompts_of(project: Project) -> dict[str, Any]:
    in_force = prompt_in_force(project.dataset.corpus_id)
    draft = PromptDraft.objects.filter(corpus=project.dataset.corpus_id).first()
    draft_only = {"draft": wording_of(draft)} if draft else {}
    return {"version": in_force.version, "in_force": wording_of(in_force), **draft_only}


def _examples(path: Path | None) -> list[tuple[str, str]]:
    if path is None:
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        pairs = [(description, caption) for description, caption in rows]
    except (ValueError, TypeError) as error:
        raise CommandError(f"{path} is no JSON list of pairs of a description and its caption: {error}") from error
    if not all(isinstance(side, str) for pair in pairs for side in pair):
        raise CommandError(f"{path} is no JSON list of pairs of a description and its caption.")
    return pairs
