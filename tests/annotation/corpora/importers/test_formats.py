"""Each form by hand: what is read, what is refused and where, and that no text raises."""

import json
from typing import Any

import pytest
from hypothesis import given as over
from hypothesis import settings
from hypothesis import strategies as st

from annotation.corpora.importers import FORMATS
from annotation.corpora.importers.base import (
    BadLine,
    DescriptionRecord,
    Given,
    Item,
    MomentRecord,
    SubtitleRecord,
    VideoRecord,
)
from annotation.corpora.importers.fields import LENGTHS, UPLOAD
from annotation.corpora.importers.grounding import NEXT_WINDOW

TABLE = Given({"a": (60.0, 3), "b": (30.0, 4)})


def read(form: str, *lines: str, options: Given = TABLE) -> list[Item]:
    text = [f"{line}\n" for line in lines]
    return list(FORMATS[form].read(["".join(text)] if FORMATS[form].whole else text, options))


def rows(items: list[Item]) -> list[tuple[Any, ...]]:
    """Number, video, start, end and text of each description."""
    described = [item for item in items if isinstance(item, DescriptionRecord)]
    return [(item.source_id, item.video_name, item.start_s, item.end_s, item.text) for item in described]


def bad(items: list[Item]) -> list[str]:
    return [str(item) for item in items if isinstance(item, BadLine)]


def by_video(**videos: Any) -> str:
    return json.dumps(videos)


def entry(*sentences: Any, spans: Any = None, duration: Any = 20.0, **more: Any) -> dict[str, Any]:
    spans = [[1, 2]] * len(sentences) if spans is None else spans
    return {"duration": duration, "timestamps": spans, "sentences": list(sentences), **more}


class TestByVideo:
    def test_a_video_and_its_sentences(self) -> None:
        items = read("activitynet", by_video(v=entry(" One. ", "Two.", spans=[[0, 4.5], [4, 20]])), options=Given())
        assert items[0] == VideoRecord("v", 20.0)
        assert rows(items) == [(None, "v", 0.0, 4.5, "One."), (None, "v", 4.0, 20.0, "Two.")]
        assert [item.item for item in items[1:] if isinstance(item, DescriptionRecord)] == ["'v' #1", "'v' #2"]

    def test_frames(self) -> None:
        video = {"timestamps": [[50, 100], [100, 260]], "sentences": ["x y", "z"], "fps": 25, "num_frames": 250}
        items = read("tacos", by_video(v=video), options=Given())
        assert items[0] == VideoRecord("v", 10.0)
        assert rows(items) == [(None, "v", 2.0, 4.0, "x y"), (None, "v", 4.0, 10.0, "z")]
        assert [item.past_end for item in items[1:] if isinstance(item, DescriptionRecord)] == [False, True]

    def test_a_window_far_past_the_end_is_bad_unless_clipped(self) -> None:
        text = by_video(v=entry("One.", "Two.", spans=[[1, 25], [21, 25]]))
        late = "line 1, 'v' #2: timestamp starts at 21 s, not before its end at 20 s"
        messages = bad(read("activitynet", text, options=Given()))
        assert messages[0] == "line 1, 'v' #1: timestamp ends at 25 s, but the video is 20 s long"
        items = read("activitynet", text, options=Given(clip=True))
        record = items[1]
        assert isinstance(record, DescriptionRecord) and (record.end_s, record.past_end) == (20.0, True)
        assert bad(items) == [late]  # which is wholly past it
        one = json.dumps(entry("One."))
        items = read("activitynet", f'{{"v": {one}, "v": {one}}}', options=Given())
        assert bad(items) == ["line 1, 'v': the video is listed twice; 1 sentences are left out"]
        assert len(rows(items)) == 1

    @pytest.mark.parametrize(
        ("video", "reason"),
        [
            (3, "not an object"),
            (entry("x", spans=[]), "0 timestamps for 1 sentences"),
            (entry("x", spans={}), "timestamps and sentences must be lists"),
            ({"timestamps": [], "sentences": []}, f"the length of video 'v' is not known; {UPLOAD}, {LENGTHS}"),
            (entry("x", duration=0), "duration is not a positive number"),
            (entry("x", duration=float("nan")), "duration is not a positive number"),
            (entry("x", duration=float("inf")), "duration is not a positive number"),
        ],
    )
    def test_a_bad_video_costs_itself_alone(self, video: Any, reason: str) -> None:
        items = read("charades-sta", by_video(v=video, w=entry("Kept.")), options=Given())
        assert bad(items) == [f"line 1, 'v': {reason}"]
        assert [row[4] for row in rows(items)] == ["Kept."]

    @pytest.mark.parametrize(
        ("span", "sentence", "reason"),
        [
            ([-1, 2], "x", "before the video"),
            ([2, 1], "x", "not before its end"),
            ([float("nan"), 2], "x", "not a pair of numbers"),
            ([1], "x", "not a pair of numbers"),
            ([1, 2], "", "sentence is empty"),
            ([1, 2], None, "sentence is not a text"),
            ([1, 2], "a\0b", "null byte"),
            ([1, 2], "\udcff", "not UTF-8"),
            ([1, 2], "x" * 6000, "6000 characters, more than 5000"),
        ],
    )
    def test_a_bad_sentence_costs_itself_alone(self, span: Any, sentence: Any, reason: str) -> None:
        items = read("activitynet", by_video(v=entry("First.", sentence, spans=[[1, 2], span])), options=Given())
        (message,) = bad(items)
        assert message.startswith("line 1, 'v' #2: ") and reason in message
        assert len(rows(items)) == 1

    def test_lines_are_counted_through_the_document(self) -> None:
        text = '{\n "v": {"duration": 9,\n  "timestamps": [[1, 2]], "sentences": [""]},\r\n\n "w": 3\n}'
        assert bad(read("activitynet", text, options=Given())) == [
            "line 2, 'v' #1: sentence is empty",
            "line 5, 'w': not an object",
        ]

    @pytest.mark.parametrize(
        ("text", "reason", "n_rows"),
        [
            ("", "the file ends too early", 0),
            ("[1]", "not JSON", 0),
            ("{3: 4}", "a name in quotes was expected", 0),
            ('{"v": ' + json.dumps(entry("One.")), "the file ends too early", 1),
            ('{"v": ' + json.dumps(entry("One.")) + ', "w": {"dura', "not JSON from here on", 1),
            ('{"v": ' + "[" * 100_000, "not JSON", 0),
        ],
    )
    def test_a_broken_document_gives_what_stands_before(self, text: str, reason: str, n_rows: int) -> None:
        items = read("activitynet", text, options=Given())
        assert len(rows(items)) == n_rows
        assert reason in bad(items)[-1]

    @pytest.mark.parametrize("size", [1, 2, 7, 50])
    def test_pieces_of_any_size_give_the_same(self, size: int) -> None:
        text = by_video(v=entry("Füße 😀", "Two.", spans=[[1, 12.25], [1, 2]]), w=entry("Three.", duration=123456))
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert list(FORMATS["activitynet"].read(pieces, Given())) == list(FORMATS["activitynet"].read([text], Given()))

    def test_charades_as_first_published(self) -> None:
        items = read("charades-sta", "a 24.3 30.4##person turns a light on.", "c 1 2##x", "a 1 2 no mark", "a 5 4##x")
        assert rows(items) == [(None, "a", 24.3, 30.4, "person turns a light on.")]
        assert bad(items) == [
            f"line 2: unknown video 'c'; {UPLOAD}",
            "line 3: not of the form: video start end##sentence",
            "line 4: timestamp starts at 5 s, not before its end at 4 s",
        ]


class TestQvhighlights:
    def line(self, **changes: Any) -> str:
        first = {"qid": 7, "query": "A man cooks", "vid": "a", "duration": 60, "relevant_windows": [[2, 10]]}
        return json.dumps(first | changes)

    def test_every_window_is_a_moment_but_a_bad_one(self) -> None:
        items = read("qvhighlights", self.line(relevant_windows=[[2, 10], [9, 4], [21, 60]]), options=Given())
        assert items[0] == VideoRecord("a", 60.0)
        assert rows(items) == [
            (7, "a", 2.0, 10.0, "A man cooks"),
            (7 + 2 * NEXT_WINDOW, "a", 21.0, 60.0, "A man cooks"),
        ]
        assert bad(items) == ["line 1, window 2: relevant_windows starts at 9 s, not before its end at 4 s"]
        notes = [item.notes for item in items if isinstance(item, DescriptionRecord)]
        assert not notes[0] and "clips of 2 s" in notes[1][0]

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"relevant_windows": []}, "relevant_windows is not a list of windows"),
            ({"qid": NEXT_WINDOW}, "qid is not below"),
            ({"vid": "z"}, "unknown video 'z'"),
            ({"query": "  "}, "query is empty"),
        ],
    )
    def test_bad_line(self, changes: dict[str, Any], reason: str) -> None:
        (message,) = bad(read("qvhighlights", self.line(**changes)))
        assert reason in message

    def test_a_qid_used_twice_and_a_length_that_changed(self) -> None:
        lines = (self.line(), self.line(query="Another"), self.line(qid=8, duration=50))
        assert bad(read("qvhighlights", *lines, options=Given())) == [
            "line 2: qid 7 was used by an earlier line",
            "line 3: duration of video 'a' is another on an earlier line",
        ]


class TestTvc:
    def line(self, *descs: Any, **changes: Any) -> str:
        return json.dumps({"vid_name": "a", "duration": 60, "ts": [1, 2], "clip_id": 5, "descs": list(descs)} | changes)

    def test_several_captions_of_one_moment(self) -> None:
        descs = ({"desc": "x y", "type": "v", "desc_id": 4}, {"desc": "z", "type": "t", "desc_id": 5})
        items = read("tvc", self.line(*descs))
        assert rows(items) == [(4, "a", 1.0, 2.0, "x y"), (5, "a", 1.0, 2.0, "z")]
        assert [item.kind for item in items if isinstance(item, DescriptionRecord)] == ["video", "subtitle"]
        assert read("tvc", self.line()) == [MomentRecord(1, "a", 1.0, 2.0)]

    def test_one_bad_caption_leaves_the_others(self) -> None:
        good = {"desc": "x", "type": "v", "desc_id": 4}
        items = read("tvc", self.line(good, {"desc": "y", "type": "v", "desc_id": 4}, {"desc": "z", "type": "q"}, 3))
        assert bad(items) == [
            "line 1, caption 2: desc_id 4 was used by an earlier line",
            "line 1, caption 3: type is not one of v, t, vt",
            "line 1, caption 4: a caption is not an object with desc",
        ]

    def test_numbers_are_all_there_or_none(self) -> None:
        items = read("tvc", self.line({"desc": "x"}), self.line({"desc": "y", "desc_id": 3}))
        assert bad(items) == ["line 2: desc_id stands here but not before"]


class TestOwnForm:
    HEADER = "video,start,end,description"

    def test_csv_and_jsonl(self) -> None:
        lines = ('a,1,2.5,"She says, ""no"".",9,both,unused', "b,0,1,Two words,4,,")
        items = read("csv", f"{self.HEADER},id,kind,note", *lines)
        assert rows(items) == [(9, "a", 1.0, 2.5, 'She says, "no".'), (4, "b", 0.0, 1.0, "Two words")]
        assert [item.kind for item in items if isinstance(item, DescriptionRecord)] == ["both", "video"]
        line = {"video": "a", "start": 1, "end": 2, "description": "x y"}
        assert rows(read("jsonl", json.dumps(line))) == [(None, "a", 1.0, 2.0, "x y")]

    def test_lengths_may_stand_in_a_column(self) -> None:
        items = read("csv", f"{self.HEADER},duration", "n,1,2,x y,10", "n,2,3,y z,", "m,2,3,z,", options=Given())
        assert items[0] == VideoRecord("n", 10.0)
        assert len(rows(items)) == 2
        assert bad(items) == [f"line 4: the length of video 'm' is not known; {UPLOAD}, {LENGTHS}"]

    def test_lengths_that_the_corpus_knows_are_not_needed_again(self) -> None:
        options = Given({"t": (9.0, 1)}, corpus_videos={"c": (20.0, 0)})
        items = read("csv", self.HEADER, " c ,1,20.5,x y", "t,2,3,y z", "u,1,2,z", options=options)
        assert rows(items) == [(None, "c", 1.0, 20.0, "x y"), (None, "t", 2.0, 3.0, "y z")]
        assert bad(items) == [f"line 4: unknown video 'u'; {UPLOAD}"]
        lines = ("c,1,2,x y,5", "c,19,20,y z,")  # what the file says of it is not used
        assert rows(read("csv", f"{self.HEADER},duration", *lines, options=options))[1][3] == 20.0
        text = by_video(c={"timestamps": [[1, 2]], "sentences": ["One."]})
        assert len(rows(read("charades-sta", text, options=options))) == 1
        assert len(rows(read("charades-sta", "c 1 2##One.", options=options))) == 1

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ("a,1,2", "3 columns, but the header has 4"),
            ("a,x,2,y", "start is not a number"),
            ("a,nan,2,y", "start is not a number"),
            ("a,-1,2,y", "before the video"),
            ("a,,2,y", "start is not a number"),
            ("a,1,2,", "description is empty"),
            ("z,1,2,y", "unknown video 'z'"),
            ('a,1,2,"y', "a quote is not closed"),
            (f"a,1,2,{'y' * 1_100_000}", "longer than"),
        ],
    )
    def test_a_bad_row_costs_itself_alone(self, row: str, reason: str) -> None:
        items = read("csv", self.HEADER, row, "a,1,2,Kept")
        (message,) = bad(items)
        assert message.startswith("line 2: ") and reason in message
        assert [values[4] for values in rows(items)] == ["Kept"]

    @pytest.mark.parametrize("header", ["video,start,end", "video,start,end,description,video", '"video'])
    def test_without_a_header_nothing_is_read(self, header: str) -> None:
        items = read("csv", header, "a,1,2,x")
        assert len(bad(items)) == len(items) == 1


class TestSubtitles:
    def test_tvqa(self) -> None:
        subs = [{"text": "Hi .", "start": 1, "end": 2}, {"text": "", "start": 2, "end": 3}, 4]
        lines = [
            json.dumps({"vid_name": name, "sub": subs[:1] if name == "b" else subs}) for name in ("a", "b", "z", "a")
        ]
        items = read("tvqa-subtitles", *lines)
        assert [item for item in items if isinstance(item, SubtitleRecord)] == [
            SubtitleRecord(1, "a", 1.0, 2.0, item="'a' #1", text="Hi ."),
            SubtitleRecord(2, "b", 1.0, 2.0, item="'b' #1", text="Hi ."),
        ]
        assert bad(items) == [
            "line 1, 'a' #2: text is empty",
            "line 1, 'a' #3: not an object",
            f"line 3: unknown video 'z'; {UPLOAD}",
            "line 4: video 'a' is listed twice; 3 subtitles are left out",
        ]

    def test_srt(self) -> None:
        text = (
            "1\n00:00:01,500 --> 00:00:02,750\n<i>Good</i> morning,\nRoss.\n\n\n"
            "00:00:03.5 --> 00:00:04.25\nNo counter.\n\n3\nno times\nx\n\n4\n00:00:05,000 --> 00:00:04,000\nBack.\n\n"
            "5\n02:00:01,000 --> 02:00:02,500\nLate.\n\n6\n02:29:59,000 --> 02:30:00,400\nAt the end.\n"
        )
        items = read("srt", *text.split("\n"), options=Given({"a": (9000.0, 1)}, stem="a"))
        subtitles = [item for item in items if isinstance(item, SubtitleRecord)]
        assert [(item.start_s, item.end_s, item.text) for item in subtitles] == [
            (1.5, 2.75, "Good morning, Ross."),
            (3.5, 4.25, "No counter."),
            (7201.0, 7202.5, "Late."),
            (8999.0, 9000.0, "At the end."),
        ]
        assert bad(items) == [
            "line 10: no line of times: 00:00:01,000 --> 00:00:02,500",
            "line 14: time starts at 5 s, not before its end at 4 s",
        ]
        assert bad(read("srt", "1", options=Given({"a": (60.0, 1)}, stem="z"))) == [
            f"line 1: unknown video 'z'; {UPLOAD}"
        ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a", "v", [1, 2], "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "desc", "text"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = (
    "video vid vid_name duration start end ts timestamps sentences fps num_frames qid query relevant_windows"
    " descs desc desc_id description type id kind sub"
)
OBJECTS = st.dictionaries(st.sampled_from(NAMES.split()), VALUES, max_size=8)
TVR = {"vid_name": "a", "duration": 60.0, "ts": [1, 4.5], "desc": "She sits.", "type": "v", "desc_id": 12}
NEAR_MISSES = st.fixed_dictionaries({}, optional=dict.fromkeys(TVR, VALUES)).map(lambda changes: TVR | changes)
LINES = (
    st.text()
    | NEAR_MISSES.map(json.dumps)
    | OBJECTS.map(json.dumps)
    | OBJECTS.map(lambda value: json.dumps({"a": value, "n": value}))
)


@settings(max_examples=100)
@over(st.sampled_from(sorted(FORMATS)), st.lists(LINES, max_size=4), st.booleans(), st.booleans())
def test_no_text_raises_and_every_record_is_sound(form: str, lines: list[str], clip: bool, has_durations: bool) -> None:
    durations = TABLE.durations if has_durations or FORMATS[form].holds == "subtitles" else {}
    for item in read(form, *lines, options=Given(durations, clip=clip, stem="a")):
        if isinstance(item, DescriptionRecord | MomentRecord | SubtitleRecord):
            assert 0 <= item.start_s < item.end_s
            assert not durations or item.end_s <= durations[item.video_name][0]
