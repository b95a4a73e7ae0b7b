"""Shared parts of all endpoints: bodies that are read strictly, by fields that convert nothing, and lists in pages."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar, cast

from django import forms
from django.conf import settings
from django.core import signing
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import BasePagination
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from core.files import receive_on_disk
from core.models import Job

LONGEST_BODY = 64 * 1024
PER_PAGE = 50
SALT = "core.api.base"  # of cursors; another one would make those that were given out unknown
Row = TypeVar("Row", bound=Model)


class BodyTooLarge(APIException):
    status_code = 413
    default_code = "too_large"
    default_detail = f"A request has at most {LONGEST_BODY // 1024} KB; nothing was read or stored."


class LengthMissing(APIException):
    status_code = 411
    default_code = "length_required"
    default_detail = "Say how long the body is (Content-Length); nothing was read or stored."


class Invalid(APIException):
    """The body is JSON, but not what the endpoint takes."""

    status_code = 422
    default_code = "invalid"


class JsonBody(BaseParser):
    """A JSON text in UTF-8 that names nothing twice."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            text = stream.read(LONGEST_BODY).decode("utf-8")
            return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ParseError("The body is not JSON that can be read.", code="malformed") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name appears twice")
    return fields


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


class JsonAlways(DefaultContentNegotiation):
    """Answers are JSON, whatever a client says that it accepts; previews are what they are."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, str(first.media_type)


class ApiView(APIView):
    """An endpoint. Requests that are too large go before anything else is looked at."""

    parser_classes = [JsonBody]
    content_negotiation_class = JsonAlways
    longest_body: int | None = LONGEST_BODY
    writes = "manage"  # the scope that a token needs for what is no reading: AccessToken.Scope

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if self.longest_body is not None and _length(request) > self.longest_body:
            raise BodyTooLarge
        if "HTTP_TRANSFER_ENCODING" in request.META and not _length(request):
            raise LengthMissing
        super().initial(request, *args, **kwargs)


class FileView(ApiView):
    """An endpoint that takes a form with files, received on disk."""

    parser_classes = [MultiPartParser]
    longest_body = None  # the limit of the file holds
    limit: str  # the setting that says how many megabytes a file may have
    instead: str  # advice for somebody whose file is larger

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        receive_on_disk(request._request, most_mb=getattr(settings, self.limit), instead=self.instead)
        super().initial(request, *args, **kwargs)


def form_data_of(request: Request, form: type[forms.Form]) -> dict[str, Any]:
    """Return the texts of a sent form; refuse one that is empty, or that has fields which ``form`` has not."""
    if not request.data and not request.FILES:  # of an empty body the framework makes no form at all
        raise ParseError("Nothing was sent. Send a form (multipart/form-data) with a file.", code="malformed")
    fields = cast(QueryDict, request.data).dict()
    if unknown := fields.keys() - form.base_fields.keys():
        raise Invalid(f"There is no field {min(unknown)[:40]!r} here.")
    return fields


def form_values(form: forms.BaseForm) -> dict[str, Any]:
    """Return the values of a form; refuse, with the first reason, what it does not take."""
    if not form.is_valid():
        field, reasons = next(iter(form.errors.items()))
        raise Invalid(str(reasons[0]) if field == NON_FIELD_ERRORS else f"{field}: {reasons[0]}")
    return form.cleaned_data


def _length(request: Request) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0  # Django reads no body then


def body_of(request: Request, shape: type[Serializer[Any]]) -> dict[str, Any]:
    """The fields of the body; refuses, with the first reason, what ``shape`` does not take."""
    if not isinstance(request.data, Mapping):
        raise Invalid("Send a JSON object.")
    read = shape(data=request.data)
    if unknown := request.data.keys() - read.fields.keys():
        raise Invalid(f"There is no field {min(unknown)[:40]!r} here.")
    if not read.is_valid():
        field, reasons = next(iter(read.errors.items()))
        raise Invalid(f"{field}: {reasons[0]}")
    return dict(read.validated_data)


class Pages(BasePagination):
    """Newest first. The cursor is signed, so that only what was given out comes back into a statement."""

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        rows: QuerySet[Any] = queryset.order_by("-created_at", "-uuid")
        if (cursor := request.query_params.get("cursor")) is not None:
            try:
                at, uuid = signing.loads(cursor, salt=SALT)
            except signing.BadSignature as error:
                raise NotFound("This cursor was not given out here.", code="unknown_cursor") from error
            rows = rows.filter(Q(created_at__lt=at) | Q(created_at=at, uuid__lt=uuid))
        page = list(rows[: PER_PAGE + 1])
        self.next = None
        if len(page) > PER_PAGE:
            last = page[PER_PAGE - 1]
            following = signing.dumps([last.created_at.isoformat(), str(last.uuid)], salt=SALT)
            self.next = replace_query_param(request.build_absolute_uri(), "cursor", following)
        return page[:PER_PAGE]

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self.next, "results": data})

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        description = "As in ``next`` of the page before."
        return [{"in": "query", "name": "cursor", "schema": {"type": "string"}, "description": description}]

    def get_paginated_response_schema(self, schema: Any) -> dict[str, Any]:
        link = {"type": "string", "format": "uri", "nullable": True, "description": "Address of the next page."}
        return {"type": "object", "required": ["next", "results"], "properties": {"next": link, "results": schema}}


def paged(
    request: Request, view: ApiView, rows: QuerySet[Row], shape: type[BaseSerializer[Any]], **context: Any
) -> Response:
    pages = Pages()
    page = pages.paginate_queryset(rows, request, view)
    return pages.get_paginated_response(shape(page, many=True, context={"request": request, **context}).data)


class Nothing(serializers.Serializer[Any]):
    """No field at all."""


class JobOutput(serializers.ModelSerializer[Job]):
    """Work that a worker does for a project; one that waits goes on by itself, and ``error`` says what for."""

    class Meta:
        model = Job
        fields = ["uuid", "kind", "title", "state", "done", "total", "error", "created_at", "updated_at"]


class Problem(serializers.Serializer[Any]):
    """Why a request was refused; nothing was stored."""

    code = serializers.CharField(help_text="For programs; docs/api.md lists them.")
    message = serializers.CharField(help_text="For people, in one line.")


# Fields take what JSON says and nothing that could be turned into it: no "3", no 3.0, no true for a number


class Unconverted(serializers.Field[Any, Any, Any, Any]):
    """A field whose values are of one type in JSON."""

    json_type: type

    def to_internal_value(self, data: Any) -> Any:
        if type(data) is not self.json_type:
            self.fail("invalid", input=data, value=data)
        return super().to_internal_value(data)


class CountField(Unconverted, serializers.IntegerField):
    """A JSON integer from 0."""

    json_type = int

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, **options)


class GradeField(CountField):
    """A JSON integer from 0 on; how far a scale goes, its project says."""

    default_error_messages = dict.fromkeys(
        ("invalid", "min_value", "max_value"), "A grade is a whole number of the scale."
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(max_value=9, **options)


class KeyField(Unconverted, serializers.UUIDField):
    json_type = str


class WordsField(Unconverted, serializers.CharField):
    json_type = str


class YesNoField(Unconverted, serializers.BooleanField):
    json_type = bool


class ChoiceOfField(serializers.ChoiceField):
    """One of a few words; refusing another, it names them."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(f"Choose one of {', '.join(self.choices)}.")
        return data
