"""The plots of generators show labels, titles and ticks."""

import numpy as np

from mgraph import experiments


def drawn(file):
    """The text of an SVG file, which has each label as a comment before its glyphs."""
    return file.read_text()


def shown(text, *labels):
    return all(f"<!-- {label} -->" in text for label in labels)


def test_degree_distributions(tmp_path):
    file = tmp_path / "degrees.svg"
    degree = np.arange(0, 2000)
    histograms = dict.fromkeys(("copy", "ba", "cuppa"), (degree, 2000 - degree))
    experiments.plot_degree_distributions(histograms, file, title="three", alike=2)
    text = drawn(file)
    assert shown(text, "copy", "ba", "cuppa", "three", "degree k")
    assert text.count("#0072b2") > text.count("#d55e00") > 0  # two of one colour, then another


def test_curves(tmp_path):
    file = tmp_path / "curves.svg"
    curves = {"one": ([1, 2, 3, 4], [10, 20, 30, 40]), "other": ([1, 2, 3, 4], [0, 10, 0, 20])}
    experiments.plot_curves(curves, file, x="workers", y="speed", title="scaling", logarithmic="")
    text = drawn(file)
    assert shown(text, "one", "other", "workers", "speed", "scaling", "2", "3")
    assert not shown(text, "2.5")  # ticks of whole numbers are whole
    experiments.plot_curves(
        curves, file, x="d", y="s", dashed={"one": curves["one"]}, dashed_y="twice"
    )
    assert shown(drawn(file), "twice")
    experiments.plot_curves(curves, file, x="d", y="s", ideal={"linear": curves["one"]})
    text = drawn(file)
    assert shown(text, "linear")
    assert text.count("stroke-dasharray") == 1


def test_dots(tmp_path):
    file = tmp_path / "dots.svg"
    experiments.plot_dots(
        {"copy (one core)": 1.25, "ba": 250.0}, file, x="run time, s", title="all"
    )
    assert shown(drawn(file), "copy (one core)", "ba", "1.25", "250", "run time, s", "all")
