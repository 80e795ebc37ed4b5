"""The parser of addresses: the meaning of each form, and the messages for invalid ones."""

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import DatasetError, UsageError, compilation
from mgraph.io import address
from mgraph.io.address import parse
from mgraph.io.folder import Folder

HERE = os.getcwd()
LOCAL = {
    "g": f"{HERE}/g",
    "./g": f"{HERE}/g",
    "a/../g": f"{HERE}/g",
    "g/": f"{HERE}/g",
    "g//": f"{HERE}/g",
    "/W/g///": "/W/g",
    "/": "/",
    ".": HERE,
    "//W/g": "/W/g",
    " g": f"{HERE}/ g",
    "g h": f"{HERE}/g h",
    "ü/日本": f"{HERE}/ü/日本",
    "100%": f"{HERE}/100%",
    "g%20h": f"{HERE}/g%20h",
    "a:b": f"{HERE}/a:b",
    "./s3:/b": f"{HERE}/s3:/b",
    "./s3://b/k": f"{HERE}/s3:/b/k",
    r"./C:\g": rf"{HERE}/C:\g",
    "x/gs://b": f"{HERE}/x/gs:/b",
    "~x/g": f"{HERE}/~x/g",
    "g[1]": f"{HERE}/g[1]",
    "what?": f"{HERE}/what?",
    "file:///W/g": "/W/g",
    "file:///W/g/": "/W/g",
    "FILE:///W/g": "/W/g",
    "File://localhost/W/g": "/W/g",
    "file://LOCALHOST/W/g": "/W/g",
    "file:/W/g": "/W/g",
    "file:///": "/",
    "file:///W/g%20h": "/W/g h",
    "file:///W/g h": "/W/g h",
    "file:///W/%C3%BC": "/W/ü",
    "file:///W/ü": "/W/ü",
    "file:///W/a%25b": "/W/a%b",
    "file:///W/100%": "/W/100%",
    "file:///W/a%2Fb": "/W/a/b",
    "file:///W/a+b": "/W/a+b",
    "file:///W/a?b#c": "/W/a?b#c",
    "file:///W/../g": "/g",
    "file:////W/g": "/W/g",
    " file:///W/g\n": "/W/g",
}
STORES = {  # what the address becomes, and bucket/key
    "s3://b": ("s3://b", "b"),
    "s3://b/": ("s3://b", "b"),
    "s3://b/k": ("s3://b/k", "b/k"),
    "S3://b/k": ("s3://b/k", "b/k"),
    "s3://b/k/": ("s3://b/k", "b/k"),
    "s3://b/k//": ("s3://b/k", "b/k"),
    "s3://b/sp ace": ("s3://b/sp%20ace", "b/sp ace"),
    "s3://b/sp%20ace": ("s3://b/sp%20ace", "b/sp ace"),
    "s3://b/ü": ("s3://b/%C3%BC", "b/ü"),
    "s3://b/%c3%bc": ("s3://b/%c3%bc", "b/ü"),
    "s3://b/日本/g": ("s3://b/%E6%97%A5%E6%9C%AC/g", "b/日本/g"),
    "s3://b/100%": ("s3://b/100%25", "b/100%"),
    "s3://b/a%25b": ("s3://b/a%25b", "b/a%b"),
    "s3://b/a#b": ("s3://b/a%23b", "b/a#b"),
    "s3://b/a%3Fb": ("s3://b/a%3Fb", "b/a?b"),
    "s3://b/y=1/a+b,(c)": ("s3://b/y=1/a+b,(c)", "b/y=1/a+b,(c)"),
    "s3://b/C:/x": ("s3://b/C:/x", "b/C:/x"),
    "s3://my-bucket.x_y/k": ("s3://my-bucket.x_y/k", "my-bucket.x_y/k"),
    " s3://b/k ": ("s3://b/k", "b/k"),
    "s3://b/k?region=eu-west-1": ("s3://b/k?region=eu-west-1", "b/k"),
}
REFUSED = {
    "": "is empty",
    "  ": "is empty",
    "a\0b": "NUL",
    "s3://b/a%00b": "NUL",
    "file:///a%00b": "NUL",
    "caf\udce9": r"name 'caf\\xe9' is not UTF-8",
    "file:///caf%E9": r"'/caf\\xe9' is not UTF-8",
    "s3://b/caf%E9": r"'caf\\xe9' is not UTF-8",
    "s3://b/caf\udce9": r"is not UTF-8",
    "file://host/W/g": "names the host host",
    "file://g/h": "names the host g; give a path of this machine, as file:///g/h",
    "file://localhost:80/g": "names the host",
    "file://localhost": "has no path",
    "file://": "has no path",
    "file:g": "write file:///g",
    "gs://b/g": "gs:// is not supported",
    "gs://anonymous@b/g?scheme=http&endpoint_override=127.0.0.1:9": "gs:// is not supported",
    "GCS://b/g": "gcs:// is not supported",
    "abfs://c@a.dfs.core.windows.net/g": "abfs:// is not supported",
    "abfss://c/g": "abfss:// is not supported",
    "az://c/g": "az:// is not supported",
    "hdfs://h:8020/g": "hdfs:// is not supported",
    "viewfs:///g": "viewfs:// is not supported",
    "http://h/g": "http:// is not supported",
    "https://h/g": "https:// is not supported",
    "ftp://h/g": "ftp:// is not supported",
    "memory://g": "memory:// is not supported",
    "ü://g": "is not supported",
    "://g": "an empty scheme:// is not supported",
    "s3a://b/g": "write s3://b/g",
    "s3n://b/g": "write s3://b/g",
    "s3:/b/g": "write s3://b/g",
    "S3:/b/g": "write s3://b/g",
    "s3:b": "write s3://b",
    "s3://": "has no bucket",
    "s3:///g": "has no bucket",
    "s3://?region=x": "has no bucket",
    "s3://localhost:9000/b/g": "AWS_ENDPOINT_URL",
    "s3://bü/g": "not a bucket's name",
    "s3://b c/g": "not a bucket's name",
    "s3://b//g": "is empty",
    "s3://b/a//g": "is empty",
    "s3://b/../c": "is empty, '.' or '..'",
    "s3://b/./c": "is empty, '.' or '..'",
    "s3://b/%2E%2E/c": "is empty, '.' or '..'",
    "s3://b/what?x": "an option must be one of .* (got 'x'",
    "s3://b/k?allow_bucket_creation=perhaps": "must be true or false",
    "C:\\g": "Windows path",
    "C:/g": "Windows path",
    "z:\\": "Windows path",
    "\\\\host\\share": "Windows path",
}


@pytest.mark.parametrize("text", LOCAL, ids=repr)
def test_local_folders(text):
    found = parse(text)
    assert (found.is_local, found.text, found.path) == (True, LOCAL[text], LOCAL[text])
    assert parse(found.text) == found
    assert Folder(text).location == LOCAL[text]


@pytest.mark.parametrize("text", STORES, ids=repr)
def test_object_stores(text):
    found = parse(text)
    assert (found.is_local, found.text, found.path) == (False, *STORES[text])
    assert parse(found.text) == found
    assert Folder(text).location == found.text


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refused_addresses_and_their_messages(text):
    with pytest.raises(UsageError, match=REFUSED[text].replace("(", r"\(")) as error:
        parse(text)
    assert str(error.value).isprintable()
    for take in (Folder, mgraph.open_dataset, mgraph.read_graph):
        with pytest.raises(UsageError):
            take(text)


@pytest.mark.parametrize("thing", [None, 7, {"a"}, object()], ids=lambda x: type(x).__name__)
def test_values_that_are_neither_text_nor_paths_are_refused(thing):
    for take in (parse, Folder, mgraph.open_dataset, mgraph.read_graph):
        with pytest.raises(UsageError, match="must be a path or text"):
            take(thing)


@pytest.mark.parametrize("path", [Path("/W/g"), PurePosixPath("/W/g"), b"/W/g"])
def test_paths_and_bytes(path):
    assert parse(path).path == "/W/g"


def test_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert parse("~").path == "/home/ada"
    assert parse("~/g").path == "/home/ada/g"
    assert parse("./~").path == f"{HERE}/~"


def test_options_of_a_store():
    options = parse("s3://k:a%2Fb@b/g?scheme=http&allow_bucket_creation=True").options
    assert options == {
        "access_key": "k", "secret_key": "a/b", "scheme": "http", "allow_bucket_creation": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "parent"),
    [
        ("/W/a.parquet", "a.parquet", "/W"),
        ("/a", "a", "/"),
        ("s3://b/x y/a.parquet?region=r", "a.parquet", "s3://b/x%20y?region=r"),
        ("s3://b/a", "a", "s3://b"),
        ("s3://b", "b", "s3://b"),
    ],
)
def test_names_and_parents(text, name, parent):
    found = parse(text)
    assert (found.name, found.parent.text) == (name, parent)
    assert found.parent == parse(parent)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_key_survives_a_round_trip(key):
    from urllib.parse import quote

    parts = key.split("/")
    if not any(part in ("", ".", "..") for part in parts):
        found = parse("s3://b/" + quote(key))
        assert found.path == f"b/{key}"
        assert parse(found.text) == found
        assert parse("file:///" + quote(key)).path == os.path.abspath(f"/{key}")


def test_a_current_folder_that_was_removed(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="current folder, which has been removed"):
        parse("g")
    assert parse("/W/g").path == "/W/g"


def test_the_message_for_a_pattern_names_the_folder(tmp_path):
    mgraph.write_graph(
        mgraph.from_edges(mgraph.EdgeList([0], [1]), directed=False, backend="cpu"), tmp_path / "g"
    )
    for pattern in ("part-*.parquet", "part-0000?.parquet", "part-[0-9]*", "{a,b}.mtx"):
        with pytest.raises(DatasetError, match=rf"give the folder, {tmp_path}/g$"):
            mgraph.open_dataset(f"{tmp_path}/g/{pattern}")
    with pytest.raises(DatasetError, match="does not exist; mgraph generate"):
        mgraph.open_dataset(tmp_path / "none")


def test_a_file_uri_works_everywhere(tmp_path):
    graph = mgraph.from_edges(mgraph.EdgeList([0, 1], [1, 2]), directed=False, backend="cpu")
    folder = tmp_path / "g h"
    folder.mkdir()
    for name in ("a.mtx", "b.gr.gz", "d"):
        uri = f"file://localhost{str(folder).replace(' ', '%20')}/{name}"
        mgraph.write_graph(graph, uri)
        assert mgraph.read_graph(uri, backend="cpu").num_arcs == 4
        assert (folder / name).exists()
    part = f"file://{folder}/d/part-00000.parquet"
    assert mgraph.open_dataset(part).num_edges == 2
    assert mgraph.read_graph(part, backend="cpu").num_arcs == 2
    with pytest.raises(UsageError, match="must be on this machine"):
        mgraph.read_graph("s3://b/a.mtx", backend="cpu")
    with pytest.raises(UsageError, match="must be a file on this machine"):
        mgraph.write_graph(graph, "s3://b/a.mtx")


def test_messages_have_no_control_characters():
    assert "\n" not in str(address.missing_error(parse("/W/g")))


ARGUMENTS = [
    ["info", "NAME"], ["verify", "NAME"], ["degrees", "NAME"], ["convert", "NAME", "out"],
    ["convert", "in.mtx", "NAME"], ["generate", "NAME", "-n", "1000", "-d", "2"],
    ["sssp", "NAME", "--source", "0"], ["msf", "NAME"], ["steiner", "NAME", "--terminals", "0,1"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=" ".join)
def test_a_name_that_is_not_utf_8_ends_a_command_in_one_sentence(tmp_path, arguments):
    command = [os.fsencode(word) if word != "NAME" else b"caf\xe9" for word in arguments]
    done = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"mgraph.cli.main", *command],
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("mgraph: The name 'caf\\xe9' is not UTF-8")
    assert [line for line in said.splitlines() if compilation.NOTICE not in line] == [
        said.splitlines()[0]
    ]
    assert not os.listdir(tmp_path)


def test_the_message_names_a_c_locale():
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", "info", "ü".encode()],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "LC_ALL=C.UTF-8" in done.stderr


@pytest.mark.parametrize("key", ["a%2Fg.parquet", "a%2fg.parquet", "a/g.parquet", "%2Fa/g.parquet"])
def test_an_encoded_slash_is_a_slash(key):
    if key.startswith("%2F"):
        with pytest.raises(UsageError, match="a part of its key is empty"):
            parse(f"s3://b/{key}")
        return
    address = parse(f"s3://b/{key}?region=x")
    assert (address.path, address.parent.path) == ("b/a/g.parquet", "b/a")
    assert address.parent.text == "s3://b/a?region=x"
    assert parse(address.parent.text) == address.parent
