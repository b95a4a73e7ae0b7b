"""The script of the demo corpus: the same from the same seed, varied, and well inside its bounds."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from annotation.demo import Episode, ScriptedMoment, SubtitleLine, true_relevance, write_script
from annotation.demo.catalogue import SHOWS

SEED = 7


@pytest.fixture(scope="module")
def corpus() -> list[Episode]:
    return write_script(seed=SEED, videos=40)


@pytest.fixture(scope="module")
def moments(corpus: list[Episode]) -> list[ScriptedMoment]:
    return [moment for episode in corpus for moment in episode.moments]


def test_the_same_seed_writes_the_same_script_of_which_a_small_one_is_the_beginning(corpus: list[Episode]) -> None:
    assert write_script(seed=SEED, videos=6) == write_script(seed=SEED, videos=6) == corpus[:6]
    assert write_script(seed=3, videos=4) != write_script(seed=4, videos=4)


def test_moments_and_subtitles_lie_inside_their_episode(corpus: list[Episode]) -> None:
    for episode in corpus:
        assert 40 <= episode.duration_s <= 90
        assert 4 <= len(episode.moments) <= 6
        parts: list[ScriptedMoment | SubtitleLine] = [*episode.moments, *episode.subtitles]
        for part in parts:
            assert 0 <= part.start_s < part.end_s <= episode.duration_s
            assert part.start_s == round(part.start_s, 2)
            assert part.end_s == round(part.end_s, 2)
        for moment in episode.moments:
            if moment.kind != "video":
                assert " that " in moment.caption
                assert any(line.start_s < moment.end_s and line.end_s > moment.start_s for line in episode.subtitles)
        ends = [beat.end_s for beat in episode.beats]
        assert [beat.start_s for beat in episode.beats] == [0.0, *ends[:-1]]
        assert ends[-1] == pytest.approx(episode.duration_s, abs=0.01)


def test_descriptions_name_people_and_captions_do_not(moments: list[ScriptedMoment]) -> None:
    names = {person.name for show in SHOWS for person in show.cast}
    for moment in moments:
        assert moment.event.actor in moment.description
        assert not names & set(re.findall(r"\w+", moment.caption))
        assert moment.caption.startswith(("A man ", "A woman "))
        assert moment.caption.endswith(".")
    captions = [m.caption for m in moments if m.event.partner_gender == m.event.gender == "man"]
    assert captions
    assert all("another man" in caption for caption in captions)


def test_every_video_query_finds_moments_of_many_grades(moments: list[ScriptedMoment]) -> None:
    for query in moments:
        if query.kind != "video":
            continue
        grades = Counter(true_relevance(query, moment) for moment in moments)
        assert set(grades) <= {0, 1, 2, 3, 4}
        assert grades[3] + grades[4] >= 3, query.caption
        assert len(moments) - grades[0] >= 8, query.caption
        assert grades[0] > len(moments) / 2, query.caption
