"""Plain and slow: what the fast code is held against."""

import functools

import numpy as np

from mgraph.core.compiled import compiled

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK64
    return x ^ (x >> 31)


def philox2x32(counter, key, rounds):
    """Random123's philox2x32 of a two-word counter, in Python's integers."""
    word0, word1 = counter
    for _ in range(rounds):
        product = word0 * 0xD256D193
        word0, word1 = (product >> 32) ^ key ^ word1, product & MASK32
        key = (key + 0x9E3779B9) & MASK32
    return word0, word1


GOLDEN = 0x9E3779B97F4A7C15


def edge_hash(src, dst):
    return mix64((int(src) * GOLDEN + int(dst)) & MASK64)


def edge_weight(src, dst, seed, low, high):
    word = edge_hash(max(src, dst), min(src, dst)) + mix64((seed + 3 * GOLDEN) & MASK64)
    return low + (mix64(word & MASK64) * (high - low + 1) >> 64)


def edge_checksum(src, dst, weight=None):
    hashes = [edge_hash(s, t) for s, t in zip(src, dst, strict=True)]
    if weight is not None:
        both = zip(hashes, weight, strict=True)
        hashes = [mix64((word + int(w)) & MASK64) for word, w in both]
    return sum(hashes) & MASK64


@functools.cache
def seed_words(seed):
    return [mix64((seed + step * GOLDEN) & MASK64) for step in (1, 2)]


def edge_draw(model, v, slot, attempt):
    """The 64-bit hash of (seed, edge, attempt)."""
    white, key = seed_words(model.seed)
    key = ((key & MASK32) + attempt * 0xBB67AE85) & MASK32
    e = v * model.d + slot
    counter = (e & MASK32) ^ (white & MASK32), (e >> 32) ^ (white >> 32)
    word0, word1 = philox2x32(counter, key, 7)
    return word0 << 32 | word1


def copy_model_draw(model, v, slot, attempt):
    """The design's draw: a vertex, a slot of it, and whether the edge ends there."""
    by_edges = model.start == "ba"
    radix = 2 * (v - model.d) + model.d - 1 if by_edges else v
    u, fraction = divmod(edge_draw(model, v, slot, attempt) * radix, 1 << 64)
    slot, fraction = divmod(fraction * model.d, 1 << 64)
    coin = fraction >> 32
    if by_edges and (u < model.d - 1 or radix == 0):
        return slot, slot, True
    if by_edges:
        u = model.d + (u - (model.d - 1)) // 2
    return u, slot, u < model.d or coin < model.p * 2**32


def cuppa_hash_edge(model, core, v, slot, attempt):
    """Algorithm 2 of the paper as recursion, down to the exact core: a row per vertex."""
    u, slot, ended = copy_model_draw(model, v, slot, attempt)
    if ended:
        return u
    return core[u][slot] if u < len(core) else cuppa_hash_edge(model, core, u, slot, 0)


def cuppa_hash(model, part, core=None):
    """The edges of a range of vertices, slot after slot. core: see ``exact_rows``."""
    if core is None:
        core = exact_rows(model, model.core_vertices)
    src, dst = [], []
    for v in part:
        if v < len(core):
            ends = core[v]
        else:
            ends = []
            for slot in range(model.d):
                attempt = 0
                while (end := cuppa_hash_edge(model, core, v, slot, attempt)) in ends:
                    attempt += 1
                ends.append(end)
        src += [v] * len(ends)
        dst += ends
    return np.array(src, model.dtype), np.array(dst, model.dtype)


def exact_rows(model, vertices):
    """The endpoints of each of the first vertices: slot after slot, copies read final endpoints."""
    rows = [list(range(v)) for v in range(model.d)]
    for v in range(model.d, vertices):
        rows.append([])
        for slot in range(model.d):
            attempt = 0
            while True:
                u, copied, ended = copy_model_draw(model, v, slot, attempt)
                end = u if ended else rows[u][copied]
                if end not in rows[v]:
                    break
                attempt += 1
            rows[v].append(end)
    return rows


def exact_copy_model(model):
    """The design's copy model, all edges."""
    rows = exact_rows(model, model.n)
    src = [v for v, row in enumerate(rows) for _ in row]
    dst = [end for row in rows for end in row]
    return np.array(src, model.dtype), np.array(dst, model.dtype)


def hubs(dst, n, d):
    """Largest degree, mean of vertices 0 to d-1 and d to 3d-1, 99.99th percentile of degrees.

    dst: the endpoints of all edges of a graph whose vertices have d of their own beyond a clique.
    """
    degree = np.bincount(dst, minlength=n)
    degree += np.minimum(np.arange(n), d)
    return degree.max(), degree[:d].mean(), degree[d : 3 * d].mean(), np.quantile(degree, 0.9999)


def preferential_attachment(model):
    """Batagelj and Brandes' list, in which a vertex stands once an edge; the design's hashes."""
    edges = [(v, u) for v in range(model.d) for u in range(v)]
    for v in range(model.d, model.n):
        ends = [end for edge in edges for end in edge]
        row = []
        for slot in range(model.d):
            attempt = 0
            while True:
                end = ends[edge_draw(model, v, slot, attempt) * len(ends) >> 64] if ends else 0
                if end not in row:
                    break
                attempt += 1
            row.append(end)
        edges += [(v, end) for end in row]
    src, dst = np.array(edges, model.dtype).reshape(-1, 2).T
    return src, dst


def copy_model(n, d, p, seed):
    """The textbook's copy model: one vertex after another, copies read the endpoints stored.

    Returns the endpoints, shape (n, d); rows below d are not used.
    """
    ends = np.zeros((n, d), np.int64)
    copy_rows(np.random.default_rng(seed), p, ends)
    return ends


@compiled  # plain, but of a million vertices
def copy_rows(random, p, ends):
    n, d = ends.shape
    for v in range(d, n):
        slot = 0
        while slot < d:
            u, is_direct = int(random.random() * v), random.random() < p
            copied = int(random.random() * d)
            end = u if u < d or is_direct else ends[u, copied]
            if end not in ends[v, :slot]:
                ends[v, slot] = end
                slot += 1


def degrees_of(src, dst, n):
    return np.bincount(src, minlength=n) + np.bincount(dst, minlength=n)
