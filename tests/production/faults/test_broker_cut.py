"""The broker is cut off for a minute: it hangs (SIGSTOP), so nothing is refused and nothing is answered.

That no page waits for it at all is tests/core/test_messages.py's.
"""

import time

from tests.production.faults.crowd import Crowd
from tests.production.topology import Site

CUT_S = 60
PACE_S = 1.5  # of five people: work enough for the whole minute


def test_people_judge_on_and_everything_settles_afterwards(site: Site) -> None:
    with Crowd(site, batches=24, pace_s=PACE_S) as crowd:
        crowd.await_grades(10)
        began = time.monotonic()
        site.redis.pause()
        try:
            while (left := CUT_S - (time.monotonic() - began)) > 0:
                crowd.await_grades(1)  # the broker answers nothing before this loop has ended
                time.sleep(min(1.0, left))
        finally:
            site.redis.resume()
        for browser in crowd.browsers:
            browser.pace_s = 0.1
        crowd.await_done()
    assert not crowd.troubles, crowd.troubles
    crowd.check()
