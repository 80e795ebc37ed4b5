"""Every kernel compiles without a GPU, and the check notices one that does not."""

import dataclasses
import importlib.util

import pytest

from mgraph.cuda import check
from mgraph.cuda.source import include_digest

needs_nvrtc = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None, reason="needs NVRTC: the extra check"
)


def test_it_finds_the_sources_without_cupy():
    found = list(check.sources())
    assert any(source.file == "cuppa_hash.cu" for source in found)
    assert all(source.text({"A": "1"}).startswith("#define A 1\n") for source in found)


def test_the_digest_keys_the_cache():
    (source, *_) = check.sources()
    assert include_digest() in "".join(source.options())


@needs_nvrtc
def test_a_variant_compiles():
    (source, *_) = check.sources()
    assert check.compile_source(source, dict(source.check[0]), "sm_90") > 1000


@needs_nvrtc
def test_a_broken_kernel_is_a_failure(monkeypatch, capsys):
    source = next(source for source in check.sources() if source.file == "cuppa_hash.cu")
    broken = dataclasses.replace(source, check=((("MGRAPH_D", "oops"),),))
    monkeypatch.setattr(check, "sources", lambda: iter([broken]))
    assert check.main(["--arch", "sm_90"]) == 1
    assert "FAILED sm_90 cuppa_hash.cu MGRAPH_D=oops" in capsys.readouterr().err
