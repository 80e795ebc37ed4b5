"""Clusters: connect to one, start one for a command or in the background, make certificates."""
