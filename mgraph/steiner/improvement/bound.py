"""The lower bound of a problem: an ascent, and the search for a better one."""

from typing import Any

import numpy as np

from mgraph.core import heap_cpu
from mgraph.steiner.improvement import dual_ascent_cpu, dual_search_cpu
from mgraph.steiner.improvement.network_cpu import EMPTY

# Rows of the record of turns, per terminal, and of what they took, per arc and at least.
_TURNS_PER_TERMINAL, _ROWS_PER_ARC, _MIN_ROWS = 32, 8, 1 << 20
MAX_RECORDED_ARCS = 1 << 24
# Arcs of a set that counts as large in the search: a multiple of those per terminal, within limits.
_ARCS_PER_TERMINAL, _MIN_ARCS, _MAX_ARCS = 30, 1000, 1 << 14


class Bound:
    """A dual solution: the bound, and what remains of each arc's weight.

    total: in units, int. reduced: int64, of the arc from ``heads[arc]`` to the vertex in whose row
    it stands. is_complete: whether the ascent ended, so that the root reaches each terminal at
    reduced cost 0.
    """

    def __init__(
        self,
        indptr: Any,
        heads: Any,
        weights: Any,
        terminals: Any,
        root: int,
        guide: Any,
        flag: Any,
        load: Any = None,
        max_arcs: int = 1 << 62,
    ) -> None:
        """Run the ascent away from a root, one of the terminals.

        weights: int64, of each arc. guide: a tree's vertex before each vertex, -1 elsewhere. load:
        zeros by vertex, which get what sets that hold the vertex add to the bound. max_arcs: of a
        set; a terminal whose set has more is given up.
        """
        n, num_arcs = indptr.size - 1, heads.size
        self.indptr, self.heads, self.root, self.guide = indptr, heads, root, guide
        self.terminals, self.flag = terminals, flag
        self.is_terminal = np.zeros(n, bool)
        self.is_terminal[terminals] = True
        self._heap = heap_cpu.new(n, small=False)
        self._memory = (
            np.full(n, dual_ascent_cpu.UNREACHED), np.zeros(n, bool), np.empty(n, np.int64)
        )  # fmt: skip
        self._words, self._active = np.full(terminals.size + 8, EMPTY), np.zeros(n, bool)
        self.is_recorded = num_arcs <= MAX_RECORDED_ARCS
        rows = max(_ROWS_PER_ARC * num_arcs, _MIN_ROWS) if self.is_recorded else 0
        self._turns = np.empty((_TURNS_PER_TERMINAL * terminals.size + 4096, 4), np.int64)
        self._taken = np.empty((rows, 2), np.int64)
        per_terminal = _ARCS_PER_TERMINAL * num_arcs // terminals.size
        self._max_arcs = min(max(per_terminal, _MIN_ARCS), _MAX_ARCS)
        self.reduced, factors = weights.copy(), np.ones(terminals.size)
        total, self._num_turns, self._used, self._heap = dual_ascent_cpu.raise_bound(
            indptr, heads, self.reduced, terminals, factors, root, self._active, guide,
            np.int64(max_arcs), *self._memory, self._heap, self._words, self._turns, 0,
            self._taken, 0, False, np.empty(0, np.int64) if load is None else load, flag,
        )  # fmt: skip
        self.total = int(total)
        self.is_recorded &= self._num_turns < len(self._turns) // 2 and self._used < rows // 2
        self.is_complete = not flag[0]

    def search(self, steps: int, seed: int) -> int:
        """Search for a better bound; return by how much it rises."""
        if not self.is_recorded or not self.is_complete:
            return 0
        gain, self._turns, self._num_turns, self._taken, self._used, self._heap = (
            dual_search_cpu.search_bound(
                self.indptr, self.heads, self.reduced, self.terminals, self.is_terminal, self.root,
                self.guide, self._max_arcs, steps, seed, *self._memory, self._heap, self._words,
                self._active, self._turns, self._num_turns, self._taken, self._used, self.flag,
            )
        )  # fmt: skip
        self.total += int(gain)
        return int(gain)
