"""Reads of texts for their statistics."""

from collections.abc import Iterator

from django.db import connection
from django.db.models import Avg, Count, FilteredRelation, Max, Min, Q

from annotation.models import Candidate, Description, NamedQuerySet, Project, Query
from annotation.rules.text_figures import Row

RANKS = (1, 20, 40)  # the first candidate, the last of the first batch, the last of the second
SPLITS = [Query.Split.VAL, Query.Split.TEST, Query.Split.TRAIN]
CHUNK = 5000
ALL = "all"
FORM = 2  # of the figures: another form makes stored ones old
STATE = """
SELECT (SELECT concat(count(*), '.', sum(hashtext(concat_ws('|', c.id, c.text, c.similarity))))
        FROM annotation_description d LEFT JOIN annotation_caption c ON c.description_id = d.id
        WHERE d.corpus_id = %(corpus)s),
    (SELECT concat(count(*), '.', sum(hashtext(concat_ws('|', q.id, q.split, q.text, s.name))))
        FROM annotation_query q LEFT JOIN annotation_namedqueryset s ON s.id = q.query_set_id
        WHERE q.project_id = %(project)s),
    (SELECT concat(count(*), '.', sum(c.id)) FROM annotation_candidate c JOIN annotation_query q ON q.id = c.query_id
        WHERE q.project_id = %(project)s AND c.rank IN (1, 20, 40)),
    (SELECT sum(hashtext(concat_ws('|', m.*))) FROM annotation_castmember m WHERE m.corpus_id = %(corpus)s),
    (SELECT concat(count(m.id), '.',
            sum(hashtext(concat_ws('|', m.id, m.start_s, m.end_s, v.duration_s, v.source_split))))
        FROM annotation_moment m JOIN annotation_video v ON v.id = m.video_id WHERE v.corpus_id = %(corpus)s),
    (SELECT max(t.id) FROM annotation_trainset t WHERE t.project_id = %(project)s AND t.state = 'done')"""


def state_of_texts(project: Project) -> str:
    """A word that is another one as soon as something changed that the statistics count."""
    with connection.cursor() as cursor:
        cursor.execute(STATE, {"corpus": project.corpus_id, "project": project.pk})
        return f"{FORM} " + " ".join(str(part) for part in cursor.fetchone())


def texts_of(project: Project) -> Iterator[Row]:
    """Every description of the corpus with its caption, in the groups it belongs to: kind, split, query set.

    A query counts as it is asked, should its caption have been changed since.
    """
    sets = dict(project.query_sets.values_list("pk", "name"))
    asked = FilteredRelation("caption__queries", condition=Q(caption__queries__project=project.pk))
    rows = Description.objects.filter(corpus=project.corpus_id).annotate(asked=asked)
    fields = ("kind", "text", "caption__text", "caption__similarity", "moment__video__name")
    query = ("asked__split", "asked__query_set_id", "asked__text")
    for kind, text, caption, similarity, video, split, query_set, words in rows.values_list(*fields, *query).iterator(
        chunk_size=CHUNK
    ):
        groups = _groups(split, sets.get(query_set))
        if words is not None and words != caption:
            yield Row((ALL, f"kind {kind}"), text, caption, similarity, video)
            yield Row(groups, text, words, None, video)
        else:
            yield Row((ALL, f"kind {kind}", *groups), text, caption, similarity, video)


def _groups(split: str | None, query_set: str | None) -> tuple[str, ...]:
    if split is None:
        return ()
    return (f"split {split}",) if query_set in (None, split) else (f"split {split}", f"set {query_set}")


def group_order(project: Project) -> list[str]:
    """The names of the groups there can be, in the order to show them."""
    kinds = [f"kind {kind}" for kind in Description.Kind.values]
    splits = [f"split {split}" for split in SPLITS]
    sets = NamedQuerySet.objects.filter(project=project).order_by("name").values_list("name", flat=True)
    return [ALL, *kinds, *splits, *(f"set {name}" for name in sets)]


def candidates_by_rank(project: Project) -> list[dict[str, object]]:
    """How similar candidates are to their query at some ranks, by split."""
    rows = Candidate.objects.filter(query__project=project, rank__in=RANKS, similarity__isnull=False)
    figures = (Count("pk"), Avg("similarity"), Min("similarity"), Max("similarity"))
    found = rows.values_list("query__split", "rank").annotate(*figures).order_by()
    ordered = sorted(found, key=lambda row: (SPLITS.index(row[0]), row[1]))
    return [dict(zip(("split", "rank", "queries", "mean", "least", "most"), row, strict=True)) for row in ordered]
