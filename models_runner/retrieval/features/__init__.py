"""Features of clips, subtitles and queries: files of them in the published layouts, read, written, checked and made."""

from models_runner.retrieval.features.checks import Finding, Trouble, check
from models_runner.retrieval.features.stores import LMDB_FILE, FeatureStore, open_features
from models_runner.retrieval.features.writer import FeatureWriter

__all__ = ["LMDB_FILE", "FeatureStore", "FeatureWriter", "Finding", "Trouble", "check", "open_features"]
