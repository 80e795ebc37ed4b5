"""Figures: their files, the axes that plots draw on, and the style."""

import itertools

import numpy as np
import pytest

from mgraph import UsageError, experiments
from mgraph.io.figure import drawing, label_curves, save_figure, widen_flat

BEGINS = {"a.png": b"\x89PNG", "new/b.svg": b"<?xml", "c.PDF": b"%PDF"}


@pytest.fixture
def figure():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([1, 2])
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


def test_the_callers_axes_are_drawn_on(figure, tmp_path):
    (axes,) = figure.axes
    with drawing(ax=axes) as drawn:
        assert drawn is axes
    panes = list(type(figure)().subplots(1, 2))
    with drawing(tmp_path / "a.svg", panes, columns=2) as (left, right):
        assert [left, right] == panes
    assert (tmp_path / "a.svg").exists()
    wrong = pytest.raises(UsageError, match=r"`ax` must be 2 axes of matplotlib \(got 1\)")
    with wrong, drawing(ax=axes, columns=2):
        pass


def test_without_a_file_a_notebook_shows_the_figure():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    with drawing() as axes:
        axes.plot([1, 2])
    assert pyplot.get_fignums() == [axes.figure.number]
    pyplot.close("all")


def test_a_notebook_shows_each_figure():
    """Inline, where drawing the first one sets how the others are shown."""
    nbformat, nbclient = map(pytest.importorskip, ("nbformat", "nbclient"))
    pytest.importorskip("ipykernel")
    plot = "with drawing() as axes: axes.plot([1, 2])"
    sources = ["from mgraph.io.figure import drawing", plot, plot, "import matplotlib.pyplot as p"]
    sources += ["p.plot([1, 2]);"]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    nbclient.NotebookClient(notebook).execute()
    shown = [
        ["image/png" in each.get("data", {}) for each in cell.outputs] for cell in notebook.cells
    ]
    assert shown == [[], [True], [True], [], [True]]


def test_the_same_drawing_is_the_same_file(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        with drawing(tmp_path / name) as axes:
            axes.plot([1, 3, 2])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_themes(tmp_path):
    colors = pytest.importorskip("matplotlib.colors")
    brightness = {}
    for theme in ("light", "dark"):
        with experiments.plot_theme(theme), drawing(tmp_path / "a.png") as axes:
            line = axes.plot([1, 2])[0]
            paper, ink = axes.get_facecolor(), axes.xaxis.label.get_color()
            brightness[theme] = [np.mean(colors.to_rgb(each)) for each in (paper, ink)]
            assert contrast(line.get_color(), paper) > 3
            assert contrast(ink, paper) > 7
    assert brightness["light"][0] > 0.9 > 0.3 > brightness["dark"][0]
    wrong = pytest.raises(UsageError, match="`theme` must be light or dark")
    with wrong, experiments.plot_theme("blue"):
        pass


def contrast(first, second):
    """The ratio of two colours' luminances, by the Web Content Accessibility Guidelines."""
    from matplotlib.colors import to_rgb

    def luminance(color):
        parts = np.array(to_rgb(color))
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_labels_at_the_ends_of_curves_do_not_meet():
    pytest.importorskip("matplotlib")
    with drawing() as axes:
        for index, label in enumerate("abcd"):
            axes.plot([1, 2], [1, 5 + index / 1000], label=label)
        axes.plot([1, 2], [1, 2])  # without a label
        label_curves(axes)
        offsets = sorted(text.get_position()[1] for text in axes.texts)
    assert [text.get_text() for text in axes.texts] == list("abcd")
    assert all(after - before > 8 for before, after in itertools.pairwise(offsets))


def test_a_flat_curve_is_not_magnified():
    pytest.importorskip("matplotlib")
    with drawing() as axes:
        axes.plot([1, 2], [10_614.5, 10_615.2])
        axes.set_yscale("log")
        widen_flat(axes)
        low, high = axes.get_ylim()
    assert high / low > 3
