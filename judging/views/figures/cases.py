"""Case studies: single queries with the relevance of their candidates and the line of similarity."""

from judging.plots import Ranked, ranked_chart
from judging.selectors.figures import cases
from judging.views.figures.asked import Asked
from judging.views.figures.sheet import PLAIN, Chart, Column, Sheet

COLUMNS = [
    Column("query", "Query", PLAIN),
    Column("text", "Text"),
    Column("rank", "Rank", PLAIN),
    Column("similarity", "Similarity", ".6f"),
    Column("relevance", "Relevance", PLAIN),
    Column("state", "State"),
]


def case_studies(asked: Asked) -> Sheet:
    page, found = cases(asked.scope, words=asked.words, page=asked.given.get("page"))
    charts, rows = [], []
    for case in found:
        query = case.query
        candidates = [Ranked(rank, level, state, near) for rank, level, state, near in case.candidates]
        canvas = ranked_chart(f"Relevance by rank of the candidates of: {query.text}", candidates)
        charts.append(Chart(query.text, canvas, note=f"Query {query.number}, split {query.split}"))
        rows += [[query.number, query.text, one.rank, one.similarity, one.relevance, one.state] for one in candidates]
    n = page.paginator.count
    facts = f"{n:,} quer{'y' if n == 1 else 'ies'} with a settled pair." if charts else ""
    return Sheet(charts, COLUMNS, rows, facts=facts, more={"page": page})
