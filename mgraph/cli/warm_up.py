"""``mgraph warm-up``: compile beforehand what commands compile when they are first used.

On cores, that is what each command compiles for a tiny graph of each type of weights, so the
commands themselves are run, in processes of their own, one per core. On GPUs, it is every variant
of the kernels that the command launches; no GPU is needed for that.
"""

import contextlib
import importlib
import io
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

import click

from mgraph import compilation
from mgraph.cli.help import command, option
from mgraph.cli.options import CLUSTER, Choice, Number, quiet_option
from mgraph.core.formatting import format_seconds, pluralize
from mgraph.errors import DeviceError, MgraphError, UsageError
from mgraph.installation import install_command

VERTICES = 3000  # of the tiny graphs
_GRAPHS = ("plain", "int32", "int64", "float32", "float64")  # named for their weights
_WEIGHTED = _GRAPHS[1:]


class Recipe(NamedTuple):
    """What a command compiles: its arguments on cores, and the modules whose kernels it launches.

    arguments: command lines in which ``{graph}`` is a graph's folder, ``{out}`` a new one,
    ``{whole}`` and ``{fractions}`` tables of names with such weights.
    graphs: the types of weights of the graphs that are used.
    """

    arguments: tuple[str, ...]
    modules: tuple[str, ...]
    graphs: tuple[str, ...] = _GRAPHS


_BUILDING = (
    "io.parquet_pages_gpu", "core.csr_gpu", "core.primitives_gpu", "core.symmetry_gpu",
)  # fmt: skip
_FORESTS = (
    "spanning_trees.filter_boruvka_gpu", "spanning_trees.spanning_forest_gpu",
    "spanning_trees.partitioned_forest_gpu",
)  # fmt: skip
_PATHS = (
    "shortest_paths.bfs_gpu", "shortest_paths.near_far_gpu", "shortest_paths.predecessors_gpu",
    "shortest_paths.reached_rows_gpu", "core.edge_list_gpu",
)  # fmt: skip
_TREES = (
    "steiner.star_gpu", "steiner.star_initial_tree_gpu", "steiner.star_rows_gpu",
    "components.afforest_gpu", "steiner.group_lengths_gpu", "steiner.groups.group_search_gpu",
    "steiner.groups.group_trace_gpu", "steiner.improvement.vertex_exchange_gpu",
    "shortest_paths.near_far_gpu", "spanning_trees.filter_boruvka_gpu",
)  # fmt: skip
_MODELS = (
    "generators.cuppa_hash_gpu", "generators.cuppa_gpu", "generators.edge_weights_gpu",
)  # fmt: skip
# Everything that warm-up compiles, by command.
RECIPES = {
    "generate": Recipe(
        (f"generate {{out}} -n {VERTICES}", f"generate {{out}} -n {VERTICES} --weights 1:9"),
        _MODELS,
        ("plain",),
    ),
    "verify": Recipe(("verify {graph} --regenerate 1",), _MODELS, ("plain", "int32")),
    "degrees": Recipe(("degrees {graph}",), ("core.degrees_gpu",), ("plain",)),
    "info": Recipe(("info {graph} --scan", "info {fractions}"), ()),
    "convert": Recipe(
        ("convert {whole} {out} --symmetrise", "convert {fractions} {out} --symmetrise"),
        (),
        ("plain",),
    ),
    "sssp": Recipe(
        ("sssp {graph} --source 0", "sssp {graph} --random 2 --out {out}"), _BUILDING + _PATHS
    ),
    "components": Recipe(
        ("components {graph} --out {out}", "components {graph} --drop-infinite"),
        ("components.edge_components_gpu", "io.parquet_pages_gpu"),
        ("plain", "int32"),
    ),
    "msf": Recipe(("msf {graph}", "msf {graph} --out {out}"), _BUILDING + _FORESTS),
    "single-linkage": Recipe(("single-linkage {graph} -k 3",), _BUILDING + _FORESTS, _WEIGHTED),
    "steiner": Recipe(
        (
            "steiner {graph} --sample 2:2,6:2 --out {out}",
            "steiner {graph} --sample 6:4 --method star --out {out}",
            "steiner {graph} --terminals 5,50,500,2500 --improve",
        ),
        _BUILDING + _TREES,
    ),
    "knapsack": Recipe(("knapsack {knapsack}",), ("knapsacks.branch_and_bound_gpu",), ("plain",)),
}


class _Job(NamedTuple):
    """One command line to run, or one variant of a source to compile for an architecture."""

    label: str
    arguments: list[str] | None = None
    kernel: tuple[Any, dict[str, str], str] | None = None


@command(
    "warm-up",
    examples=(
        "mgraph warm-up",
        "mgraph warm-up generate sssp",
        "mgraph warm-up --arch sm_90 --arch sm_100",
    ),
)
@click.argument("commands", metavar="[COMMAND]...", nargs=-1, type=Choice(list(RECIPES)))
@option(
    "--arch",
    "architectures",
    metavar="ARCH",
    multiple=True,
    group=CLUSTER,
    help="Compile kernels for GPUs of ARCH, such as sm_90; may be given several times.  "
    "[default: those of this machine]",
)
@option(
    "--jobs",
    type=Number(minimum=1),
    metavar="N",
    group=CLUSTER,
    help="Compile so many things at a time.  [default: one per core]",
)
@quiet_option("Print nothing but errors.")
def warm_up(
    commands: tuple[str, ...], architectures: tuple[str, ...], jobs: int | None, quiet: bool
) -> int:
    """Compile what COMMANDs need, by default what all of them do, for this machine.

    The code is kept among the user's caches: in NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache. What
    is there already is not compiled again. For images, and for machines on which jobs are short.
    """
    return _warm_up(commands, architectures, jobs, quiet)


def _warm_up(
    commands: Sequence[str], architectures: Sequence[str], jobs: int | None, quiet: bool
) -> int:
    from mgraph.core.host import available_cores
    from mgraph.distributed.protocol.progress import Progress

    compilation.set_notifier(None)  # the progress line says it
    chosen = [RECIPES[name] for name in dict.fromkeys(commands or RECIPES)]
    began, failures = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mgraph-warm-up-") as folder:
        work = [*_kernel_jobs(chosen, architectures), *_command_jobs(chosen, folder)]
        context = multiprocessing.get_context("spawn")
        stream = None if quiet else sys.stderr
        with (
            ProcessPoolExecutor(jobs or available_cores(), context) as pool,
            Progress("warm-up", 0, len(work), stream) as line,
        ):
            pending = {pool.submit(_run, job): job for job in work}
            for done in as_completed(pending):
                line.add(0)
                if reason := done.result():
                    failures.append(f"{pending[done].label}: {reason}")
    for failure in failures:
        click.echo(f"mgraph: {failure}", err=True)
    if not quiet:
        seconds = format_seconds(time.monotonic() - began)
        click.echo(f"{pluralize(len(work) - len(failures), 'part')} in {seconds}")
    return int(bool(failures))


def _kernel_jobs(recipes: Sequence[Recipe], architectures: Sequence[str]) -> Iterator[_Job]:
    """Yield a job for each kernel source's variant that is neither shipped nor in the caches."""
    from mgraph.cuda import machine_code
    from mgraph.cuda.source import Source

    given = list(dict.fromkeys(architectures or machine_code.architectures_here()))
    if not given:
        return
    for arch in given:
        if not (arch.startswith("sm_") and arch[3:].isdigit()):
            raise UsageError(f"ARCH is written as sm_90 (got {arch!r})", parameter="arch")
    if not machine_code.can_compile():
        raise DeviceError(f"kernels are compiled by cuda-core; {install_command('gpu')}")
    for arch in given:
        if not machine_code.can_compile(arch[3:]):
            raise DeviceError(f"the CUDA compiler that is installed does not know {arch}")
    modules = dict.fromkeys(module for recipe in recipes for module in recipe.modules)
    for module in modules:
        for source in vars(importlib.import_module(f"mgraph.{module}")).values():
            if not isinstance(source, Source):
                continue
            for variant in source.check:
                for arch in given:
                    if machine_code.find(source, dict(variant), arch[3:]) is None:
                        label = f"{source.file} for {arch}"
                        yield _Job(label, kernel=(source, dict(variant), arch[3:]))


def _command_jobs(recipes: Sequence[Recipe], folder: str) -> Iterator[_Job]:
    """Write tiny inputs into a folder, and yield a job for each command line."""
    graphs = dict.fromkeys(name for recipe in recipes for name in recipe.graphs)
    for name in graphs:
        _write_graph(name, os.path.join(folder, name))
    knapsack = os.path.join(folder, "knapsack.txt")
    with open(knapsack, "w", encoding="utf-8") as stream:
        stream.write("40 300\n")
        stream.writelines(f"{item % 17 + 1} {item % 23 + 1}\n" for item in range(40))
    tables = {name: os.path.join(folder, f"{name}.csv") for name in ("whole", "fractions")}
    for table, unit in zip(tables.values(), (1, 0.5), strict=True):
        with open(table, "w", encoding="utf-8") as stream:
            stream.write("src,dst,weight\n")
            stream.writelines(f"v{i},v{7 * i % 1000},{unit * (i % 9 + 1)}\n" for i in range(1000))
    for recipe in recipes:
        for arguments in recipe.arguments:
            for graph in recipe.graphs if "{graph}" in arguments else recipe.graphs[:1]:
                values = {"graph": os.path.join(folder, graph), "knapsack": knapsack, **tables}
                out = tempfile.mkdtemp(dir=folder) + "/out"
                words = [word.format(out=out, **values) for word in arguments.split()]
                yield _Job(arguments.split()[0], arguments=words)


def _write_graph(weights: str, folder: str) -> None:
    """Write a tiny graph with weights of a type, or ``plain`` without, as a dataset."""
    import mgraph

    model = mgraph.CopyModel(VERTICES, 4, weights=None if weights == "plain" else (1, 99))
    if weights in ("plain", "int32"):
        mgraph.generate(folder, model, backend="cpu")
        return
    edges = model.edges(backend="cpu").edges
    assert edges.weight is not None
    edges = mgraph.EdgeList(edges.src, edges.dst, edges.weight.astype(weights))
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    mgraph.write_graph(graph, folder)


def _run(job: _Job) -> str | None:
    """Do a job, in a process of its own; return why it failed, or None."""
    if job.kernel is not None:
        from mgraph.cuda import machine_code

        try:
            machine_code.compile_and_keep(*job.kernel)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None
    assert job.arguments is not None
    from mgraph.cli.main import main
    from mgraph.core import compiled

    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # else every process would take a GPU's memory
    compiled.compile_at_once()
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            status = main([*job.arguments, *_options(job.arguments[0])])
        except (MgraphError, OSError) as error:
            return str(error)
    return errors.getvalue().strip() or f"exit status {status}" if status else None


def _options(verb: str) -> list[str]:
    """Return a command's options to be quiet and to compute on cores."""
    return {"info": [], "convert": ["-q"]}.get(verb, ["-q", "--backend", "cpu"])
