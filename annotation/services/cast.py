"""The cast list of a corpus."""

from collections.abc import Sequence

from django.db import transaction

from annotation.models import CastMember, Corpus, User
from annotation.rewriting.lexicon import Member
from annotation.services.audit import audit_record


def members_of(corpus_id: int) -> tuple[Member, ...]:
    rows = CastMember.objects.filter(corpus=corpus_id).order_by("pk")
    return tuple(Member(row.name, row.gender, row.kind, row.noun, row.videos) for row in rows)


@transaction.atomic
def cast_import(*, corpus: Corpus, members: Sequence[Member], actor: User | None) -> int:
    """Add members to the corpus; a name it holds already is replaced. Captions made before stay as they are.

    Returns:
        How many names were given.
    """
    last = {(member.name, member.videos): member for member in members}
    rows = [
        CastMember(corpus=corpus, name=m.name, gender=m.gender, kind=m.kind, noun=m.noun, videos=m.videos)
        for m in last.values()
    ]
    CastMember.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["corpus", "name", "videos"],
        update_fields=["gender", "kind", "noun"],
        batch_size=1000,
    )
    audit_record(project=None, actor=actor, action="cast.import", subject=corpus.uuid, names=len(rows))
    return len(rows)
