"""The manifest is complete and checked, and the messages say what is wrong."""

import json

import pytest

from mgraph import DatasetError
from mgraph.io import manifest as manifests
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord

PARTS = (
    PartRecord("part-00000.parquet", 6, 0, 4, (1 << 64) - 1, 100),
    PartRecord("part-00001.parquet", 8, 4, 6, 3, 100),
)
MANIFEST = Manifest({"n": 6, "d": 4}, 6, 14, "int32", "lz4", PARTS, "mgraph test")


def test_a_manifest_survives_a_round_trip(tmp_path):
    MANIFEST.write(Folder(tmp_path))
    assert manifests.read(Folder(tmp_path)) == MANIFEST
    assert MANIFEST.checksum == 2
    assert MANIFEST.bytes == 200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(format="else"), "holds 'else'"),
        (lambda m: m.update(version=99), "newer mgraph"),
        (lambda m: m.update(m=15), "do not add up"),
        (lambda m: m["parts"][0].update(checksum="00"), "do not add up"),
        (lambda m: m.pop("parts"), "damaged"),
        (lambda m: m.update(version="2.0"), "newer mgraph"),
        (lambda m: m.pop("version"), "newer mgraph"),
    ],
)
def test_an_edited_manifest_is_refused(tmp_path, change, words):
    content = MANIFEST.to_json()
    change(content)
    (tmp_path / manifests.NAME).write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=words):
        manifests.read(Folder(tmp_path))


def test_a_truncated_manifest_is_refused(tmp_path):
    (tmp_path / manifests.NAME).write_text(json.dumps(MANIFEST.to_json())[:50])
    with pytest.raises(DatasetError, match="damaged"):
        manifests.read(Folder(tmp_path))


def test_the_message_for_a_missing_dataset(tmp_path):
    with pytest.raises(DatasetError, match="does not exist"):
        manifests.read(Folder(tmp_path / "none"))
    with pytest.raises(DatasetError, match="no _manifest"):
        manifests.read(Folder(tmp_path))
