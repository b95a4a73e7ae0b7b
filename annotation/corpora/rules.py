"""What a corpus needs next on its way: import, rewriting, review, splits, candidates, training sets."""

from typing import NamedTuple

from accounts.models import Project
from annotation.models import Caption, Description
from annotation.queries.selectors import queries_to_judge, queries_to_train_on


class Step(NamedTuple):
    words: str
    does: str
    page: str  # name of the route of a project's page


def next_step(project: Project) -> Step | None:
    """The next thing to do; None where all is done, or there is nothing to do it with."""
    if project.dataset.corpus.is_placeholder or not project.dataset.corpus.descriptions.exists():
        return None
    if project.queries.exists():
        return _after_the_draw(project)
    unwritten = Description.objects.filter(corpus=project.dataset.corpus_id).exclude(
        caption__in=Caption.objects.exclude(provider=Caption.Provider.AS_DESCRIBED)
    )
    if n := unwritten.count():
        return Step(f"{_count(n, 'description is', 'descriptions are')} not rewritten yet.", "Rewrite", CAPTIONS)
    waiting = Caption.objects.filter(description__corpus=project.dataset.corpus_id, state=Caption.State.IN_REVIEW)
    if n := waiting.count():
        said = f"No queries are drawn yet, and {_count(n, 'caption waits', 'captions wait')} for a person."
        return Step(said, "Decide about captions", CAPTIONS)
    return DRAW


def _after_the_draw(project: Project) -> Step | None:
    if not _is_ranked(project):
        return RANK
    is_written = project.train_sets.exists() or not queries_to_train_on(project.pk).exists()
    return None if is_written else WRITE


CAPTIONS = "annotation:captions"
DRAW = Step("No queries are drawn yet.", "Draw queries", "annotation:splits")
RANK = Step("The queries have no candidates yet.", "Rank candidates and open batches", "judging:queries")
WRITE = Step("No training set is written yet.", "Write one", "annotation:train-sets")


def _is_ranked(project: Project) -> bool:
    to_judge = queries_to_judge(project.pk)
    return not to_judge.exists() or to_judge.filter(candidates__isnull=False).exists()


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
