"""Projections of random matrices of every kind, with a check of acyclicity that shares no code with the package."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attack.program import Case, Found
from contextualdag.projection import DAGProjection, LogDet, Order

TITLE = "Graphs projected"
KINDS = ("gaussian", "ties", "integers", "huge", "tiny", "sparse", "symmetric", "outliers", "permuted", "signed zero")
ENTRIES = 1_600_000  # of one batch
SOLVERS = {"order": Order, "logdet": LogDet}


def cases(short: bool) -> Iterator[Case]:
    """Sizes and kinds by turns; the log-determinant, which is slower, in one case of eight."""
    for number in itertools.count():
        p = (3, 5, 8, 2, 10, 20, 4, 13)[number % 8]
        solver = "logdet" if number % 8 == 3 or number % 16 == 8 else "order"
        n = ENTRIES // p**2 // (40 if solver == "logdet" else 1) // (4 if p > 8 else 1) // (8 if short else 1)
        budget = (math.inf, 0.01, 1.0, 100.0)[number // 8 % 4]
        kind = KINDS[number % len(KINDS)]
        yield {"seed": number, "p": p, "n": n, "solver": solver, "kind": kind, "budget": budget}


def check(case: Case, scratch: Path) -> Found:
    """Project a batch, and look for cycles, entries that are not finite, and edges that were not there."""
    W = _matrices(case)
    before = W.clone()
    layer = DAGProjection(l1_budget=case["budget"], acyclicity=SOLVERS[case["solver"]]())
    with torch.no_grad():
        projected = layer(W)
    counts = {"graphs": float(len(W))}
    if not torch.equal(W, before):
        return Found(counts, "The input was changed.")
    A = projected.numpy()
    if not np.isfinite(A).all():
        return Found(counts, f"{int((~np.isfinite(A)).any((1, 2)).sum())} graphs are not finite.")
    cyclic = has_cycle(A != 0)
    if cyclic.any():
        first = int(cyclic.nonzero()[0][0])
        return Found(counts, f"{int(cyclic.sum())} graphs have cycles, the first is number {first}: {A[first].tolist()}")
    if ((A != 0) & (before.numpy() == 0)).any():
        return Found(counts, "There are edges where the matrix has none.")
    return Found(counts)


def has_cycle(edges: Any) -> Any:
    """Whether graphs (n, p, p) of edges have cycles: nodes without parents are taken away until none is left."""
    n, p = edges.shape[:2]
    left = np.ones((n, p), dtype=bool)
    for _ in range(p):
        has_parent = np.einsum("njk,nj->nk", edges, left, dtype=np.int64) > 0
        left &= has_parent
    return left.any(1)


def _matrices(case: Case) -> torch.Tensor:
    rng, n, p = np.random.default_rng(case["seed"]), case["n"], case["p"]
    W = rng.standard_normal((n, p, p))
    match case["kind"]:
        case "ties":
            W = np.sign(W)
        case "integers":
            W = np.round(2 * W)
        case "huge":
            W = W * 1e15
        case "tiny":
            W = W * 1e-15
        case "sparse":
            W = W * (rng.random(W.shape) < 1.5 / p)
        case "symmetric":
            W = W + W.transpose(0, 2, 1)
        case "outliers":
            W = W**9
        case "permuted":
            order = rng.permuted(np.tile(np.arange(p), (n, 1)), axis=1)
            W = np.take_along_axis(np.take_along_axis(np.triu(W, 1), order[:, :, None], 1), order[:, None], 2)
        case "signed zero":
            W = np.where(rng.random(W.shape) < 0.5, -0.0, W)
    W[:, np.arange(p), np.arange(p)] = 0
    return torch.from_numpy(W.astype(np.float32))
