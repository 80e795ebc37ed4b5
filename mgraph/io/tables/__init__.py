"""Edge tables of other programs: text and Arrow files with a row per edge, and any ids.

A table becomes record batches of one schema, ``src, dst[, weight][, attributes …]``, whatever the
file is; ids are whole numbers or strings. Data flow:

1. ``column_names``: which columns hold the endpoints and the weight.
2. ``text_layout``, ``text_rows``: the delimiter, header and types of a text file, and its rows.
3. ``arrow_files``: the rows of Parquet and Arrow files.
4. ``id_columns``: the types of ids, and their order, which numbers the vertices.
5. ``table_files``: the files that a location names, and the chunks that they are read by.
"""
