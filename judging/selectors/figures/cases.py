"""Single queries: their candidates by rank."""

from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from annotation.models import Query
from judging.selectors.figures.scope import Scope

PER_PAGE = 6

MATCHING = """
SELECT query.id FROM annotation_query query WHERE query.id IN (
    SELECT candidate.query_id FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
    WHERE chosen.state = 'settled')
AND (%(words)s = '' OR strpos(lower(query.text), lower(%(words)s)) > 0 OR query.number::text = %(words)s)
ORDER BY query.number"""

CASES = """
SELECT candidate.query_id, candidate.rank, chosen.relevance, chosen.state, candidate.similarity
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE candidate.query_id = ANY(%(queries)s) ORDER BY candidate.rank"""


@dataclass(frozen=True)
class Case:
    """A query and its judged candidates by rank: rank, relevance, state, similarity."""

    query: Query
    candidates: list[tuple[int, int | None, str, float | None]]


def cases_matching(scope: Scope, words: str) -> list[int]:
    """Queries with a settled pair whose text holds the words, or whose number they are; by number."""
    return [query_id for (query_id,) in scope.rows(MATCHING, words=words)]


def cases(scope: Scope, *, words: str, page: str | None) -> tuple[Page[int], list[Case]]:
    """One page of the queries that match."""
    shown: Page[int] = Paginator(cases_matching(scope, words), PER_PAGE).get_page(page)
    ids = list(shown)
    candidates: dict[int, list[tuple[int, int | None, str, float | None]]] = {query_id: [] for query_id in ids}
    for query_id, *candidate in scope.rows(CASES, queries=ids):
        candidates[query_id].append(tuple(candidate))
    queries = Query.objects.in_bulk(ids)
    return shown, [Case(queries[query_id], candidates[query_id]) for query_id in ids]
