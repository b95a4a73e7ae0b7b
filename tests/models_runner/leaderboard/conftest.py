"""A leaderboard with runs on it."""

from copy import deepcopy

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from judging.models import Release
from tests.conftest import hash_with
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, participant, ready_release, run_json

TEST_ROWS = [["beta", 3.0, 30.0, 1.0], ["alpha", 1.0, 2.5, 0.5]]


class Board:
    """Two participants' runs on both splits of one release."""

    def __init__(self) -> None:
        self.hand_made = HandMade()
        self.release: Release = ready_release(self.hand_made.project)
        self.one, self.two = participant(self.hand_made.project), participant(self.hand_made.project)
        self.run = bring(self.one, self.release, run_json({10: GOOD, 11: GOOD}))
        self.other = bring(self.two, self.release, run_json({10: WRONG}), system="theirs")
        self.hidden = bring(self.one, self.release, run_json({20: TEST_ROWS}), split="test")
        self.hidden_other = bring(self.two, self.release, run_json({20: GOOD}), system="theirs", split="test")

    def browser(self, member: Membership) -> Client:
        client = Client()
        client.force_login(member.user)
        return client

    def url(self, name: str, *more: str) -> str:
        return reverse(f"models_runner:{name}", args=[self.hand_made.project.uuid, *more])


@pytest.fixture(scope="module")
def board_once(module_database: None) -> Board:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return Board()


@pytest.fixture
def board(db: None, board_once: Board) -> Board:
    return deepcopy(board_once)
