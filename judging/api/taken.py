"""What endpoints take."""

from typing import Any

from rest_framework import serializers

from annotation.models import NamedQuerySet
from judging.api.fields import ChoiceOfField, CountField, GradeField, KeyField, WordsField, YesNoField
from judging.models import BatchReview, Flag
from judging.services.judgments import WORDS

LONGEST_REASON = 1000
PRIORITIES = {priority.name.lower(): priority.value for priority in NamedQuerySet.Priority}


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


class Withdrawal(serializers.Serializer[Any]):
    reason = WordsField(max_length=LONGEST_REASON, help_text="Kept with the pair.")


class Restoration(serializers.Serializer[Any]):
    reason = WordsField(max_length=LONGEST_REASON, required=False, allow_blank=True)


class Review(serializers.Serializer[Any]):
    decision = ChoiceOfField(choices=BatchReview.Decision.choices)
    reason = WordsField(max_length=LONGEST_REASON, required=False, allow_blank=True)


class QuerySetChange(serializers.Serializer[Any]):
    """What is left out stays."""

    priority = ChoiceOfField(choices=list(PRIORITIES), required=False)
    paused = YesNoField(required=False)
    pilot = YesNoField(required=False, help_text="A try-out: neither released nor paid unless chosen.")
