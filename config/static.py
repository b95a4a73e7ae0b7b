"""How static files are stored: by the hash of their content, and compressed once."""

from typing import Any

from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Gzip alone: Brotli takes a minute for the API's pages, and is there only where a package for tests brings it."""

    def create_compressor(self, **kwargs: Any) -> Compressor:
        return Compressor(**kwargs, use_brotli=False)
