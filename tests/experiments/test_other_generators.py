"""Other libraries' generators are timed if they are installed, and named if they are not."""

import sys
import types

import pytest

from mgraph import UsageError, experiments


def test_what_is_called(monkeypatch):
    calls = []

    class Generator:
        def __init__(self, *arguments):
            calls.append(("networkit", *arguments))

        def generate(self):
            pass

    kagen = types.SimpleNamespace(
        generate_ba=lambda n, d, **options: calls.append(("ba", n, d, options["seed"])),
        generate_kronecker=lambda n, m, **options: calls.append(("kronecker", n, m)),
    )
    networkit = types.SimpleNamespace(
        setSeed=lambda seed, by_thread: None,
        generators=types.SimpleNamespace(BarabasiAlbertGenerator=Generator),
    )
    monkeypatch.setitem(sys.modules, "kagen", kagen)
    monkeypatch.setitem(sys.modules, "networkit", networkit)
    for name in experiments.OTHER_GENERATORS:
        seconds = experiments.other_generator_seconds(name, 1000, 4, repeats=2)
        assert len(seconds) == 2
        assert min(seconds) >= 0
    assert calls == [
        ("ba", 100, 4, 1), ("ba", 1000, 4, 1), ("ba", 1000, 4, 2),
        ("kronecker", 128, 400), ("kronecker", 1024, 4000), ("kronecker", 1024, 4000),
        ("networkit", 4, 100, 4, True), *[("networkit", 4, 1000, 4, True)] * 2,
    ]  # fmt: skip


@pytest.mark.parametrize("name", experiments.OTHER_GENERATORS)
def test_what_is_not_installed(name, monkeypatch):
    module = name.partition("_")[0]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=f"{module} is not installed; run `pip install {module}`"):
        experiments.other_generator_seconds(name, 1000, 4)
