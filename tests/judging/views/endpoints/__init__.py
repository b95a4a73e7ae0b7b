"""Every route and for whom it is; ``test_endpoints`` requests each one and misses none.

A new route is a word of its area's table in ``routes``. What its URL names is an attribute of ``Site``.
"""

from tests.judging.views.endpoints.routes import ENDPOINTS, HOLDER_ENDPOINTS, OPEN, Endpoint
from tests.judging.views.endpoints.site import Site, zipped

__all__ = ["ENDPOINTS", "HOLDER_ENDPOINTS", "OPEN", "Endpoint", "Site", "zipped"]
