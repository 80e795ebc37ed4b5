"""Every command that a page of figures names runs, tiny."""

import os
import runpy
import shlex
import shutil
import subprocess
import sys

import dask
import pytest

import mgraph
from mgraph import experiments
from mgraph.cli.main import main
from tests.benchmarks import commands
from tests.benchmarks.commands import GPU, OTHERS, PAGES, ROOT

STP = """33D32945 STP File, STP Format Version 1.0
SECTION Graph
Nodes 3
Edges 3
E 1 2 3
E 2 3 3
E 1 3 9
END
SECTION Terminals
Terminals 2
T 1
T 3
END
EOF
"""
PROGRAMS = {
    "python": [sys.executable],
    "pytest": [sys.executable, "-m", "pytest"],
    "mgraph": [sys.executable, "-m", "mgraph.cli.main"],
}
FORMS = [
    pytest.param(tiny, id=name, marks=[pytest.mark.gpu] * tiny.on_gpu)
    for name, tiny in {**PAGES, **OTHERS}.items()
]


def test_every_command_of_a_page_has_a_tiny_form():
    named = commands.named()
    missing = {name: pages for name, pages in named.items() if name not in PAGES}
    assert not missing, "add a tiny form to tests/benchmarks/commands.py"
    assert not set(PAGES) - set(named), "no page names these"
    assert len(named) > 40


def test_every_benchmark_has_a_tiny_form():
    known = {commands.name_of(name) for name in PAGES if GPU in name} | set(OTHERS)
    assert commands.in_first_lines() == known


def test_commands_are_found_wherever_they_stand():
    text = (
        "Figures: `python -m tests.benchmarks.x\none  TWO`, and `x = 1`, `mgraph.sssp`, `pytest`.\n"
        "\n    time mgraph generate g -n 9   # words\n    cd x && pytest -k y ; mgraph info g\n\n"
        "```bash\n$ python workflows/a.py out\n```\n`--only x`, mgraph is, `mgraph/io`\n"
    )
    assert commands.commands_in(text) == [
        "python -m tests.benchmarks.x one TWO", "pytest", "time mgraph generate g -n 9",
        "pytest -k y", "mgraph info g", "python workflows/a.py out",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The inputs for the words of commands in capitals."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "lib" / "X").mkdir(parents=True)
    (folder / "lib" / "X" / "x1.stp").write_text(STP)
    (folder / "lib" / "optima.csv").write_text("instance,optimum\nX/x1.stp,6\n")
    items = experiments.pisinger_instance("uncorrelated", 20, 100, 300)
    items.write(folder / "a.data")
    edges = mgraph.CopyModel(300, 3, weights=(1, 9)).edges(backend="cpu").edges
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    mgraph.write_graph(graph, folder / "g.graph")
    mgraph.write_graph(graph, folder / "g")
    names = {"GRAPH": "g.graph", "DATASET": "g", "ITEMS": "a.data", "STEINLIB": "lib"}
    return {word: str(folder / name) for word, name in names.items()}


def run_program(program, words):
    """Its status and what it printed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "MGRAPH_BENCH_SIDE": "10"}
    done = subprocess.run([*PROGRAMS[program], *words], cwd=ROOT, env=environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def run_here(program, words, capfd, monkeypatch):
    """The same in this process, which has imported and compiled what the commands need."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)
    status = 0
    if program == "mgraph":
        status = main(words)
    else:
        as_module = words[0] == "-m"
        monkeypatch.setattr(sys, "argv", words[as_module:])
        run = runpy.run_module if as_module else runpy.run_path
        try:
            run(words[as_module], run_name="__main__")
        except SystemExit as ended:
            status = ended.code or 0
    return status, *capfd.readouterr()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("tiny", FORMS)
def test_a_tiny_form_runs(tiny, inputs, tmp_path, capfd, monkeypatch, cluster):
    """On a cluster that is there, but for a command that names its workers."""
    if tiny.needs and not shutil.which(tiny.needs):
        pytest.skip(f"needs {tiny.needs}")
    words = inputs | {"OUT": str(tmp_path / "out"), "FOLDER": str(tmp_path)}
    program, *rest = (words.get(word, word) for word in shlex.split(tiny.command))
    if tiny.on_gpu or tiny.is_program or program == "pytest":
        status, out, err = run_program(program, rest)
    else:
        address = None if "--workers" in rest else cluster.client.scheduler.address
        with dask.config.set({"scheduler-address": address}):
            status, out, err = run_here(program, rest, capfd, monkeypatch)
    assert status == 0, out + err
    assert out
