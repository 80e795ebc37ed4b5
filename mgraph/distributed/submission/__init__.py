"""Workflows that run on a cluster without the client: submit, watch, cancel, resume."""
