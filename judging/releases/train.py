"""The pseudo training sets of a release: each training query's top moments, ranked once for all of the files."""

from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.db.models import F, Q

from accounts.models import Project
from annotation.captions.selectors import captions_to_train_on
from annotation.models import Caption
from annotation.pools.services.candidates import measure_of
from annotation.queries.selectors import queries_to_train_on
from annotation.similarity import registry
from annotation.train_sets.files import JsonTrainFile
from annotation.train_sets.services import train_pool_of
from judging.releases.judged import OnProgress
from judging.releases.layout import TRAIN_DEPTHS, TRAIN_FILES, write_json


def write_train(project: Project, folder: Path, *, first: int, on_progress: OnProgress) -> None:
    """``first`` is the number of the first row; nobody judges these, so they are numbered behind the judged."""
    total = queries_to_train_on(project.pk).count()
    if not total:
        for name in TRAIN_FILES.values():
            write_json(folder / name, [])
        return
    pool = train_pool_of(project=project, measure=measure_of(registry.sentence_model(settings.SENTENCE_MODEL)))
    done = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(JsonTrainFile(folder / name, pool.moments, depth=depth, first=first))
            for depth, name in TRAIN_FILES.items()
        ]
        for block in pool.ranked(project, depth=max(TRAIN_DEPTHS)):
            for file in files:
                file.add(block)
            done += len(block.numbers)
            on_progress(done, max(done, total))


def described_in_train(project: Project) -> dict[str, int]:
    """Texts of the training sets that are descriptions as they were brought, never rewritten, names and all.

    A query keeps the text that it was drawn with when its caption is rewritten.
    """
    unwritten = Caption.Provider.AS_DESCRIBED
    drawn_before = Q(text=F("caption__description__text")) & ~Q(text=F("caption__text"))
    queries = queries_to_train_on(project.pk).filter(drawn_before | Q(caption__provider=unwritten))
    return {
        "captions_as_described": captions_to_train_on(project.dataset.corpus_id).filter(provider=unwritten).count(),
        "train_queries_as_described": queries.count(),
    }
