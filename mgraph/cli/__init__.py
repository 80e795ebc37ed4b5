"""The ``mgraph`` command: one small module a verb group, each loaded when its verb is used."""
