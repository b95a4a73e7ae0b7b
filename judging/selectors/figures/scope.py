"""Which pairs a figure is over."""

from dataclasses import dataclass
from typing import Any

from django.db import connection

PAIRS = """
SELECT pair.id, pair.state, pair.relevance, pair.candidate_id
FROM judging_pair pair
JOIN judging_batch batch ON batch.id = pair.batch_id AND batch.project_id = %(project)s
    AND (%(pilot)s OR NOT batch.is_pilot) AND (%(pooled)s OR batch.pooling_id IS NULL)
JOIN annotation_query query ON query.id = batch.query_id
    AND (%(split)s = '' OR query.split = %(split)s)
    AND (%(query_set)s::bigint IS NULL OR query.query_set_id = %(query_set)s::bigint)
WHERE (%(simulated)s OR NOT EXISTS (
    SELECT 1 FROM judging_judgment program
    WHERE program.pair_id = pair.id AND 'simulated' IN (program.source, program.origin)))"""

# materialized, so that a small project beside a large one is not planned as if it were large
CHOSEN = "WITH chosen AS MATERIALIZED (" + PAIRS + ")"


@dataclass(frozen=True)
class Scope:
    """Pairs of a project: of one split and one query set or of all.

    Those of pilots, of programs, and of batches that came behind the candidates by similarity are with them or not.
    """

    project_id: int
    split: str = ""
    query_set_id: int | None = None
    simulated: bool = True
    pilot: bool = False
    pooled: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "project": self.project_id,
            "split": self.split,
            "query_set": self.query_set_id,
            "simulated": self.simulated,
            "pilot": self.pilot,
            "pooled": self.pooled,
        }

    def rows(self, statement: str, **more: Any) -> list[Any]:
        """What a statement over ``chosen`` finds."""
        return self.found(CHOSEN + statement, **more)

    def found(self, statement: str, **more: Any) -> list[Any]:
        """What a statement finds that makes something else of ``PAIRS``."""
        with connection.cursor() as cursor:
            cursor.execute(statement, self.parameters | more)
            return list(cursor.fetchall())
