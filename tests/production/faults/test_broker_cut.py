"""The broker is cut off: it hangs (SIGSTOP), so nothing is refused and nothing is answered.

That no page waits for it at all, and how long it is left alone, is tests/core/test_messages.py's.
"""

from tests.production.faults.crowd import Crowd
from tests.production.topology import Site
from tests.production.topology.site import eventually


def test_people_judge_on_and_everything_settles_afterwards(site: Site) -> None:
    with Crowd(site, batches=16) as crowd:
        crowd.await_grades(10)
        site.redis.pause()
        try:
            eventually(lambda: all("the broker is away" in web.log_output() for web in site.web))
            crowd.await_grades(10)
        finally:
            site.redis.resume()
        crowd.await_done()
    assert not crowd.troubles, crowd.troubles
    crowd.check()
