"""MomentJudge as it runs in production, on loopback addresses: Debian's servers, and two of each host.

The object storage alone is a double: moto's server, with a folder behind it so that kill -9 loses no object.
"""

from tests.production.topology.person import Person
from tests.production.topology.server import Server, ServerFailed
from tests.production.topology.site import Site, missing_programs

__all__ = ["Person", "Server", "ServerFailed", "Site", "missing_programs"]
