"""Videos with files, in a corpus."""

import pytest
from django.core.files.base import ContentFile

from annotation.models import Corpus, Video
from tests.annotation.proposals.videos import video_with_cuts
from tests.factories import CorpusFactory, VideoFactory


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Six seconds with cuts at 2.0 and 3.5."""
    return video_with_cuts(tmp_path_factory.mktemp("films") / "film.mp4", [20, 15, 25]).read_bytes()


@pytest.fixture
def corpus(film: bytes, videos_on_disk: object) -> Corpus:
    """Two videos of one film, and between them a file that is none."""
    corpus: Corpus = CorpusFactory()
    for name, content in (("a", film), ("broken", b"no video"), ("c", film)):
        video: Video = VideoFactory(corpus=corpus, name=name, duration_s=6.0)
        video.file.save(f"{name}.mp4", ContentFile(content))
    return corpus
