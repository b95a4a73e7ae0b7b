"""What the endpoints of annotators take and answer: nothing that the judging page does not show them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.reverse import reverse

from accounts.models import Membership
from core.api import ChoiceOfField, CountField, GradeField, KeyField, WordsField
from judging.models import Flag, OwnGrade
from judging.work.selectors.held import Held
from judging.work.services.judgments import WORDS, Answer


class ProjectGiven(serializers.ModelSerializer[Membership]):
    uuid = serializers.UUIDField(source="project.uuid")
    name = serializers.CharField(source="project.name")

    class Meta:
        model = Membership
        fields = ["uuid", "name", "role", "number"]


class PreviewsGiven(serializers.Serializer[Any]):
    """Addresses that open with the same token."""

    gif = serializers.URLField()
    mp4 = serializers.URLField(allow_null=True)


def previews(request: Any, preview: UUID, *, has_clip: bool) -> dict[str, str | None]:
    return {
        "gif": reverse("api:preview-gif", [preview], request=request),
        "mp4": reverse("api:preview-mp4", [preview], request=request) if has_clip else None,
    }


class PairGiven(serializers.Serializer[Any]):
    """A pair as its judge sees it; grade, comment and flag are their own."""

    uuid = serializers.UUIDField(source="card.uuid")
    position = serializers.IntegerField(help_text="Place in the order shown, from 1.")
    key = serializers.UUIDField(help_text="Goes with the next grade for this pair.")
    previews = serializers.SerializerMethodField()
    grade = serializers.IntegerField(source="card.grade", allow_null=True)
    comment = serializers.CharField(source="card.comment", allow_null=True)
    flag = serializers.ChoiceField(source="card.flag", choices=Flag.Reason.choices, allow_null=True)
    flag_comment = serializers.CharField(source="card.flag_comment", allow_null=True)
    withdrawn = serializers.BooleanField(source="card.withdrawn", help_text="Needs no grade any more.")

    @extend_schema_field(PreviewsGiven)
    def get_previews(self, pair: dict[str, Any]) -> dict[str, str | None]:
        return previews(self.context["request"], pair["card"].preview, has_clip=pair["card"].has_clip)


class LevelGiven(serializers.Serializer[Any]):
    grade = serializers.IntegerField()
    meaning = serializers.CharField()


class AssignmentGiven(serializers.Serializer[Any]):
    query = serializers.CharField()
    levels = LevelGiven(many=True)
    lease_ends_at = serializers.DateTimeField()
    pairs = PairGiven(many=True)
    left = serializers.IntegerField(help_text="Pairs that still need a grade or a flag.")
    next = serializers.UUIDField(allow_null=True, help_text="The first of them.")


def pair_shown(held: Held, index: int) -> dict[str, Any]:
    card = held.cards[index]
    return {"card": card, "position": index + 1, "key": held.key_of(card)}


def assignment(held: Held) -> dict[str, Any]:
    index = held.next_index()
    return {
        "query": held.query,
        "levels": [{"grade": grade, "meaning": meaning} for grade, meaning in enumerate(held.levels)],
        "lease_ends_at": held.expires_at,
        "pairs": [pair_shown(held, index) for index in range(len(held.cards))],
        "left": len(held.cards) - held.answered,
        "next": None if index is None else held.cards[index].uuid,
    }


class AnswerGiven(serializers.Serializer[Any]):
    """The pair as it is stored now, and the one to show next: null when all are answered."""

    pair = PairGiven()
    next = PairGiven(allow_null=True)
    left = serializers.IntegerField(help_text="Pairs that still need a grade or a flag.")


def answer(given: Answer, pair: UUID) -> dict[str, Any]:
    held = given.held
    return {
        "pair": pair_shown(held, held.index_of(pair)),
        "next": None if given.index is None else pair_shown(held, given.index),
        "left": len(held.cards) - held.answered,
    }


class LeaseGiven(serializers.Serializer[Any]):
    lease_ends_at = serializers.DateTimeField()


class FinishedGiven(serializers.Serializer[Any]):
    finished = serializers.BooleanField(help_text="False: nothing was held, as after an earlier request.")


class ReturnedGiven(serializers.Serializer[Any]):
    returned = serializers.BooleanField(help_text="False: nothing was held, as after an earlier request.")


class OwnJudgmentGiven(serializers.ModelSerializer[OwnGrade]):
    """A final grade of one's own; never how the pair was settled."""

    pair = serializers.UUIDField(source="pair.uuid")
    query = serializers.CharField(source="pair.batch.query.text")
    given_at = serializers.DateTimeField(source="created_at")
    previews = serializers.SerializerMethodField()

    class Meta:
        model = OwnGrade
        fields = ["pair", "query", "grade", "comment", "given_at", "previews"]

    @extend_schema_field(PreviewsGiven)
    def get_previews(self, judgment: OwnGrade) -> dict[str, str | None]:
        moment = judgment.pair.candidate.moment
        return previews(self.context["request"], moment.preview_uuid, has_clip=bool(moment.preview_clip))


class Nothing(serializers.Serializer[Any]):
    """No field at all."""


class Grade(serializers.Serializer[Any]):
    grade = GradeField()
    key = KeyField(help_text="The key of the pair as it was read; a request may be sent again with the same key.")
    comment = WordsField(
        max_length=WORDS,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="Replaces the comment there is; left out or null leaves it.",
    )
    active_ms = CountField(
        required=False,
        allow_null=True,
        help_text="Milliseconds that the pair was before the annotator; left out, the time since the last answer.",
    )


class FlagRaised(serializers.Serializer[Any]):
    reason = ChoiceOfField(choices=Flag.Reason.choices)
    comment = WordsField(max_length=WORDS, required=False, allow_blank=True)
    key = KeyField(required=False, help_text="The key of the pair as it was read, so that a repeat is known as one.")
