"""Every route and for whom it is; ``test_doors`` knocks at each one and misses none.

A new route is a line of its area's list in ``routes``. What its URL names is an attribute of ``World``.
"""

from tests.judging.views.doors.routes import ENDPOINTS, HELD, OPEN, Door
from tests.judging.views.doors.world import World, zipped

__all__ = ["ENDPOINTS", "HELD", "OPEN", "Door", "World", "zipped"]
