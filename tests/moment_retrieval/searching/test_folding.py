"""Moments of one video that overlap stand as one answer."""

from moment_retrieval.answers import Hit, folded


class TestFolding:
    def test_the_better_of_two_that_overlap_by_half_stands_for_both(self) -> None:
        hits = [
            Hit("alpha", 0, 4, 3.0, 0, 1),
            Hit("alpha", 0, 8, 2.0, 0, 2),  # 4 of 8 s
            Hit("alpha", 3, 8, 1.0, 1, 2),  # 1 of 8 s
            Hit("beta", 0, 4, 0.5, 0, 1),
        ]
        result = folded(hits)
        assert [(hit.video, hit.start_s, hit.folded) for hit in result] == [
            ("alpha", 0, 1),
            ("alpha", 3, 0),
            ("beta", 0, 0),
        ]
