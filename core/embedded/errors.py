"""What can go wrong around the embedded services; every message tells a person what to do."""


class EmbeddedError(Exception):
    """The root of these errors; its text is shown to a person as it is, without a traceback."""


class FolderUnusable(EmbeddedError):
    """A data folder cannot be made, written or trusted."""


class PostgresFailed(EmbeddedError):
    """PostgreSQL could not be made, started or stopped."""


class AlreadyRunning(EmbeddedError):
    """Another supervisor runs on the same data folder."""


class PortUnusable(EmbeddedError):
    """The web server's port is taken, not allowed or not a port."""


class ServiceFailed(EmbeddedError):
    """A step of the start failed, or a service ended again and again."""
