"""A file is checked while somebody asks for captions: nobody waits for the other's end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.models import Project
from annotation.captions.services.rewriting import rewriting_start
from annotation.corpora.importers.base import DescriptionRecord
from annotation.corpora.services.corpora import corpus_import
from core.exceptions import NotPossible
from tests.annotation.captions.test_rewriting import describe
from tests.factories import ProjectFactory


@pytest.mark.django_db(transaction=True)
def test_rewriting_requested_during_a_check_is_refused_at_once_in_words() -> None:
    project, results = ProjectFactory(), []
    describe(project, "Ross waves.")

    def try_rewriting() -> str:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '5s'")  # a wait is a failure, not a hanging test
            rewriting_start(corpus=project.dataset.corpus, provider="rules", actor=None, project=project)
        except NotPossible as error:
            return str(error)
        else:
            return "started"
        finally:
            connection.close()

    def records() -> Iterator[DescriptionRecord]:
        with ThreadPoolExecutor(1) as other:
            results.append(other.submit(try_rewriting).result())
        yield from ()

    corpus_import(corpus_name=project.dataset.corpus.name, source_split="", records=records(), dry_run=True)
    assert results == [
        f"A file for {project.dataset.corpus.name!r} is being checked or imported. Try again when that is done."
    ]
    assert try_rewriting() == "started"


@pytest.mark.django_db(transaction=True)
def test_project_over_a_corpus_is_made_during_a_check() -> None:
    corpus, projects = ProjectFactory().dataset.corpus, []

    def make() -> Project:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '5s'")
            return ProjectFactory(corpus=corpus)  # type: ignore[no-any-return]
        finally:
            connection.close()

    def records() -> Iterator[DescriptionRecord]:
        with ThreadPoolExecutor(1) as other:
            projects.append(other.submit(make).result())
        yield from ()

    corpus_import(corpus_name=corpus.name, source_split="", records=records(), dry_run=True)
    assert Project.objects.filter(pk=projects[0].pk, dataset__corpus=corpus).exists()
