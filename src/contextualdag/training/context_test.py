"""Whether the context matters to the graphs: a permutation test that needs no refit."""

from dataclasses import dataclass

import torch
from torch import Tensor

from contextualdag.training.data import Rows
from contextualdag.training.loss import graph_loss

LEVEL = 0.05
N_PERMUTATIONS = 199
MOST_ROWS = 2000


@dataclass(frozen=True)
class ContextTest:
    """How rows held out are predicted with the graphs of their own contexts and of one another's.

    Attributes
    ----------
    p_value : float
        Share of random permutations of the graphs that predict as well, their own included.
    gain : float
        Share of the squared error that a row's own graph saves against those of other contexts.
    n_rows : int
        Number of rows held out that were used.
    """

    p_value: float
    gain: float
    n_rows: int

    @property
    def context_matters(self) -> bool:
        """Whether the test rejects that graphs are the same for all contexts."""
        return self.p_value <= LEVEL


def context_test(W: Tensor, rows: Rows, seed: int) -> ContextTest:
    """Deal out graphs W (n, p, p) to rows at random.

    If rows do not depend on their contexts they are exchangeable, and the p-value is uniformly distributed for graphs that
    were learned from other rows.
    """
    generator = torch.Generator().manual_seed(seed)
    if len(W) > MOST_ROWS:
        some = torch.randperm(len(W), generator=generator)[:MOST_ROWS].sort().values.to(W.device)
        W, rows = W[some], rows[some]
    own = float(graph_loss(W, rows))
    dealt = (torch.randperm(len(W), generator=generator).to(W.device) for _ in range(N_PERMUTATIONS))
    losses = [float(graph_loss(W[order], rows)) for order in dealt]
    as_good = sum(loss <= own for loss in losses)
    mean = sum(losses) / len(losses)
    return ContextTest((1 + as_good) / (1 + N_PERMUTATIONS), 1 - own / mean if mean > 0 else 0.0, len(W))
