"""Writing a corpus in the forms it is read from: round trips, files on the disk, what is refused, page and API."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Project
from annotation.corpora.exporters import EXPORTS, tvr
from annotation.corpora.exporters.base import Selection
from annotation.corpora.importers.base import DescriptionRecord, Given
from annotation.corpora.importers.tvr import read_tvr
from annotation.models import Caption, Corpus, Description, Moment
from tests.annotation.corpora.importers.shared import DATA, needs_shared
from tests.factories import CaptionFactory, CorpusFactory, MomentFactory, VideoFactory, lead

pytestmark = pytest.mark.django_db
DURATIONS = '{"test": {"beta": [9.0, 7]}, "val": {"alpha": [60.25, 1], "gamma": [91.28999999999999, 3]}}\n'
TVR = (
    '{"vid_name": "gamma", "duration": 91.28999999999999, "ts": [0, 2.29],'
    ' "desc": " Ross\\u2019s cat sits.  ", "type": "vt", "desc_id": 9}\n'
    '{"vid_name": "alpha", "duration": 60.25, "ts": [16.48, 33],'
    ' "desc": "Ann \\"waves\\".", "type": "v", "desc_id": 4}\n'
    '{"vid_name": "gamma", "duration": 91.28999999999999, "ts": [0, 2.29],'
    ' "desc": "It sits.", "type": "t", "desc_id": 5}\n'
)
TVC = (
    '{"vid_name": "alpha", "duration": 60.25, "ts": [16.48, 33], "clip_id": 40, "descs":'
    ' [{"desc": "He waves. ", "type": "v", "desc_id": 8}, {"desc": "A wave.", "type": "vt", "desc_id": 2}]}\n'
    '{"vid_name": "alpha", "duration": 60.25, "ts": [1, 2], "clip_id": 41}\n'
    '{"vid_name": "gamma", "duration": 91.28999999999999, "ts": [0, 2.29], "clip_id": 42, "descs":'
    ' [{"desc": "It sits.", "type": "t", "desc_id": 5}]}\n'
)
SUBTITLES = (
    '{"vid_name": "alpha", "sub": [{"text": "Hi : you", "start": 0.0, "end": 2.5},'
    ' {"text": "Yes.", "start": 2.5, "end": 4.0}]}\n'
    '{"vid_name": "beta", "sub": [{"text": "No.", "start": 1.25, "end": 4.0}]}\n'
)
Load = Callable[..., None]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Import a text of some form into a corpus."""

    def load(form: str, text: str, *words: str, corpus: str = "c") -> None:
        (tmp_path / "durations.json").write_text(DURATIONS)
        (tmp_path / "in.jsonl").write_text(text)
        lengths = [] if form == "tvqa-subtitles" else ["--durations", str(tmp_path / "durations.json")]
        arguments = [form, str(tmp_path / "in.jsonl"), "--corpus", corpus, *lengths, *words]
        call_command("import_corpus", *arguments, stdout=StringIO())

    return load


def export(form: str, *words: str, corpus: str = "c") -> str:
    out = StringIO()
    call_command("export_corpus", form, corpus, "--out", "-", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


class TestRoundTrips:
    def test_tvr(self, load: Load) -> None:
        """Order of lines, blanks around texts, whole seconds without a fraction; moments of other splits stay out."""
        load("tvr", TVR, "--source-split", "val")
        MomentFactory(video=VideoFactory(corpus=Corpus.objects.get(), source_split="test"))
        assert export("tvr", "--split", "val") == export("tvr") == TVR
        load("tvr", export("tvr"), corpus="d")
        assert export("tvr", corpus="d") == TVR

    def test_tvc(self, load: Load) -> None:
        load("tvc", TVC, "--source-split", "val")
        assert export("tvc", "--first-clip-id", "40") == TVC
        assert '"clip_id": 0,' in export("tvc").splitlines()[0]

    def test_durations_and_subtitles(self, load: Load) -> None:
        corpus = CorpusFactory(name="c")
        rows = [(name, split, *row) for split, videos in json.loads(DURATIONS).items() for name, row in videos.items()]
        for name, split, duration_s, index in sorted(rows):
            VideoFactory(corpus=corpus, name=name, duration_s=duration_s, index=index, source_split=split)
        assert export("durations") == DURATIONS
        load("tvqa-subtitles", SUBTITLES)
        assert export("subtitles") == SUBTITLES
        load("tvqa-subtitles", export("subtitles"))
        assert export("subtitles", "--split", "test") == SUBTITLES.splitlines(keepends=True)[1]

    @needs_shared
    @pytest.mark.parametrize(
        ("form", "path", "words"),
        [
            pytest.param("tvr", "tvr/tvr_val_release.jsonl", [], marks=pytest.mark.slow),
            ("tvc", "tvc/tvc_test_public_release.jsonl", ["--first-clip-id", "102866"]),
        ],
    )
    def test_published_files_byte_for_byte(self, form: str, path: str, words: list[str]) -> None:
        lengths = ["--durations", str(DATA / "tvr" / "tvr_video2dur_idx.json")]
        arguments = [form, str(DATA / path), *lengths, "--source-split", "val", "--corpus", "c"]
        call_command("import_corpus", *arguments, stdout=StringIO())
        assert export(form, "--split", "val", *words).splitlines() == (DATA / path).read_text().splitlines()

    @pytest.mark.parametrize(
        ("text", "stays"), [(" a  b ", " a  b "), ("a\n", "a"), (" \u00a0a ", "a"), ("a" + " " * 5000, "a")]
    )
    def test_blanks_around_a_text_stay_and_other_white_space_does_not(self, text: str, stays: str) -> None:
        line = {"vid_name": "v", "duration": 9, "ts": [1, 2], "desc": text, "type": "v", "desc_id": 1}
        _, record = read_tvr([json.dumps(line)], Given())
        assert isinstance(record, DescriptionRecord) and record.text == stays


def test_a_caption_has_no_blanks_around_it_and_an_earlier_import_without_them_is_the_same(load: Load) -> None:
    load("tvr", TVR)
    assert not Caption.objects.filter(text__startswith=" ").exists()
    before = list(Description.objects.values_list("pk", "text"))
    load("tvr", TVR.replace('" Ross', '"Ross').replace("sits.  ", "sits."))
    assert list(Description.objects.values_list("pk", "text")) == before


def test_moments_of_programs_are_in_no_file_until_somebody_describes_them(load: Load) -> None:
    """Nobody marked those of pools and proposals; a moment that people marked and nobody described is a test moment."""
    load("tvr", TVR)
    video = Corpus.objects.get().videos.get(name="alpha")
    marked, pooled = (MomentFactory(video=video, start_s=start, end_s=start + 1) for start in (40, 50))
    tvr.PoolSpan.objects.create(video=video, start_s=50, end_s=51, moment=pooled, is_new=True)
    err = StringIO()
    for form in ("tvr", "tvc"):
        call_command("export_corpus", form, "c", "--out", "-", stdout=StringIO(), stderr=err)
    assert err.getvalue().splitlines() == [
        "Left out: 2 moments without a description.",
        "Left out: 1 moment of proposals and pools that nobody has described.",
    ]
    assert list(tvr.moments(Selection(video.corpus)).filter(start_s__gte=40)) == [marked]
    CaptionFactory(moment=pooled)
    assert tvr.moments(Selection(video.corpus)).filter(pk=pooled.pk).exists()


class TestFiles:
    def test_a_file_is_replaced_by_force_alone_and_never_by_half(self, load: Load, tmp_path: Path) -> None:
        load("tvr", TVR)
        folder = tmp_path / "out"
        folder.mkdir()
        path, out = folder / "tvr.jsonl", StringIO()
        call_command("export_corpus", "tvr", "c", "--out", str(path), stdout=out)
        assert json.loads(out.getvalue()) == {"descriptions": 3, "file": str(path)}
        path.write_text("mine")
        with pytest.raises(CommandError, match="is there already.*--force"):
            call_command("export_corpus", "tvr", "c", "--out", str(path))
        Description.objects.filter(source_id=5).update(kind="gone")  # writing fails at the third line
        with pytest.raises(KeyError):
            call_command("export_corpus", "tvr", "c", "--out", str(path), "--force")
        assert path.read_text() == "mine"
        Description.objects.filter(source_id=5).update(kind="subtitle")
        call_command("export_corpus", "tvr", "c", "--out", str(path), "--force", stdout=StringIO())
        assert (path.read_text(), list(folder.iterdir())) == (TVR, [path])

    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            (["tvr", "other"], "no corpus named 'other'; there are: 'c', 'history'"),
            (["tvr", "c", "--split", "vall"], r"split 'vall'\. Splits.*: none \(1\), 'val' \(2\)\.$"),
            (["subtitles", "c", "--split", "val"], "has no subtitles of the source split 'val' to write"),
            (["durations", "history"], "stands for historic judgments"),
            (["tvr", "c", "--first-clip-id", "3"], "--first-clip-id is of tvc"),
            (["tvr", "c", "--out", "."], "is no file. Name a file, or -"),
            (["tvr", "c", "--out", "nowhere/out.jsonl"], "cannot be written: No such file"),
        ],
    )
    def test_what_cannot_be_written(
        self, load: Load, words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load("tvr", TVR, "--source-split", "val")
        VideoFactory(corpus=Corpus.objects.get())
        CorpusFactory(name="history", is_placeholder=True)
        monkeypatch.chdir(tmp_path)
        before = set(tmp_path.iterdir())
        with pytest.raises(CommandError, match=reason):
            call_command("export_corpus", *[*words, *([] if "--out" in words else ["--out", "out.jsonl"])])
        assert set(tmp_path.iterdir()) == before


def test_statements_grow_with_chunks_not_with_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = CorpusFactory()
    monkeypatch.setattr(tvr, "CHUNK", 10)

    def statements() -> Iterator[int]:
        for form in EXPORTS.values():
            with CaptureQueriesContext(connection) as captured:
                assert "".join(form.lines(Selection(corpus)))
            yield len(captured)

    for n in (2, 28):
        for caption in CaptionFactory.create_batch(n, moment__video__corpus=corpus):
            caption.moment.video.subtitles.create(start_s=1, end_s=2, text="Hi.")
        counts = list(statements())
    assert (Moment.objects.count(), counts) == (30, [1, 1 + 3, 1, 1])


class TestPageAndProgram:
    def test_both_send_the_file_that_the_command_writes(self, client: Client, project: Project, load: Load) -> None:
        load("tvr", TVR, "--source-split", "val", corpus=project.dataset.corpus.name)
        client.force_login(lead(project))
        page = client.get(reverse("annotation:corpus", args=[project.uuid])).content.decode()
        assert ('value="tvr"' in page, 'value="subtitles"' in page) == (True, False)
        for route in ("annotation:corpus-download", "api:corpus-export"):
            answer = client.get(reverse(route, args=[project.uuid]), {"form": "tvr", "split": "val"})
            assert b"".join(answer.streaming_content).decode() == TVR  # type: ignore[attr-defined]
            assert answer.headers["Content-Disposition"] == 'attachment; filename="tvr-val.jsonl"'

    @pytest.mark.parametrize(
        ("query", "status", "reason"),
        [
            ({"form": "tvr", "split": "vall"}, 409, "source split &#x27;vall&#x27;"),
            ({"form": "tvr"}, 409, "has no descriptions to write"),
            ({"form": "csv"}, 422, "There is no such form. Choose one of tvr, tvc, durations, subtitles."),
        ],
    )
    def test_a_file_that_there_is_not(
        self, client: Client, project: Project, query: dict[str, str], status: int, reason: str
    ) -> None:
        client.force_login(lead(project))
        answer = client.get(reverse("annotation:corpus-download", args=[project.uuid]), query, follow=True)
        assert answer.redirect_chain and reason in answer.content.decode()
        assert client.get(reverse("api:corpus-export", args=[project.uuid]), query).status_code == status
