"""Requests of the client: errors, repetitions, lists in pages, files that are sent and received piece by piece."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

Json = dict[str, Any]
BUFFER = 2**16


class ApiError(Exception):
    """A request was refused, or got no answer.

    Attributes:
        status: of the answer; 0 where none came.
        code: for programs; docs/api.md lists the codes of a site. ``unreachable`` where no answer came, ``failed``
            where work that was waited for ended with an error, ``changed`` where a file is another than the one whose
            upload is to go on.
        message: for people, in one line.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}" if status else f"{code}: {message}")
        self.status, self.code, self.message = status, code, message


class Requests:
    """One site, with the token of one person, by method and path."""

    def __init__(self, address: str, token: str, *, tries: int = 5, timeout_s: float = 60.0) -> None:
        """``tries``: how often a request is sent at most; ``timeout_s``: how long each may be without an answer."""
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"The address of a site begins with http:// or https://, and {address!r} does not.")
        self.address, self.tries, self.timeout_s = address.rstrip("/"), tries, timeout_s
        self._token = token

    def _row(self, method: str, path: str, body: Json | None = None, **options: Any) -> Json:
        row: Json = self._call(method, path, body, **options)
        return row

    def _call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> Any:
        """Return what the answer says as JSON, None where it says nothing.

        Args:
            once: a repetition would do it twice, or be refused.
        """
        headers = dict(headers or {})
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        return self._send(method, self._url(path, query), _read_json, lambda: data, headers, once=once)

    def _url(self, path: str, query: Mapping[str, Any] | None) -> str:
        return f"{self.address}/api/v1/{path}" + (f"?{_query(query)}" if query else "")

    def _pages(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[Json]:
        """Yield the rows of a long list, page after page."""
        page = self._call("GET", path, query=query)
        yield from page["results"]
        while page["next"]:
            following = urlsplit(page["next"])  # the token goes nowhere but to this site
            url = urlsplit(self.address)._replace(path=following.path, query=following.query).geturl()
            page = self._send("GET", url, _read_json)
            yield from page["results"]

    def _download(self, path: str, file: str | Path, query: Mapping[str, Any] | None = None) -> Path:
        """Write the answer into a file as it comes; one that breaks off is no file."""
        target = Path(file)
        part = target.with_name(f"{target.name}.part")

        def receive(answer: http.client.HTTPResponse) -> None:
            with part.open("wb") as out:
                while content := answer.read(BUFFER):
                    out.write(content)
            size = answer.headers.get("Content-Length")
            if size is not None and part.stat().st_size != int(size):
                raise http.client.IncompleteRead(b"")

        try:
            self._send("GET", self._url(path, query), receive)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return part.replace(target)

    def _upload(self, path: str, files: Mapping[str, str | Path], fields: Mapping[str, Any]) -> Json:
        """Send a form with files, read from the disk as they are sent."""
        form = _Form({name: _text(value) for name, value in fields.items()}, files)
        headers = {"Content-Type": form.content_type, "Content-Length": str(form.size)}
        row: Json = self._send("POST", f"{self.address}/api/v1/{path}", _read_json, form.parts, headers, once=True)
        return row

    def _send(
        self,
        method: str,
        url: str,
        receive: Callable[[http.client.HTTPResponse], Any],
        data: Callable[[], Any] = lambda: None,
        headers: Mapping[str, str] = MappingProxyType({}),
        *,
        once: bool = False,
    ) -> Any:
        """Return what ``receive`` makes of the answer; raise ApiError where there is a refusal, or no answer.

        The token goes to the site alone: a bucket that it sends us to must not see it.
        """
        problem: ApiError | None = None
        for attempt in range(1, self.tries + 1):
            request = urllib.request.Request(url, data(), dict(headers), method=method)  # noqa: S310 - http, see __init__
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
            try:
                with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:  # noqa: S310  # nosec B310
                    return receive(answer)
            except urllib.error.HTTPError as error:
                problem = _refusal(error)
                if error.code < 500 or (once and error.code != 503):
                    break
            except (OSError, http.client.HTTPException) as error:
                problem = ApiError(0, "unreachable", f"{self.address} does not answer: {error}")
                if once and not _never_arrived(error):
                    message = f"No answer came ({error}). It may have been done: look before you send it again."
                    problem = ApiError(0, "unreachable", message)
                    break
            if attempt < self.tries:
                time.sleep(0.5 * attempt)
        assert problem is not None
        raise problem


def _read_json(answer: http.client.HTTPResponse) -> Any:
    return json.loads(answer.read() or "null")


class _Form:
    """A form with files, as multipart/form-data (RFC 7578)."""

    def __init__(self, fields: Mapping[str, str], files: Mapping[str, str | Path]) -> None:
        boundary = uuid4().hex
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self.heads: list[tuple[bytes, Path | None]] = []
        for name, value in fields.items():
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            self.heads.append((head.encode(), None))
        for name, file in files.items():
            about = f'name="{name}"; filename="{quote(Path(file).name, safe=" ()[]+,")}"'
            head = f"--{boundary}\r\nContent-Disposition: form-data; {about}\r\nContent-Type: application/octet-stream"
            self.heads.append((f"{head}\r\n\r\n".encode(), Path(file)))
        self.end = f"--{boundary}--\r\n".encode()
        sizes = (len(head) + (path.stat().st_size + 2 if path else 0) for head, path in self.heads)
        self.size = sum(sizes) + len(self.end)

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes of the form."""
        for head, path in self.heads:
            yield head
            if path:
                with path.open("rb") as file:
                    yield from _pieces(file)
                yield b"\r\n"
        yield self.end


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(BUFFER):
        yield piece


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _query(values: Mapping[str, Any]) -> str:
    return urlencode({name: _text(value) for name, value in values.items()})


def _refusal(error: urllib.error.HTTPError) -> ApiError:
    """Return the error that a site's answer names; something between it and us may answer otherwise."""
    try:
        body = json.load(error)
        return ApiError(error.code, str(body["code"]), str(body["message"]))
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return ApiError(error.code, "http_error", error.reason or "The answer is not of a MomentJudge site.")


def _never_arrived(error: Exception) -> bool:
    """Return whether the connection was not even made."""
    reason = getattr(error, "reason", error)
    return isinstance(reason, ConnectionRefusedError) or "Name or service not known" in str(reason)
