import pytest

from mgraph import UsageError
from mgraph.io.figure import new_figure, save_figure

BEGINS = {"a.png": b"\x89PNG", "new/b.svg": b"<?xml", "c.PDF": b"%PDF"}


@pytest.fixture
def figure():
    pytest.importorskip("matplotlib")
    figure, axes = new_figure()
    axes.plot([1, 2])
    return figure


@pytest.mark.parametrize("name", BEGINS)
def test_a_figure_s_suffix_decides_its_format(figure, tmp_path, name):
    save_figure(figure, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(BEGINS[name])


def test_a_figure_that_cannot_be_drawn_keeps_the_old_file(figure, tmp_path, monkeypatch):
    save_figure(figure, tmp_path / "a.png")
    before = (tmp_path / "a.png").read_bytes()

    def fail(stream, **options):
        stream.write(b"half")
        raise RuntimeError

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(RuntimeError):
        save_figure(figure, tmp_path / "a.png")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_other_suffixes_are_refused(figure, tmp_path):
    with pytest.raises(UsageError, match="name must end in"):
        save_figure(figure, tmp_path / "a.doc")
