"""Single-source shortest paths: a front door, and one stem an algorithm."""
