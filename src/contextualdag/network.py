"""The networks: context to matrix, and context to mean.

Their weights come from generators of their own, never from PyTorch's global one: see `initialise`.
"""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}
MOST_DROPPED, LEAST_DROPPED = (3, 0.8), (300, 0.2)  # samples for each variable and feature, and the share of hidden units
SAMPLES_AT_ONCE = 256  # of a product that runs over samples on a GPU


class ContextNetwork(nn.Module):
    """Map contexts z (n, m) to matrices W~ (n, p, p) with a zero diagonal.

    Parameters
    ----------
    n_features : int
        m, the number of context features.
    n_nodes : int
        p, the number of variables.
    hidden_layers : sequence of int
        Widths of the hidden layers; empty for a linear map.
    activation : str
        One of `ACTIVATIONS`.
    dropout : float
        Share of hidden units that are dropped in training.
    allowed : Tensor of bool, shape (p, p), optional
        Allowed edges; entries of W~ for the others are always zero. By default all but the diagonal.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.network import ContextNetwork
    >>> network = ContextNetwork(2, 3, hidden_layers=(8,), activation="silu", dropout=0.0)
    >>> network(torch.zeros(4, 2)).shape
    torch.Size([4, 3, 3])
    """

    places: Tensor

    def __init__(
        self,
        n_features: int,
        n_nodes: int,
        hidden_layers: Sequence[int],
        activation: str,
        dropout: float,
        allowed: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.n_features, self.n_nodes = n_features, n_nodes
        self.hidden_layers, self.activation = tuple(hidden_layers), activation
        self.hidden, width = _hidden(n_features, hidden_layers, activation, dropout)
        self.allowed = ~torch.eye(n_nodes, dtype=torch.bool)
        if allowed is not None:
            self.allowed &= allowed.cpu()
        self.register_buffer("places", self.allowed.flatten().nonzero().flatten(), persistent=False)
        self.last = PlainLinear(width, len(self.places))
        initialise(self, torch.Generator().manual_seed(0))

    @property
    def shape(self) -> dict[str, Any]:
        """Arguments of the constructor that determine which weights the network has, but for `allowed`."""
        names = ("n_features", "n_nodes", "hidden_layers", "activation")
        return {name: getattr(self, name) for name in names}

    @property
    def live(self) -> Tensor:
        """Entries of W~ that are not zero in every context, as bool (p, p)."""
        not_zero = (self.last.weight != 0).any(1) | (self.last.bias != 0)
        live = torch.zeros(self.n_nodes**2, dtype=torch.bool, device=not_zero.device)
        live[self.places] = not_zero
        return live.view(self.n_nodes, self.n_nodes)

    @torch.no_grad()
    def drop(self, pairs: Tensor) -> None:
        """Set entries of W~, given as bool (p, p), to zero in every context. A projection gives them no gradient then."""
        rows = pairs.flatten()[self.places]
        self.last.weight[rows] = 0
        self.last.bias[rows] = 0

    def forward(self, z: Tensor) -> Tensor:
        """Return W~ (n, p, p)."""
        # The rows of the last layer, p (p - 1) at most, are spread over p^2: cheaper than spreading n outputs.
        p = self.n_nodes
        weight = self.last.weight.new_zeros(p * p, self.last.in_features).index_copy(0, self.places, self.last.weight)
        bias = self.last.bias.new_zeros(p * p).index_copy(0, self.places, self.last.bias)
        return linear(self.hidden(z), weight, bias).view(-1, p, p)


class PairNetwork(nn.Module):
    """A `ContextNetwork` on the CPU that only computes some entries of its matrices, W~ (n, l): cheaper where these are few.

    It starts from the weights of the network, and `merge_into` gives it back what was learned.

    Parameters
    ----------
    network : ContextNetwork
        The network; it is not changed.
    pairs : Tensor of int64, shape (l,)
        Allowed entries of the matrices, as positions in the flattened matrix.
    """

    def __init__(self, network: ContextNetwork, pairs: Tensor) -> None:
        super().__init__()
        self.hidden = copy.deepcopy(network.hidden)
        self._rows = torch.searchsorted(network.places, pairs)
        self.last = Linear(network.last.in_features, len(pairs))
        with torch.no_grad():
            self.last.weight.copy_(network.last.weight[self._rows])
            self.last.bias.copy_(network.last.bias[self._rows])

    def forward(self, z: Tensor) -> Tensor:
        """Return the entries (n, l)."""
        output: Tensor = self.last(self.hidden(z))
        return output

    @torch.no_grad()
    def merge_into(self, network: ContextNetwork) -> None:
        """Set the weights of a network to those learned here; its other entries keep theirs."""
        network.hidden.load_state_dict(self.hidden.state_dict())
        network.last.weight[self._rows] = self.last.weight
        network.last.bias[self._rows] = self.last.bias


class PlainLinear(nn.Linear):
    """As `torch.nn.Linear`, with weights that `initialise` draws: PyTorch would take them from its global generator."""

    def reset_parameters(self) -> None:
        """Draw nothing."""


class Linear(PlainLinear):
    """As `torch.nn.Linear`, by way of `linear`."""

    def forward(self, h: Tensor) -> Tensor:
        """Apply it."""
        return linear(h, self.weight, self.bias)


def linear(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """As `torch.nn.functional.linear`, with a gradient that networks side by side on a GPU get sooner."""
    if h.device.type == "cpu":
        return functional.linear(h, weight, bias)
    product: Tensor = _Linear.apply(h, weight, bias)  # type: ignore[no-untyped-call]
    return product


class _Linear(torch.autograd.Function):
    """The gradient of the weights as a sum of products over parts of the samples.

    It has few entries and many samples to run over. For one network the libraries know what to do; for several at once a GPU
    gives every few entries to one block, which runs over all samples while most of the GPU has nothing to do.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.linear(h, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        h, weight = ctx.saved_tensors
        parts = max(len(h) // SAMPLES_AT_ONCE, 1)
        whole = len(h) // parts * parts
        dW = (g[:whole].reshape(parts, -1, g.shape[1]).mT @ h[:whole].reshape(parts, -1, h.shape[1])).sum(0)
        if whole < len(h):
            dW = dW + g[whole:].mT @ h[whole:]
        return g @ weight if ctx.needs_input_grad[0] else None, dW, g.sum(0)


class Dropout(nn.Module):
    """Inverted dropout, as `torch.nn.Dropout`, with cheaper random numbers on the CPU: sixteen bits a unit."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None  # on the CPU; PyTorch's own by default

    def forward(self, h: Tensor) -> Tensor:
        """Drop units in training, scale the others up."""
        if not self.training or self.share == 0 or h.device.type != "cpu":
            return functional.dropout(h, self.share, self.training)
        bits = torch.empty((h.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None, generator=self.generator)
        limit = round(self.share * 2**16)
        kept = bits.view(torch.int16)[: h.numel()].view(h.shape) >= limit - 2**15
        return h * kept.to(h.dtype).mul_(2**16 / (2**16 - limit))


class MeanNetwork(nn.Module):
    """Map contexts z (n, m) to means of the variables (n, p): a linear map plus a network that starts at zero."""

    def __init__(self, n_features: int, n_nodes: int, hidden_layers: Sequence[int], activation: str) -> None:
        super().__init__()
        self.linear = PlainLinear(n_features, n_nodes)
        self.hidden, width = _hidden(n_features, hidden_layers, activation, dropout=0.0)
        self.last = PlainLinear(width, n_nodes)
        initialise(self, torch.Generator().manual_seed(0))

    def forward(self, z: Tensor) -> Tensor:
        """Return the means (n, p)."""
        mean: Tensor = self.linear(z) + self.last(self.hidden(z))
        return mean


def state_shapes(n_features: int, n_nodes: int, hidden_layers: Sequence[int], allowed: Tensor) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a `ContextNetwork`, which is not built."""
    shapes: dict[str, tuple[int, ...]] = {}
    width = n_features
    for layer, next_width in enumerate(hidden_layers):
        shapes |= {f"hidden.{3 * layer}.weight": (next_width, width), f"hidden.{3 * layer}.bias": (next_width,)}
        width = next_width
    n_places = int((allowed & ~torch.eye(n_nodes, dtype=torch.bool)).sum())
    return shapes | {"last.weight": (n_places, width), "last.bias": (n_places,)}


def auto_dropout(n_samples: int, n_nodes: int, n_features: int) -> float:
    """Share of hidden units to drop: more where samples are few for each variable and feature, linear in their logarithm.

    Examples
    --------
    >>> from contextualdag.network import auto_dropout
    >>> round(auto_dropout(n_samples=1200, n_nodes=20, n_features=2), 3)
    0.5
    """
    (few, most), (many, least) = MOST_DROPPED, LEAST_DROPPED
    way = math.log(n_samples / (n_nodes * n_features) / few) / math.log(many / few)
    return most + (least - most) * min(max(way, 0.0), 1.0)


@torch.no_grad()
def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Glorot-uniform weights and zero biases; the part of a `MeanNetwork` that is not a hidden layer starts at zero."""
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear):
            limit = math.sqrt(6 / (module.in_features + module.out_features))
            if isinstance(network, MeanNetwork) and name in ("linear", "last"):
                limit = 0.0
            module.weight.copy_(torch.rand(module.weight.shape, generator=generator) * 2 * limit - limit)
            module.bias.zero_()


def _hidden(n_features: int, hidden_layers: Sequence[int], activation: str, dropout: float) -> tuple[nn.Sequential, int]:
    layers: list[nn.Module] = []
    width = n_features
    for next_width in hidden_layers:
        layers += [Linear(width, next_width), ACTIVATIONS[activation](), Dropout(dropout)]
        width = next_width
    return nn.Sequential(*layers), width
