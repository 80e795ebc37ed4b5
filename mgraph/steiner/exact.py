"""The exact method for few terminals: see ``dreyfus_wagner_cpu``."""

from typing import Any

from mgraph.core import cancellation
from mgraph.core.deadline import NEVER, Deadline
from mgraph.steiner import dreyfus_wagner_cpu
from mgraph.steiner.improvement import conversion, improve
from mgraph.steiner.tree_cpu import Tree

MAX_STATES = 1 << 27  # some 10 GB


def solve(
    csr: Any, terminals: Any, deadline: Deadline = NEVER, max_states: int = MAX_STATES
) -> tuple[Tree, bool]:
    """Return the best tree, and whether it is optimal for sure.

    csr, terminals: see ``improve``, with MAX_GROUPS terminals at most. If there are more than
    ``max_states`` states, or time is up, it is a heuristic's tree.
    """
    known = conversion.cheapest(*improve.cheap_trees(csr, terminals))
    units = conversion.choose_units(csr, known)
    edges = conversion.light_edges(csr, known, units)
    network, weight = edges.to_network(terminals, units)
    max_cost = int(weight[edges.ids_of(known)].sum()) - units.step
    with deadline.raising_flag() as flag:
        ids, is_optimal = dreyfus_wagner_cpu.solve_network(
            network, weight, max_cost, max_states, flag
        )
    cancellation.raise_if_cancelled()
    if ids is None:
        return known, is_optimal
    return conversion.cheapest(known, edges.to_tree(ids, terminals)), is_optimal
