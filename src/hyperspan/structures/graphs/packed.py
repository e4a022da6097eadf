"""A hypergraph as blocks of edges in arrays, stated once for all sentences of a length.

A structure names its scores and adds blocks of nodes with all their edges, children first. An edge takes one score or
none, and leads to one node or two. Here are all sets of mentions of one word in a sentence of two words, where each
mention has a score:

>>> graph = Graph(mention=(2, 1, 1))
>>> rest = graph.end
>>> for word in (1, 0):
...     rest = graph.add([rest, rest], slots=[graph.nothing, graph.slots["mention"][word, 0, 0]], word=word)
>>> graph.finish(rest).edges
4

`finish` names the roots: a hyperpath has one part below each of them. :mod:`hyperspan.structures.graphs.sums` adds up
hyperpaths, :mod:`hyperspan.structures.graphs.paths` finds them, and `spelled_out` gives the explicit hypergraph:

>>> from hyperspan.structures.graphs import hyperpaths
>>> explicit = graph.spelled_out(lambda word: word, leaf=lambda name, place: (name, *place))
>>> [edge.tail for edge in explicit.edges]
[(1,), (('mention', 0, 0, 0), 1), (), (('mention', 1, 0, 0),)]

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph

Numbers = ArrayLike | Sequence[ArrayLike]


class NodeBlock(NamedTuple):
    """Nodes in a row that have equally many edges, none of which leads to one of them."""

    heads: slice
    edges: slice
    ways: int
    """The edges of each node. Those to `Graph.nowhere` only fill up the block."""
    forks: bool
    """Whether edges lead to two nodes."""
    names: dict[str, Any]
    """What its nodes are: values, and arrays of one value a node."""


class Graph:
    """Nodes and edges in arrays, for sentences of one length.

    Its arguments are the names and shapes of its scores. `slots` numbers these scores, in the same shapes.
    """

    nowhere, end = 0, 1
    """The node that nothing reaches, and the one below which nothing is left to do."""
    tails: np.ndarray  # (edges,)
    others: np.ndarray  # (edges,): the second tail, or `end`
    taken: np.ndarray  # (edges,): the slot of its score, or `nothing`
    roots: np.ndarray  # (roots,)
    first: np.ndarray  # (nodes + 1,): the first edge of each node; those up to that of the next are its own

    def __init__(self, **scores: tuple[int, ...]):
        self.slots: dict[str, np.ndarray] = {}
        self.nothing = 0
        """The slot of edges without a score; also how many scores there are."""
        for name, shape in scores.items():
            numbers = np.arange(int(np.prod(shape, dtype=np.int64))) + self.nothing
            self.slots[name] = numbers.reshape(shape)
            self.nothing += numbers.size
        self.blocks: list[NodeBlock] = []
        self.nodes, self.edges = 2, 0
        self._columns: list[list[np.ndarray]] = [[], [], []]

    def add(
        self, tails: Numbers, slots: Numbers | None = None, others: Numbers | None = None, **names: Any
    ) -> np.ndarray:
        """Add nodes by their edges, (…, ways), and return their numbers, (…).

        An edge leads to its tail and, if `others` are given, to a second one. An edge to `nowhere` is left out, and so
        is a node without edges: its number is `nowhere`. `names` say what the nodes are.
        """
        given = tails, self.end if others is None else others, self.nothing if slots is None else slots
        columns = np.broadcast_arrays(*map(np.asarray, given))
        shape, width = columns[0].shape[:-1], columns[0].shape[-1]
        columns = [column.reshape(-1, width) for column in columns]
        possible = (columns[0] != self.nowhere) & (columns[1] != self.nowhere)
        counts = possible.sum(1)
        if not possible.all():
            first = np.argsort(~possible, axis=1, kind="stable")[:, : max(counts.max(initial=0), 1)]
            columns = [np.take_along_axis(column, first, 1) for column in columns]
            left_out = ~np.take_along_axis(possible, first, 1)
            columns[0][left_out], columns[2][left_out] = self.nowhere, self.nothing
        rows, ways = columns[0].shape
        heads, edges = slice(self.nodes, self.nodes + rows), slice(self.edges, self.edges + rows * ways)
        for column, added in zip(self._columns, columns, strict=True):
            column.append(added.ravel())
        every = {name: np.broadcast_to(value, shape).ravel() for name, value in names.items()}
        self.blocks.append(NodeBlock(heads, edges, ways, others is not None, every))
        self.nodes, self.edges = heads.stop, edges.stop
        return np.where(counts > 0, np.arange(heads.start, heads.stop), self.nowhere).reshape(shape)

    def finish(self, roots: ArrayLike) -> Self:
        """Name the nodes below which a hyperpath has a part each; nothing is added after this."""
        nothing = np.zeros(0, dtype=np.int64)
        self.tails, self.others, self.taken = (np.concatenate([nothing, *column]) for column in self._columns)
        self.roots = np.ravel(np.asarray(roots, dtype=np.int64))
        self._columns = [[], [], []]
        self.first = np.zeros(self.nodes + 1, dtype=np.int64)
        for block in self.blocks:
            self.first[block.heads] = np.arange(block.edges.start, block.edges.stop, block.ways)
        self.first[-1] = self.edges
        # Edges in the order of the nodes that they lead to, and of the scores that they take.
        below = np.concatenate([self.tails, self.others])
        self._by_tail = below.argsort(kind="stable")
        self._first_of_tail = np.searchsorted(below[self._by_tail], np.arange(self.nodes + 1))
        self._by_slot = self.taken.argsort(kind="stable")
        self._first_of_slot = np.searchsorted(self.taken[self._by_slot], np.arange(self.nothing + 1))
        return self

    def edges_to(self, nodes: slice) -> np.ndarray:
        """(nodes, most): the edges that lead to each of some nodes; `edges`, which is none, at the end of short
        rows."""
        rows = _rows(self._by_tail, self._first_of_tail[nodes.start : nodes.stop + 1])
        return np.where(rows < 0, self.edges, rows % max(self.edges, 1))

    def edges_with(self, slots: np.ndarray) -> np.ndarray:
        """(slots, most): the edges that take each of some scores, which are numbered one after the other; likewise."""
        first = int(slots.flat[0]) if slots.size else 0
        rows = _rows(self._by_slot, self._first_of_slot[first : first + slots.size + 1])
        return np.where(rows < 0, self.edges, rows)

    # -- the explicit hypergraph --------------------------------------------------------------------------------------

    def spelled_out(
        self,
        node: Callable[..., Hashable],
        leaf: Callable[[str, tuple[int, ...]], Hashable | None] = lambda name, place: None,
        *,
        root: Hashable | None = None,
        end: Hashable | None = None,
    ) -> Hypergraph:
        """The explicit hypergraph, for pictures and for counting.

        `node` makes a node from the names that its block was given, `leaf` one from the name and place of a score.
        Leaves stand before the nodes of a tail. `root` stands above all roots, which need it unless there is one, and
        `end` for the end of hyperpaths.
        """
        made: dict[int, Hashable] = {}
        for block in self.blocks:
            for row, number in enumerate(range(block.heads.start, block.heads.stop)):
                made[number] = node(**{name: values[row].item() for name, values in block.names.items()})
        roots = [made.get(number, end) for number in self.roots.tolist() if number != self.end or end is not None]
        leaves = self._leaves(leaf)
        edges: list[Hyperedge] = []
        for block in self.blocks:
            for edge in range(block.edges.start, block.edges.stop):
                if self.tails[edge] == self.nowhere:
                    continue
                head = block.heads.start + (edge - block.edges.start) // block.ways
                scored = leaves.get(int(self.taken[edge]))
                below = (self.tails.item(edge), self.others.item(edge))
                tail = [made[number] for number in below if number != self.end] or ([] if end is None else [end])
                edges.append(Hyperedge(made[head], (*([] if scored is None else [scored]), *tail)))
        if root is None:
            (root,) = roots
        else:
            edges.append(Hyperedge(root, tuple(roots)))
        return Hypergraph(root, edges)

    def _leaves(self, leaf: Callable[[str, tuple[int, ...]], Hashable | None]) -> dict[int, Hashable | None]:
        def named() -> Iterator[tuple[int, Hashable | None]]:
            for name, slots in self.slots.items():
                for place in np.ndindex(slots.shape):
                    yield int(slots[place]), leaf(name, place)

        return dict(named())


def _rows(order: np.ndarray, first: np.ndarray) -> np.ndarray:
    """(rows, most): the entries of `order` from each place of `first` to the next; -1 at the end of short rows."""
    counts = np.diff(first)
    place = np.arange(counts.max(initial=0))
    taken = first[:-1, None] + place
    if not len(order):
        return np.full(taken.shape, -1)
    return np.where(place < counts[:, None], order[np.minimum(taken, len(order) - 1)], -1)
