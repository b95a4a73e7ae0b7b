"""Where the published files lie, which no copy of the repository holds."""

import pytest
from django.conf import settings

DATA = settings.MOMENTJUDGE_SHARED / "data"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published files are not at {DATA}")
