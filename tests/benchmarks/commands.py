"""The commands that pages and benchmarks name, with a tiny form of each that takes seconds.

A page's command without a form here makes ``test_commands`` fail: add one, as small as it can be.
GRAPH, DATASET, ITEMS and STEINLIB stand for small inputs that the test makes.
"""

import ast
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MAKER = "tests/benchmarks/tiny.py"
GPU = "python -m tests.benchmarks."
_COMMAND = re.compile(r"(\$ )?(time )?(python -m|python \S+\.py|pytest|mgraph [a-z]+)( |$)")
# Pages of whole commands, and others that name benchmarks among what users type.
_BENCHMARKS = re.compile(r"python (-m tests\.|workflows/)|pytest .*(-k|-m|tests/)")
# Pages, and docs/papers, whose commands other tests are about.
_SETTINGS = ("AGENTS.md", "CONTRIBUTING.md", "workflows/README.md")


class Tiny(NamedTuple):
    """How a command is run as a test.

    needs: a program or module without which it skips. is_program: it starts processes that import
    it, so it is a program of its own.
    """

    command: str
    on_gpu: bool = False
    needs: str = ""
    is_program: bool = False


def _on_gpu(command):
    return Tiny(GPU + command, on_gpu=True)


def _collected(command):
    """Return the form of a command that runs tests of the suite: collect them."""
    return Tiny(f"{command} --collect-only -q")


# Of commands in pages.
PAGES = {
    "python -m tests.benchmarks.convert FOLDER": Tiny(
        f"{GPU}convert OUT int str --edges 2000 --rounds 1"
    ),
    "python -m tests.benchmarks.cold_start": Tiny(f"{GPU}cold_start sssp --rounds 1 --tiny"),
    "python -m tests.benchmarks.prompt FOLDER": Tiny(
        f"{GPU}prompt OUT little generate degrees rows -n 3e3 --rounds 1 --sources 2 --backend cpu"
    ),
    "python -m tests.benchmarks.prompt FOLDER --backend gpu": _on_gpu(
        "prompt OUT little sssp -n 3e3 --rounds 1 --backend gpu"
    ),
    "python -m tests.benchmarks.kills EDGES [--compression zstd --weights]": Tiny(
        f"{GPU}kills 2e4 --compression zstd --weights --tiny", is_program=True
    ),
    "python -m tests.benchmarks.many_parts": Tiny(f"{GPU}many_parts 40 --tiny"),
    "pytest -m gpu -s tests/gpu/test_runs.py": _collected("pytest -m gpu tests/gpu/test_runs.py"),
    "mgraph cancel": Tiny("mgraph cancel --help"),
    "python -m tests.benchmarks.soak": Tiny(f"{GPU}soak --minutes 0.001 --jobs-a-client 2"),
    "python -m tests.benchmarks.generate_gpu memory": _on_gpu("generate_gpu memory --tiny"),
    "python -m tests.benchmarks.generate_gpu scaling 4": _on_gpu("generate_gpu scaling 1 --tiny"),
    "python -m tests.benchmarks.generate_gpu blocks GPUS": _on_gpu("generate_gpu blocks 1 --tiny"),
    "python -m tests.benchmarks.generate_gpu parquet FOLDER GPUS": _on_gpu(
        "generate_gpu parquet FOLDER 1 --tiny"
    ),
    "python -m tests.benchmarks.generate_gpu parquet FOLDER": _on_gpu(
        "generate_gpu parquet FOLDER --tiny"
    ),
    "python -m tests.benchmarks.cuppa_gpu bars": _on_gpu("cuppa_gpu bars --tiny"),
    "python -m tests.benchmarks.cuppa_gpu schedules": _on_gpu("cuppa_gpu schedules --tiny"),
    "python -m tests.benchmarks.cuppa_gpu hard": _on_gpu("cuppa_gpu hard --tiny"),
    "python workflows/heap_experiments.py OUT --keys 2^26 --only 18": Tiny(
        "python workflows/heap_experiments.py OUT --keys 2^13 --only 18 --backend cpu --repeats 1"
    ),
    "python workflows/heap_experiments.py OUT --only table_3": Tiny(
        "python workflows/heap_experiments.py OUT --keys 2^13 --only table_3 --backend cpu "
        "--repeats 1"
    ),
    "python workflows/cuppa_experiments.py OUT --only 10 --edges 2e7": Tiny(
        "python workflows/cuppa_experiments.py OUT --only 10 --edges 2e4 --backend cpu"
    ),
    "python -m tests.benchmarks.cuppa_gpu linear": _on_gpu("cuppa_gpu linear --tiny"),
    "python -m tests.benchmarks.cuppa_peers_gpu N D GPUS": _on_gpu("cuppa_peers_gpu 5000 4 1"),
    "python -m tests.benchmarks.cuppa_peers_gpu N D GPUS --one-process": _on_gpu(
        "cuppa_peers_gpu 5000 4 1 --one-process"
    ),
    "python -m tests.benchmarks.networkx_backend EDGES": Tiny(
        f"{GPU}networkx_backend 300 --repeats 1"
    ),
    "python -m tests.benchmarks.networkx_small": Tiny(
        f"{GPU}networkx_small algorithms/components/tests/test_connected.py --repeats 1"
    ),
    "python -m tests.benchmarks.networkx_suite": Tiny(
        f"{GPU}networkx_suite algorithms/components/tests/test_connected.py"
    ),
    "python -m tests.benchmarks.sequential_cpu": Tiny(f"{GPU}sequential_cpu --edges 16000"),
    "python -m tests.benchmarks.hubs": Tiny(f"{GPU}hubs --n 500 --seeds 2 --core 1000"),
    "time mgraph generate graph -n 12_500_000 -d 8": Tiny("mgraph generate OUT -n 1_250 -d 8"),
    "time mgraph generate billion -n 125_000_000 -d 8": Tiny("mgraph generate OUT -n 1_250 -d 8"),
    "python -m tests.benchmarks.heap_gpu sort": _on_gpu("heap_gpu sort --keys 5120 --repeats 1"),
    "python -m tests.benchmarks.knapsack_gpu FILE …": _on_gpu("knapsack_gpu ITEMS --repeats 1"),
    "python -m tests.benchmarks.sssp_gpu single MAKER NAME …": _on_gpu(
        f"sssp_gpu single {MAKER} grid-12 rmat-22"
    ),
    "python -m tests.benchmarks.heap_search_gpu MAKER NAME …": _on_gpu(
        f"heap_search_gpu {MAKER} rmat-22 --thresholds 100"
    ),
    "python -m tests.benchmarks.sssp_gpu watched MAKER road-NE rmat-22 pa-23": _on_gpu(
        f"sssp_gpu watched {MAKER} road-NE"
    ),
    "python -m tests.benchmarks.sssp_gpu methods MAKER NAME …": _on_gpu(
        f"sssp_gpu methods {MAKER} pa-23"
    ),
    "python -m tests.benchmarks.sssp_gpu sources MAKER pa-23 FOLDER 4": _on_gpu(
        f"sssp_gpu sources {MAKER} pa-23 FOLDER 1"
    ),
    "python -m tests.benchmarks.sssp_gpu backends MAKER NAME …": _on_gpu(
        f"sssp_gpu backends {MAKER} pa-10"
    ),
    "python -m tests.benchmarks.sssp_shapes 5 6": _on_gpu("sssp_shapes 5 6 --tiny"),
    "python -m tests.benchmarks.sssp_gpu build FOLDER": _on_gpu("sssp_gpu --tiny build FOLDER"),
    "pytest -m gpu -k two_billion": _collected(
        "pytest -m gpu -k two_billion tests/gpu/test_sssp.py"
    ),
    "python workflows/sssp_energy.py pa-22 OUT --seconds 1.5 --deltas 0.0625,0.125,0.25,1,4 "
    "--set-points 1e5,1e6,4e6,3e7": Tiny(
        "python workflows/sssp_energy.py GRAPH OUT --seconds 0.01 --deltas 0.0625,1 "
        "--set-points 1e2,1e3"
    ),
    "python workflows/sssp_energy.py GRAPH OUT --source V": Tiny(
        "python workflows/sssp_energy.py GRAPH OUT --source 1 --seconds 0.01 --deltas 1 "
        "--set-points 1e2"
    ),
    "python -m tests.benchmarks.knapsack_plain --seconds 8": Tiny(f"{GPU}knapsack_plain --tiny"),
    "python -m tests.benchmarks.frontier_rounds MAKER NAME … --gpu": Tiny(
        f"{GPU}frontier_rounds {MAKER} pa-10"
    ),
    "python workflows/sssp_controllers.py GRAPH OUT --set-point P": Tiny(
        "python workflows/sssp_controllers.py GRAPH OUT --set-point 50 --max-iterations 99"
    ),
    "python -m tests.benchmarks.sssp_cpu MAKER NAME …": Tiny(f"{GPU}sssp_cpu {MAKER} road-NE"),
    "pytest tests/benchmarks -k one_core --benchmark-enable": Tiny(
        "pytest tests/benchmarks/test_sssp.py -k 'one_core and grid' --benchmark-enable "
        "--benchmark-max-time 0.01 --benchmark-min-rounds 1 -p no:cacheprovider"
    ),
    "python -m tests.benchmarks.msf_gpu forest MAKER NAME …": _on_gpu(
        f"msf_gpu forest {MAKER} rmat-22 grid-4096"
    ),
    "python -m tests.benchmarks.msf_gpu hard MAKER": _on_gpu(f"msf_gpu --tiny hard {MAKER}"),
    "python -m tests.benchmarks.msf_gpu backends MAKER NAME …": _on_gpu(
        f"msf_gpu backends {MAKER} pa-12"
    ),
    "python -m tests.benchmarks.msf_gpu wide": _on_gpu("msf_gpu --tiny wide"),
    "python -m tests.benchmarks.msf_gpu boruvka MAKER NAME …": _on_gpu(
        f"msf_gpu boruvka {MAKER} rmat-22"
    ),
    "python workflows/boruvka_variants.py OUT GRAPH …": Tiny(
        "python workflows/boruvka_variants.py OUT GRAPH --repeats 1", on_gpu=True
    ),
    "python -m tests.benchmarks.msf_cpu MAKER NAME …": Tiny(f"{GPU}msf_cpu {MAKER} grid-12"),
    "python -m tests.benchmarks.msf_gpu dataset FOLDER N D GPUS": _on_gpu(
        "msf_gpu dataset FOLDER 2000 4 1"
    ),
    "python -m tests.benchmarks.components_gpu graphs MAKER NAME …": _on_gpu(
        f"components_gpu graphs {MAKER} rmat-22"
    ),
    "python -m tests.benchmarks.components_gpu levels MAKER NAME …": _on_gpu(
        f"components_gpu levels {MAKER} pa-23"
    ),
    "python -m tests.benchmarks.components_gpu rmat SCALE": _on_gpu("components_gpu rmat 8"),
    "python -m tests.benchmarks.partitioned_cpu FOLDER N D WORKERS": Tiny(
        f"{GPU}partitioned_cpu OUT 2000 3 2 --uniform", is_program=True
    ),
    "python -m tests.benchmarks.partition_kinds MAKER NAME …": Tiny(
        f"{GPU}partition_kinds {MAKER} rmat-20 --ranks 2,4 --searches 1"
    ),
    "python -m tests.benchmarks.partitioned_model_gpu N D GPUS": _on_gpu(
        "partitioned_model_gpu 3000 2 1"
    ),
    "python -m tests.benchmarks.partitioned_gpu rmat SCALE GPUS": _on_gpu(
        "partitioned_gpu rmat 10 1 --searches 2"
    ),
    "python -m tests.benchmarks.components_gpu table FOLDER SCALE GPUS": _on_gpu(
        "components_gpu table FOLDER 10 1"
    ),
    "python -m tests.benchmarks.components_gpu dataset FOLDER N D GPUS": _on_gpu(
        "components_gpu dataset FOLDER 2000 4 1"
    ),
    "python -m tests.benchmarks.components_cpu FOLDER N D WORKERS": Tiny(
        f"{GPU}components_cpu OUT 2000 4 2", is_program=True
    ),
    "time mgraph components DATASET --out DIR": Tiny("mgraph components DATASET --out OUT"),
    "mgraph msf DATASET --out DIR --workers 2": Tiny("mgraph msf DATASET --out OUT --workers 2"),
    "python -m tests.benchmarks.group_steiner": Tiny(
        f"{GPU}group_steiner random --edges 400 --size 2 --queries 2 --repeats 1"
    ),
    "python -m tests.benchmarks.steiner_hard": Tiny(
        f"{GPU}steiner_hard hc-4-u cc-3-3-4-p bip-9-20-3-u --seconds 1"
    ),
    "python -m tests.benchmarks.steiner_hard --large --seconds 60": Tiny(
        f"{GPU}steiner_hard holes-20-9 --large --seconds 1"
    ),
    "python -m tests.benchmarks.steiner_hard STEINLIB --seconds 20": Tiny(
        f"{GPU}steiner_hard STEINLIB --seconds 1"
    ),
    "python -m tests.benchmarks.steiner_hard NAME --seconds 20 --backend gpu": _on_gpu(
        "steiner_hard holes-60-600 --seconds 1 --backend gpu"
    ),
    "python -m tests.benchmarks.group_steiner --backend gpu --terminals": _on_gpu(
        "group_steiner random --edges 400 --queries 2 --repeats 1 --backend gpu --terminals"
    ),
    "python -m tests.benchmarks.group_steiner --backend gpu": _on_gpu(
        "group_steiner grid --edges 400 --size 2 --queries 2 --repeats 1 --backend gpu"
    ),
    "python -m tests.benchmarks.steiner_gpu single MAKER NAME … --at-once 1000": _on_gpu(
        f"steiner_gpu single {MAKER} pa-23 --k 2,3 --samples 2 --at-once 4"
    ),
    "python -m tests.benchmarks.steiner_gpu many MAKER pa-23": _on_gpu(
        f"steiner_gpu many {MAKER} pa-23 --samples 20"
    ),
    "python -m tests.benchmarks.steiner_gpu scaling MAKER pa-23 FOLDER 2 --samples 12000": _on_gpu(
        f"steiner_gpu scaling {MAKER} pa-23 FOLDER 1 --samples 20"
    ),
    "mgraph generate g -n 125000000 -d 8 --weights 1:100 --backend gpu --parts 16": Tiny(
        "mgraph generate OUT -n 1250 -d 8 --weights 1:100 --backend gpu --parts 2", on_gpu=True
    ),
    "mgraph steiner g --sample 2:200,8:200 --out r": Tiny(
        "mgraph steiner GRAPH --sample 2:2,8:2 --out OUT"
    ),
    "mgraph steiner g --sample 8:32": Tiny("mgraph steiner GRAPH --sample 8:3"),
    "python workflows/steiner_evaluation.py OUT GRAPH … --k 2,4,8,16,32 --samples 3": Tiny(
        "python workflows/steiner_evaluation.py OUT GRAPH --k 2,4 --samples 1 --sizes 200"
    ),
    "python workflows/steiner_evaluation.py OUT --sizes '' --steinlib FOLDER --improve "
    "--backend cpu": Tiny(
        "python workflows/steiner_evaluation.py OUT --sizes '' --steinlib STEINLIB --improve "
        "--backend cpu"
    ),
    "python workflows/generate_graph.py graph -n 1e9": Tiny(
        "python workflows/generate_graph.py OUT -n 1e3"
    ),
}
# Of benchmarks that stand in a module's own first lines alone.
OTHERS = {
    "fuzz_formats": Tiny(f"{GPU}fuzz_formats --count 3"),
    "sssp_gpu controller": _on_gpu(f"sssp_gpu --tiny controller {MAKER} pa-10"),
    "sssp_gpu set_points": _on_gpu(f"sssp_gpu set_points {MAKER} pa-10"),
    "sssp_gpu power": _on_gpu(f"sssp_gpu --tiny power {MAKER} pa-10 300"),
    "steiner_gpu reference": _on_gpu(
        f"steiner_gpu reference {MAKER} pa-10 --kept OUT --k 3 --samples 1"
    ),
    "heap_gpu relaxed": _on_gpu("heap_gpu relaxed --keys 65536 --counts 1 8 --repeats 1"),
    "heap_gpu histories": _on_gpu("heap_gpu histories --count 50"),
    "heap_gpu mixed": _on_gpu("heap_gpu mixed --pairs 64 --levels 6 --repeats 1"),
    "heap_gpu sequential": Tiny(f"{GPU}heap_gpu sequential --keys 1000", needs="g++"),
}


def named():
    """Return every command of a page, with the pages that name it."""
    found = {}
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    files = listed.stdout.split() or [str(p.relative_to(ROOT)) for p in ROOT.rglob("*.md")]
    for file in files:
        if file.endswith(_SETTINGS) or file.startswith("docs/papers/"):
            continue
        for command in commands_in((ROOT / file).read_text()):
            if file.endswith("BENCHMARKS.md") or _BENCHMARKS.match(command):
                found.setdefault(command, []).append(file)
    return found


def commands_in(text):
    """Return the commands in a Markdown text: between backticks, and in its blocks."""
    spans = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    blocks = [line for line in text.splitlines() if line.startswith("    ")]
    fenced = "\n".join(re.findall(r"```[^\n]*\n(.*?)```", text, flags=re.S)).splitlines()
    steps = (step for line in (*blocks, *fenced) for step in re.split("&&|;", line))
    found = (" ".join(re.sub(r"\s#.*", "", part).split()) for part in (*spans, *steps))
    return [command.removeprefix("$ ") for command in found if _COMMAND.match(command)]


def in_first_lines():
    """Return module and verb, if any, of every command in the benchmarks' docstrings."""
    found = set()
    for file in sorted((ROOT / "tests" / "benchmarks").glob("*.py")):
        text = (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()
        found |= {name_of(line.strip()) for line in text if line.startswith("    python -m tests.")}
    return found


def name_of(command):
    """Return module and verb of a benchmark's command."""
    words = command.partition(GPU)[2].split()
    return " ".join([words[0], *(word for word in words[1:2] if re.fullmatch("[a-z_]+", word))])
