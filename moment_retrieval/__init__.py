"""Video moment retrieval: file formats, metrics, statistics, features, models, training and search, without Django."""

__version__ = "0.1.0"
