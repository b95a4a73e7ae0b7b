"""Features of clips, subtitles and queries: files of them in the published layouts, read, written, checked and made."""

from moment_retrieval.features.checks import Trouble, check, inspect
from moment_retrieval.features.files import FeatureWriter, check_format, open_features
from moment_retrieval.features.stores import LMDB_FILE, FeatureStore

__all__ = ["LMDB_FILE", "FeatureStore", "FeatureWriter", "Trouble", "check", "check_format", "inspect", "open_features"]
