"""Label Studio exports: read and checked, stored as historic judgments; by a command, or through the web step by step.

People become numbers here: an e-mail address that names an annotator in the export is stored nowhere. Through the web
a file is imported in one transaction that also marks it done, as corpora are (annotation.corpora.services.imports).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile

from accounts.models import Project, User
from annotation.corpora.importers.files import Budget, pieces_of
from annotation.corpora.services.imports import upload_limits
from core.exceptions import NotPossible
from core.jobs import durable
from core.texts import checked_name
from core.uploads import BytesProgress, LineWarning, OnWarning, UploadKind, upload_finish, warnings_writer
from judging.imports.historic import HistoricPair, judgments_store, project_holding, summary
from judging.imports.label_studio import Mapped, Ungraded, read_export
from judging.models import JudgmentImport
from judging.work.rules import TVR_RANKING, Rules

State = JudgmentImport.State
IMPORTS = UploadKind(
    JudgmentImport,
    "judging.tasks.judgment_import_work",
    lock="judgment-import",
    actions=("judgments.upload", "judgments.confirm", "judgments.discard"),
    bad="refused",
    bad_error="Some annotations are refused. Repair the export, or say that they are left out.",
)


@dataclass(frozen=True)
class Checked:
    """Content of an export, as it would be stored."""

    pairs: list[HistoricPair]
    texts: dict[int, str]
    rules: Rules
    digest: str
    counts: dict[str, Any]


def export_read(
    *,
    source: IO[bytes],
    mapped: Mapped,
    budget: Budget | None = None,
    on_warning: OnWarning | None = None,
) -> Checked:
    """Read an export and say what the rule makes of it; nothing is stored. Raises ImportFileError where it is no
    export, or the control that holds the grade is ambiguous."""
    digest = _digest(source, mapped)

    def report(item: Ungraded) -> None:
        if on_warning:
            on_warning(LineWarning("", item.line, item.item, item.outcome, item.reason))

    export = read_export(pieces_of(source, budget=budget), mapped, report)
    pairs = [HistoricPair(*pair) for pair in export.pairs]
    people = {worker for pair in pairs for worker in pair.workers}
    counts = {**export.counts, "control": export.control, "people": len(people), **summary(pairs, mapped.rules)}
    return Checked(pairs, export.texts, mapped.rules, digest, counts)


def _digest(source: IO[bytes], mapped: Mapped) -> str:
    """Of the file and of what its fields mean: the same file means other judgments under another mapping. The
    rules are columns of the project."""
    fields = {name: value for name, value in asdict(mapped).items() if name != "rules"}
    digest = file_digest(source, lambda: sha256(json.dumps(fields, sort_keys=True).encode()))  # type: ignore[arg-type]
    source.seek(0)
    return digest.hexdigest()


def export_store(*, checked: Checked, project_name: str, leads: Sequence[User], actor: User | None) -> Project:
    """Store what was read in a project of its own. Raises NotPossible where there is no judgment in it, or the name is
    taken by something else."""
    if not checked.pairs:
        raise NotPossible("There is no judgment in this file that could be imported.")
    return judgments_store(
        pairs=checked.pairs,
        digest=checked.digest,
        project_name=checked_name(project_name),
        rules=checked.rules,
        leads=leads,
        actor=actor,
        texts=checked.texts,
    )


def judgment_import_create(
    *, actor: User, project_name: str, mapped: Mapped, file: "UploadedFile[Any]"
) -> JudgmentImport:
    """Store a file and wake the task that checks it. Raises NotPossible where the name of the project is taken, or
    another file of theirs is still at work."""
    if Project.objects.filter(name=project_name).exists():
        raise NotPossible(f"There is a project named {project_name!r} already. Judgments get a project of their own.")
    row = JudgmentImport(owner=actor, project_name=project_name, mapping=asdict(mapped))
    return IMPORTS.create(row, file, name=project_name)


@durable(IMPORTS.task)
def judgment_import_work(*, import_id: int) -> None:
    """Take the next step of a file that is checked or imported; a repeat finds it done."""
    IMPORTS.step(import_id, check=_check, store=_import)


def _check(row: JudgmentImport, warnings: IO[str]) -> None:
    checked = _read(row, warnings)
    project_holding(
        name=row.project_name, digest=checked.digest, rules=checked.rules
    )  # says so now where the name is taken
    upload_finish(row, warnings, state=State.CHECKED, counts=checked.counts)


def _import(row: JudgmentImport, warnings: IO[str]) -> None:
    checked = _read(row, warnings)
    project = export_store(checked=checked, project_name=row.project_name, leads=[row.owner], actor=row.owner)
    upload_finish(row, warnings, state=State.DONE, counts=checked.counts, project=project)


def mapped_of(row: JudgmentImport) -> Mapped:
    """Return what the fields of the file mean."""
    rules = Rules(*row.mapping.get("rules", TVR_RANKING))  # files uploaded by an older version have none
    return Mapped(**{**row.mapping, "rules": rules})


def _read(row: JudgmentImport, warnings: IO[str]) -> Checked:
    with row.file.open("rb") as source, BytesProgress(row) as progress:
        return export_read(
            source=source,
            mapped=mapped_of(row),
            budget=Budget(upload_limits(), on_bytes=progress.add),
            on_warning=warnings_writer(warnings),
        )
