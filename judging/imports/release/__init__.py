"""A release read back into a project of its own: everything its files hold, in one transaction."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction

from accounts.models import Membership, Project, User
from accounts.services.members import member_add
from annotation.corpora.services.corpora import project_over
from annotation.models import Corpus
from core.audit import audit_record
from core.exceptions import ImportRefused, NotPossible
from judging.imports.release.pairs import grades_store, pairs_store
from judging.imports.release.project import corpus_store, name_told, rules_store
from judging.models import Batch, Judgment, Pair
from judging.releases import layout, reading
from judging.releases.metadata import IMPORT
from judging.releases.reading import BadLines, document

logger = logging.getLogger(__name__)


def release_import(
    *,
    path: Path,
    project_name: str | None = None,
    corpus_name: str | None = None,
    leads: Sequence[User] = (),
) -> tuple[Project, dict[str, int]]:
    """Make a project, with its corpus, of a release's archive or folder; nothing is kept unless all of it is.

    People are placeholders by their number, whom nobody can log in as. Names are those of the release unless others
    are given.

    Returns:
        The project, and counts from the rows in the database.

    Raises:
        ImportRefused: it is no release, a checksum fails, or lines of it cannot be.
        NotPossible: a project or a corpus of the name exists.
    """
    with reading.opened(path) as (folder, manifest):
        settings = document(folder, layout.SETTINGS)
        try:
            with transaction.atomic():
                project = _project_create(settings, project_name, corpus_name)
                _store(project, folder, settings)
                for lead in leads:
                    member_add(project=project, user=lead, role=Membership.Role.LEAD, actor=None)
                said = {"content_sha256": manifest.get("content_sha256")}
                audit_record(
                    project=project, actor=None, action=IMPORT, subject=project.uuid, draw=settings.get("draw"), **said
                )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ImportRefused(f"{layout.SETTINGS} does not have the form of such a file: {error!r}.") from error
        except ValidationError as error:
            raise ImportRefused(f"{layout.SETTINGS} cannot be: {'; '.join(error.messages)}") from error
        except (IntegrityError, DataError) as error:
            raise ImportRefused(f"The files do not fit together: {str(error).splitlines()[0]}") from error
    logger.info("release %s imported as %s", manifest.get("content_sha256"), project)
    return project, counts_of(project)


def counts_of(project: Project) -> dict[str, int]:
    batches = Batch.objects.filter(project=project)
    return {
        "videos": project.dataset.corpus.videos.count(),
        "queries": project.queries.count(),
        "batches": batches.count(),
        "pairs": Pair.objects.filter(batch__in=batches.values("pk")).count(),
        "judgments": Judgment.objects.filter(pair__batch__project=project).count(),
        "annotators": project.memberships.filter(number__isnull=False).count(),
    }


def _project_create(settings: dict[str, Any], project_name: str | None, corpus_name: str | None) -> Project:
    name = project_name or name_told("project", settings["project"])
    corpus = corpus_name or name_told("corpus", settings["corpus"]["name"])
    if Project.objects.filter(name=name).exists():
        raise NotPossible(f"There is a project named {name!r} already; name this one otherwise.")
    if Corpus.objects.filter(name=corpus).exists():
        raise NotPossible(f"There is a corpus named {corpus!r} already; name this one otherwise.")
    made = Corpus.objects.create(name=corpus, is_placeholder=settings["corpus"]["placeholder"])
    return project_over(corpus=made, name=name, similarity=settings["similarity"])


def _store(project: Project, folder: Path, settings: dict[str, Any]) -> None:
    bad = BadLines()
    held = corpus_store(project.dataset.corpus, folder, bad)
    bad.refuse()
    ruled = rules_store(project, folder, settings, held)
    judged = pairs_store(project, folder, held, ruled, bad)
    grades_store(project, folder, judged, ruled, bad)
    bad.refuse()
