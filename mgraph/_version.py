"""The version of this project: it stands here alone."""

__version__ = "0.1.0"
