"""moto's server with a folder behind it: an object whose writing was answered is there again after kill -9, as a store
promises. Run as a program, by ``Storage``."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import run_simple

WRITES = {"PUT", "POST", "DELETE"}
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class BucketOnDisk:
    """The application; after every write that went well the object lies in the folder, or is gone from it."""

    def __init__(self, application: Application, folder: Path, bucket: str) -> None:
        self.application, self.folder, self.bucket = application, folder, bucket
        self.backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        folder.mkdir(exist_ok=True)
        self._lay()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        statuses: list[str] = []

        def noted(status: str, *more: Any) -> Any:
            statuses.append(status)
            return start_response(status, *more)

        answer = list(self.application(environ, noted))
        _, bucket, *key = environ["PATH_INFO"].encode("latin-1").decode().split("/", 2)
        if environ["REQUEST_METHOD"] in WRITES and statuses[0].startswith("2") and bucket == self.bucket:
            names = key if key and key[0] else self._vanished()  # many are deleted by one POST to the bucket
            for name in names:
                self._keep(name)
        return answer

    def _lay(self) -> None:
        self.backend.create_bucket(self.bucket, "us-east-1")
        for path in self.folder.iterdir():
            if not path.name.endswith(".new"):
                self.backend.put_object(self.bucket, unquote(path.name), path.read_bytes())

    def _vanished(self) -> list[str]:
        keys = self.backend.buckets[self.bucket].keys
        return [name for path in self.folder.iterdir() if (name := unquote(path.name)) not in keys]

    def _keep(self, name: str) -> None:
        path = self.folder / quote(name, safe="")
        s3_object = self.backend.buckets[self.bucket].keys.get(name)
        if not hasattr(s3_object, "value"):  # nothing there, or in a bucket with versions the mark that it was deleted
            path.unlink(missing_ok=True)
            return
        draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
        draft.write_bytes(s3_object.value)
        draft.replace(path)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for name in ("--host", "--port", "--folder", "--bucket"):
        parser.add_argument(name, required=True)
    options = parser.parse_args(words)
    os.environ["MOTO_PORT"] = options.port
    server = DomainDispatcherApplication(create_backend_app)
    application = BucketOnDisk(server, Path(options.folder), options.bucket)
    run_simple(options.host, int(options.port), application, threaded=True, request_handler=MotoRequestHandler)


if __name__ == "__main__":
    main(sys.argv[1:])
