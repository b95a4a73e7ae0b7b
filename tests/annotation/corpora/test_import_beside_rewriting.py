"""A file is checked while somebody asks for captions: nobody waits for the other's end."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connection

from accounts.models import Project
from annotation.captions.services.rewriting import rewriting_start
from annotation.corpora.importers.base import DescriptionRecord
from annotation.corpora.services.corpora import corpus_import
from annotation.models import Corpus, Rewriting
from core.exceptions import NotPossible
from tests.annotation.captions.test_rewriting import describe
from tests.factories import ProjectFactory


def while_checked(corpus: Corpus, act: Callable[[], object]) -> object:
    """Return what somebody else gets who acts while a file of the corpus is checked."""
    results: list[object] = []

    def records() -> Iterator[DescriptionRecord]:
        with ThreadPoolExecutor(1) as other:
            results.append(other.submit(acting, act).result())
        yield from ()

    corpus_import(corpus_name=corpus.name, source_split="", records=records(), dry_run=True)
    return results[0]


def acting(act: Callable[[], object]) -> object:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")  # a wait is a failure, not a hanging test
        return act()
    except NotPossible as error:
        return str(error)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_rewriting_is_refused_at_once_in_words_and_a_project_is_made() -> None:
    project = ProjectFactory()
    corpus = project.dataset.corpus
    describe(project, "Ross waves.")
    rewrite = partial(rewriting_start, corpus=corpus, provider="rules", actor=None, project=project)
    refusal = f"A file for {corpus.name!r} is being checked or imported. Try again when that is done."
    assert while_checked(corpus, rewrite) == refusal
    other = while_checked(corpus, partial(ProjectFactory, corpus=corpus))
    assert set(Project.objects.filter(dataset__corpus=corpus)) == {project, other}
    assert isinstance(rewrite(), Rewriting)
