"""Every kernel compiles without a GPU, and the check notices one that does not."""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from mgraph.cuda import check, machine_code
from mgraph.cuda.source import headers

needs_nvrtc = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None, reason="needs NVRTC: the extra check"
)


def test_it_finds_the_sources_without_cupy():
    found = list(check.sources())
    assert any(source.file == "cuppa_hash.cu" for source in found)
    assert all(source.text({"A": "1"}).startswith("#define A 1\n") for source in found)


def test_an_edited_header_recompiles_only_what_includes_it(monkeypatch):
    """CuPy's cache keys on options and source, so a digest of the headers is among the options."""
    found = list(check.sources())
    before = {source: source.options() for source in found}
    read = Path.read_text
    assert len(set(before.values())) > len(found) // 2

    def edited(path, *arguments, **more):
        text = read(path, *arguments, **more)
        return text + "// edited" if path.name == "near_far_state.cuh" else text

    def bytes_of(path):
        return edited(path).encode()

    monkeypatch.setattr(Path, "read_text", edited)
    monkeypatch.setattr(Path, "read_bytes", bytes_of)
    changed = {source.file for source in found if source.options() != before[source]}
    assert changed == {"near_far.cu"}


def test_headers_lie_beside_their_users():
    """A header that one problem alone uses is in its folder; the others are in cuda/include."""
    users = {}
    for source in check.sources():
        for name in headers(source.text({}), source.folder):
            users.setdefault(name, set()).add(source.folder)
    published = {name for name in users if "heap" in name or name == "mgraph/sorted_items.cuh"}
    for name, folders in users.items():
        assert len(folders) == 1 or name.startswith("mgraph/"), name
        assert len(folders) > 1 or not name.startswith("mgraph/") or name in published, name


@needs_nvrtc
def test_a_variant_compiles():
    (source, *_) = check.sources()
    for quick in (False, True):
        code = machine_code.compile_source(source, dict(source.check[0]), "sm_90", quick=quick)
        assert code.startswith(b"\x7fELF")


@needs_nvrtc
def test_machine_code_for_a_wheel_is_found(monkeypatch, tmp_path, capsys):
    source = next(source for source in check.sources() if source.file == "edge_weights.cu")
    monkeypatch.setattr(check, "sources", lambda: iter([source]))
    monkeypatch.setattr(machine_code, "PACKAGED", tmp_path / "cubin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    old = machine_code.write(machine_code.PACKAGED, "sm_90", "of-an-older-version.cubin", b"")
    assert check.main(["--write", "--arch", "sm_80", "sm_90"]) == 0
    assert not old.exists()
    for variant in source.check:
        for capability, arch in (("80", "sm_80"), ("86", "sm_80"), ("90", "sm_90")):
            path = machine_code.find(source, dict(variant), capability)
            assert path.parent.name == arch
            assert path.read_bytes().startswith(b"\x7fELF")
        assert machine_code.find(source, dict(variant), "100") is None
    with pytest.raises(SystemExit):
        check.main(["--write", "--quick"])


@needs_nvrtc
def test_which_devices_nvrtc_compiles_for():
    assert machine_code.can_compile()
    assert machine_code.can_compile("90")
    assert not machine_code.can_compile("999")


@needs_nvrtc
def test_a_broken_kernel_is_a_failure(monkeypatch, capsys):
    source = next(source for source in check.sources() if source.file == "cuppa_hash.cu")
    broken = dataclasses.replace(source, check=((("MGRAPH_D", "oops"),),))
    monkeypatch.setattr(check, "sources", lambda: iter([broken]))
    assert check.main(["--arch", "sm_90"]) == 1
    assert "FAILED sm_90 cuppa_hash.cu MGRAPH_D=oops" in capsys.readouterr().err
