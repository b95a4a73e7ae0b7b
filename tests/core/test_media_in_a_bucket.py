"""Files in a bucket: workers read and write them, browsers are sent to addresses that open them for a while."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from botocore.exceptions import ClientError
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.previews.services import local_copy
from core.exceptions import StorageUnavailable
from core.storage.bucket import answering
from tests.buckets import NAME, ORIGIN, bucket
from tests.factories import UserFactory, VideoFactory
from tests.judging.watching import MP4, logged_in, preview_urls, watched

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def s3() -> Iterator[Any]:
    with bucket() as client:
        yield client


def test_those_who_may_watch_are_sent_there_for_a_while(s3: Any) -> None:
    client, moment = watched()
    [gif, mp4] = (client.get(url) for url in preview_urls(moment))
    assert (gif.status_code, mp4.status_code) == (302, 302)
    assert gif.headers["Cache-Control"] == "private, max-age=90"
    query = parse_qs(urlsplit(gif.headers["Location"]).query)
    assert query["X-Amz-Expires"] == ["120"]
    assert gif.headers["Location"].startswith(f"{ORIGIN}/{moment.preview.name}?")
    assert [logged_in(UserFactory()).get(url).status_code for url in preview_urls(moment)] == [404, 404]


def test_the_bucket_answers_with_the_headers_that_were_signed(s3: Any) -> None:
    client, moment = watched()
    url = client.get(preview_urls(moment)[1]).headers["Location"]
    whole, part = requests.get(url, timeout=5), requests.get(url, headers={"Range": "bytes=2-4"}, timeout=5)
    assert (whole.status_code, whole.content) == (200, MP4)
    assert whole.headers["Content-Type"] == "video/mp4"
    assert whole.headers["Cache-Control"] == "private, max-age=86400, immutable"
    assert "Content-Disposition" not in whole.headers
    assert (part.status_code, part.content, part.headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")


def test_the_names_and_what_lies_beside_them_reveal_nothing(s3: Any) -> None:
    _, moment = watched()
    identifiers = f"{moment.uuid.hex} {moment.preview_uuid.hex} {moment.video.name} {moment.video.uuid.hex}"
    for key in (str(moment.preview.name), str(moment.preview_clip.name)):
        name = key.removeprefix("previews/").split(".")[0]
        assert len(name) == 32 and name not in identifiers
        assert s3.head_object(Bucket=NAME, Key=key)["Metadata"] == {}


def test_a_worker_fetches_a_video_to_a_file_of_its_own(s3: Any) -> None:
    video = VideoFactory()
    video.file.save("a.mp4", ContentFile(b"moving"))
    with local_copy(video) as path:
        assert (path.suffix, path.read_bytes()) == (".mp4", b"moving")
    assert not path.exists()


def test_a_file_that_is_not_there_is_no_silence(s3: Any) -> None:
    with pytest.raises(FileNotFoundError):
        default_storage.open("previews/none.gif")
    assert not default_storage.exists("previews/none.gif")
    default_storage.delete("previews/none.gif")


def test_a_bucket_that_is_gone_is_no_word_on_the_file() -> None:
    for code, error in (("NoSuchBucket", StorageUnavailable), ("NoSuchKey", FileNotFoundError)):
        answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 404}}
        with pytest.raises(error), answering("a.zip"):
            raise ClientError(answer, "PutObject")
