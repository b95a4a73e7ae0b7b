"""PostgreSQL hangs (SIGSTOP): nothing is refused and nothing is answered, as when its disk stands still."""

import time

from tests.production.faults.crowd import Crowd
from tests.production.topology import Site

HANG_S = 10


def test_people_wait_and_every_grade_is_saved_once(site: Site) -> None:
    with Crowd(site) as crowd:
        crowd.await_grades(5)
        site.postgres.pause()
        try:
            time.sleep(HANG_S)
        finally:
            site.postgres.resume()
        crowd.await_grades(5)
        crowd.await_done()
    crowd.check()
