"""What a corpus needs next on its way to candidates."""

from typing import NamedTuple

from annotation.models import Caption, Description, Project
from annotation.selectors import queries_to_judge


class Step(NamedTuple):
    words: str
    does: str
    page: str  # name of the route of a project's page


def next_step(project: Project) -> Step | None:
    """The next thing to do; None where all is done, or there is nothing to do it with."""
    if project.corpus.is_placeholder or not project.corpus.descriptions.exists():
        return None
    if project.queries.exists():
        return None if _is_ranked(project) else RANK
    unwritten = Description.objects.filter(corpus=project.corpus_id).exclude(
        caption__in=Caption.objects.exclude(provider=Caption.Provider.AS_DESCRIBED)
    )
    if n := unwritten.count():
        return Step(f"{_count(n, 'description is', 'descriptions are')} not rewritten yet.", "Rewrite", CAPTIONS)
    waiting = Caption.objects.filter(description__corpus=project.corpus_id, state=Caption.State.IN_REVIEW)
    if n := waiting.count():
        said = f"No queries are drawn yet, and {_count(n, 'caption waits', 'captions wait')} for a person."
        return Step(said, "Decide about captions", CAPTIONS)
    return DRAW


CAPTIONS = "annotation:captions"
DRAW = Step("No queries are drawn yet.", "Draw queries", "annotation:splits")
RANK = Step("The queries have no candidates yet.", "Rank candidates and open batches", "judging:queries")


def _is_ranked(project: Project) -> bool:
    to_judge = queries_to_judge(project.pk)
    return not to_judge.exists() or to_judge.filter(candidates__isnull=False).exists()


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
