"""The version of this project: it stands here alone."""

__version__ = "0.2.0"
