"""Stored files in a bucket that speaks S3; imported only where one is configured."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import IO, Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3File, S3Storage
from storages.utils import clean_name

from core.exceptions import StorageUnavailable
from core.files import upload_temp_folder

NO_BUCKET = "NoSuchBucket"  # answered with 404 too, but no word on the file
IN_MEMORY_BYTES = 8 << 20  # of a file that is read; what is larger waits on the disk


@contextmanager
def answering(name: str) -> Iterator[None]:
    """A file that is not there is FileNotFoundError; every other refusal, and silence, is StorageUnavailable."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status == 404 and error.response.get("Error", {}).get("Code") != NO_BUCKET:
            raise FileNotFoundError(f"There is no file {name}.") from error
        raise StorageUnavailable(reason=str(error)) from error
    except (BotoCoreError, Boto3Error) as error:
        raise StorageUnavailable(reason=str(error)) from error


class S3MediaFile(S3File):  # type: ignore[misc]
    """A file of the bucket; it is fetched as a whole when it is first read."""

    def _get_file(self) -> IO[bytes]:
        upload_temp_folder()  # of what is larger than IN_MEMORY_BYTES
        with answering(self.name):
            return super()._get_file()  # type: ignore[no-any-return]

    def close(self) -> None:
        with answering(self.name):
            super().close()

    file = property(_get_file, S3File._set_file)


class S3Media(S3Storage):  # type: ignore[misc]
    """A private bucket: workers read and write it, browsers are sent to signed addresses."""

    def __init__(self, *, public_url: str, addressing: str, tries: int = 4, **options: Any) -> None:
        config = Config(
            s3={"addressing_style": addressing},
            signature_version="s3v4",
            connect_timeout=5,
            read_timeout=60,
            retries={"mode": "standard", "max_attempts": tries},
            request_checksum_calculation="when_required",  # other stores than Amazon's may not know them
            response_checksum_validation="when_required",
        )
        self.public_url = public_url
        super().__init__(
            client_config=config, file_overwrite=True, default_acl=None, max_memory_size=IN_MEMORY_BYTES, **options
        )

    @cached_property
    def signer(self) -> Any:
        """Signs for the address by which browsers reach the bucket; it sends nothing."""
        session = boto3.Session(aws_access_key_id=self.access_key, aws_secret_access_key=self.secret_key)
        return session.client(
            "s3", region_name=self.region_name, endpoint_url=self.public_url, config=self.client_config
        )

    def signed_url(self, name: str, *, seconds: int, method: str = "GET", **headers: str) -> str:
        """An address that opens this one file for so long, and answers with these headers."""
        response_headers = {f"Response{header}": value for header, value in headers.items() if value}
        about = {"Bucket": self.bucket_name, "Key": self._normalize_name(clean_name(name))}
        call = "head_object" if method == "HEAD" else "get_object"
        signed: str = self.signer.generate_presigned_url(call, Params=about | response_headers, ExpiresIn=seconds)
        return signed

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        with answering(name):
            return S3MediaFile(self._normalize_name(clean_name(name)), mode, self)

    def _save(self, name: str, content: "File[Any]") -> str:
        with answering(name):
            return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        with answering(name):
            super().delete(name)

    def exists(self, name: str) -> bool:
        with answering(name):
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        with answering(name):
            return int(super().size(name))

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        with answering(path):
            folders, files = super().listdir(path)
        return folders, files
