"""Plots of traces say what an iteration's numbers count, on a CPU and on a GPU."""

import re

import numpy as np
import pytest

import mgraph
from mgraph import experiments
from mgraph.shortest_paths import near_far_gpu, self_tuning_cpu


@pytest.fixture(scope="module")
def traces():
    edges = mgraph.EdgeList(np.arange(60), np.arange(1, 61), np.full(60, 2))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    return {
        delta: mgraph.sssp(graph, 0, delta=delta, trace=True, backend="cpu").trace
        for delta in (2.0, 20.0)
    }


def drawn(file):
    """The texts of a drawing, which matplotlib keeps as comments."""
    return " ".join(re.findall(r"<!-- (.*?) -->", file.read_text(), flags=re.S)).split()


@pytest.mark.parametrize("has_waves", [False, True])
def test_labels_tell_of_waves(has_waves, traces, tmp_path):
    traces = {delta: trace.copy() for delta, trace in traces.items()}
    for trace in traces.values():
        trace["is_wave"][1] = has_waves
    file = tmp_path / "a.svg"
    named = {str(delta): trace for delta, trace in traces.items()}
    arcs, vertices = "arcs per iteration", "vertices per iteration"
    for draw, label in (
        (lambda: experiments.plot_profile(traces[2.0], file), arcs),
        (lambda: experiments.plot_distributions(named, file, set_points=[3]), arcs),
        (
            lambda: experiments.plot_parallelism_against_delta({"g": traces}, file),
            f"mean of {arcs}",
        ),
        (lambda: experiments.plot_frontier_against_delta(traces, file), vertices),
    ):
        draw()
        text = " ".join(drawn(file))
        assert label in text
        assert (f"{label} (waves: of all their hops)" in text) == has_waves
        assert "X2" not in text


def test_what_is_said_of_the_other_backend_holds():
    hops = f"up to {near_far_gpu.HOPS[1]} hops"
    for module in (self_tuning_cpu, mgraph.sssp):
        text = " ".join((module.__doc__ or "").split())
        assert hops in text
        assert "same controller" not in text
