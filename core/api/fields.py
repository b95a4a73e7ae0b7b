"""Fields that take what JSON says and nothing that could be turned into it: no "3", no 3.0, no true for a number."""

from typing import Any
from uuid import UUID

from rest_framework import serializers


class GradeField(serializers.IntegerField):
    """A JSON integer from 0 to 4."""

    default_error_messages = {
        "invalid": "A grade is a whole number from 0 to 4.",
        "min_value": "A grade is a whole number from 0 to 4.",
        "max_value": "A grade is a whole number from 0 to 4.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=4, **options)

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return int(data)


class CountField(serializers.IntegerField):
    """A JSON integer from 0."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, **options)

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return int(data)


class KeyField(serializers.UUIDField):
    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class WordsField(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class YesNoField(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class ChoiceOfField(serializers.ChoiceField):
    """One of a few words; refusing another, it names them."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(f"Choose one of {', '.join(self.choices)}.")
        return data
