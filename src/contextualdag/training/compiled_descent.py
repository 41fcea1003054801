"""The steps of a training as compiled loops on the CPU; `contextualdag.training.trainer.AutogradDescent` is the plain way.

A step is some twenty operations on small arrays. PyTorch spends as much time on calling them as on computing, and holds
Python's lock meanwhile, so that members of an ensemble wait for one another. Here a layer is one call, which releases the
lock. Dropout has random numbers of its own; otherwise results are the same but for rounding.

Everything that the loops call is in this file: numba's cache does not notice changes elsewhere.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from contextualdag.network import ContextNetwork, Dropout, PairNetwork
from contextualdag.projection.kernels.compiled import compiled, compiled_sum
from contextualdag.projection.layer import PairProjection
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import entry_weights
from contextualdag.training.trainer import Descent, State, TrainingSettings, batches, copy_state

Array = NDArray[np.float32]

SILU, ELU, TANH, RELU, GELU = range(5)
KINDS: dict[type[nn.Module], int] = {nn.SiLU: SILU, nn.ELU: ELU, nn.Tanh: TANH, nn.ReLU: RELU, nn.GELU: GELU}
BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam, as in PyTorch

_ONE, _TWO, _HALF, _ZERO = np.float32(1), np.float32(2), np.float32(0.5), np.float32(0)
_LOG2_E, _MOST = np.float32(math.log2(math.e)), np.float32(126)
_TO_NORMAL, _DENSITY = np.float32(math.sqrt(0.5)), np.float32(1 / math.sqrt(2 * math.pi))
# 2^r for |r| <= 1/2 by its Taylor polynomial of degree 6, which is off by 1e-7 at most.
_C1, _C2, _C3, _C4, _C5, _C6 = (np.float32(math.log(2) ** k / math.factorial(k)) for k in range(1, 7))
_GOLDEN, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


class _Part:
    """Rows as arrays, and what each of their entries counts."""

    def __init__(self, X: Array, Z: Array, weights: Array, mask: Array | None) -> None:
        self.X, self.Z, self.weights, self.mask = X, Z, weights, mask

    @classmethod
    def of(cls, rows: Rows, pairs: Tensor) -> "_Part":
        """From tensors; of the masks only the pairs."""
        weights = entry_weights(rows)
        weights = torch.ones_like(rows.X) if weights is None else weights
        p = rows.X.shape[1]
        mask = None if rows.mask is None else rows.mask[:, pairs // p, pairs % p].to(rows.X.dtype)
        arrays = [None if one is None else one.contiguous().numpy() for one in (rows.X, rows.Z, weights, mask)]
        return cls(*arrays)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: NDArray[np.int64] | slice) -> "_Part":
        mask = None if self.mask is None else self.mask[index]
        return _Part(self.X[index], self.Z[index], self.weights[index], mask)

    def total(self) -> float:
        """The sum of all weights."""
        return max(float(self.weights.sum(dtype=np.float64)), float(np.finfo(np.float32).tiny))


class CompiledDescent(Descent):
    """The training of some entries of a network's matrices on the CPU; the others are zero and have no gradient.

    Parameters
    ----------
    network : ContextNetwork
        The network; what is learned is given back to it in the end.
    layer : nn.Module
        A `PairProjection` for these entries, or a layer that only masks.
    split : Split
        Rows to train on and rows held out.
    pairs : Tensor of int64, shape (l,)
        Positions of the entries in the flattened matrices.
    settings : TrainingSettings
        How to descend.
    generator : torch.Generator
        Source of the order of batches; its seed is that of dropout.
    """

    def __init__(
        self,
        network: ContextNetwork,
        layer: nn.Module,
        split: Split,
        pairs: Tensor,
        settings: TrainingSettings,
        generator: torch.Generator,
    ) -> None:
        self._layer = layer if isinstance(layer, PairProjection) else None
        self._train, self._held_out = _Part.of(split.train, pairs), _Part.of(split.held_out, pairs)
        self._network, self._live, n_nodes = network, PairNetwork(network, pairs), network.n_nodes
        self._source, self._target = (pairs // n_nodes).numpy(), (pairs % n_nodes).numpy()
        self._settings, self._generator = settings, generator
        linear = [module for module in self._live.hidden if isinstance(module, nn.Linear)]
        self._kinds = [KINDS[type(module)] for module in self._live.hidden if type(module) in KINDS]
        self._shares = [module.share for module in self._live.hidden if isinstance(module, Dropout)]
        self._n_passes = self._n_steps = 0

        # All weights lie in one array, of which the parameters of the network are parts. So do their gradients.
        parameters = [parameter for module in [*linear, self._live.last] for parameter in (module.weight, module.bias)]
        self._weights = torch.cat([parameter.detach().flatten() for parameter in parameters])
        self._gradient = torch.zeros_like(self._weights)
        self._first, self._second = np.zeros((2, len(self._weights)), np.float32)
        sizes = [parameter.numel() for parameter in parameters]
        parts = zip(parameters, self._weights.split(sizes), self._gradient.split(sizes), strict=True)
        values, slopes = [], []
        for parameter, value, slope in parts:
            parameter.data = value.view_as(parameter)
            values.append(parameter.data.numpy())
            slopes.append(slope.view_as(parameter).numpy())
        self._layers = list(zip(values[::2], values[1::2], slopes[::2], slopes[1::2], strict=True))

        # What a pass through the network leaves behind, and what the way back does.
        size = settings.batch_size if isinstance(settings.batch_size, int) else len(self._train)
        self._n_rows = math.ceil(len(self._train) / max(len(self._train) // size, 1))  # of the largest batch
        self._hidden = [np.empty((3, self._n_rows, module.out_features), np.float32) for module in linear]
        self._entries = np.empty((2, self._n_rows, len(pairs)), np.float32)

    def begin_epoch(self) -> float:
        """The training loss of the first batch."""
        self._batches = self._draw()
        return self._learn_from(next(self._batches))

    def held_out_loss(self) -> float:
        """The loss on the rows held out, without dropout and with the threshold of the first batch."""
        loss, total = 0.0, self._held_out.total()
        for start in range(0, len(self._held_out), self._n_rows):
            rows = self._held_out[start : start + self._n_rows]
            W, _ = self._graphs(rows, training=False)
            loss += _squares(rows.X, W, self._source, self._target, rows.weights, total, W[:0])
        return loss / total

    def finish_epoch(self) -> None:
        """Take the step of the first batch and those of the others."""
        self._step()
        for batch in self._batches:
            self._learn_from(batch)
            self._step()

    def weights(self) -> Tensor:
        """A copy of all weights."""
        return self._weights.clone()

    def set_weights(self, weights: Tensor) -> None:
        """Set all weights."""
        self._weights.copy_(weights)

    def learned(self) -> State:
        """The weights of the whole network."""
        self._live.merge_into(self._network)
        return copy_state(self._network)

    def _draw(self) -> Iterator[_Part]:
        for index in batches(len(self._train), self._settings.batch_size, self._generator):
            yield self._train if index is None else self._train[index.numpy()]

    def _graphs(self, rows: _Part, training: bool) -> tuple[Array, bool]:
        """The entries of the graphs, and whether the budget binds."""
        n, h = len(rows), rows.Z
        *below, (W_last, b_last, _, _) = self._layers
        for (W, b, _, _), kept, kind, share in zip(below, self._hidden, self._kinds, self._shares, strict=True):
            out, slope = kept[0, :n], kept[1, :n]
            limit = round(share * 2**16) if training else 0
            seed = np.uint64((self._generator.initial_seed() + self._n_passes) % 2**64)
            _linear(h, W, out)
            _activate(out, b, kind, seed, limit, np.float32(2**16 / (2**16 - limit)), slope)
            self._n_passes += 1
            h = out
        entries = self._entries[0, :n]
        _linear(h, W_last, entries)
        _finish(entries, b_last, entries if rows.mask is None else rows.mask, rows.mask is not None)
        if self._layer is None:
            return entries, False
        self._layer.train(training)
        projected, binds = self._layer.project(torch.from_numpy(entries))
        return projected.numpy(), binds

    def _learn_from(self, rows: _Part) -> float:
        """The loss of a batch, and its gradient in all weights."""
        n = len(rows)
        W, binds = self._graphs(rows, training=True)
        error = self._entries[1, :n]
        total = rows.total()
        loss = float(_squares(rows.X, W, self._source, self._target, rows.weights, total, error))
        if self._layer is not None:
            _through_projection(error, W, binds)
        elif rows.mask is not None:
            np.multiply(error, rows.mask, out=error)
        for i in reversed(range(len(self._layers))):
            weight, _, dW, db = self._layers[i]
            _weight_gradient(error, self._hidden[i - 1][0, :n] if i > 0 else rows.Z, dW, db)
            if i > 0:
                below = self._hidden[i - 1][2, :n]
                _through_layer(error, weight, self._hidden[i - 1][1, :n], below)
                error = below
        return loss / total

    def _step(self) -> None:
        self._n_steps += 1
        beta1, beta2 = BETAS
        rate = self._settings.learning_rate / (1 - beta1**self._n_steps)
        root = math.sqrt(1 - beta2**self._n_steps)
        numbers = (np.float32(x) for x in (rate, 1 / root, 1 - beta1, beta2, 1 - beta2, EPSILON))
        _adam(self._weights.numpy(), self._gradient.numpy(), self._first, self._second, *numbers)


@compiled
def _linear(h, W, out):
    """The rows h (n, a) by the weights W (b, a)."""
    np.dot(h, W.T, out)


@compiled_sum
def _activate(a, bias, kind, seed, limit, scale, slope):
    """Turn products with weights into the output of a hidden layer, in place, and write its derivative.

    A unit is dropped where its sixteen random bits are a number below `limit`, otherwise multiplied by `scale`.
    """
    n, width = a.shape
    bits = np.zeros((width + 3) // 4, np.uint64)
    numbers = bits.view(np.uint16)
    power, exponent = np.empty(width, np.float32), np.empty(width, np.int32)
    shifted = exponent.view(np.float32)
    factor = -_ONE if kind == SILU else (-_TWO if kind == TANH else _ONE)
    for i in range(n):
        row, its = a[i], slope[i]
        for k in range(width):
            row[k] += bias[k]
        if kind == RELU:
            for k in range(width):
                its[k] = _ONE if row[k] > _ZERO else _ZERO
                row[k] = max(row[k], _ZERO)
        elif kind == GELU:
            for k in range(width):
                x = row[k]
                below = _HALF * (_ONE + np.float32(math.erf(x * _TO_NORMAL)))
                its[k] = below + x * _DENSITY * np.float32(math.exp(-_HALF * x * x))
                row[k] = x * below
        else:
            for k in range(width):
                x = row[k] * factor if kind != ELU else min(row[k], _ZERO)
                t = min(max(x * _LOG2_E, -_MOST), _MOST)
                whole = np.floor(t + _HALF)
                r = t - whole
                power[k] = _ONE + r * (_C1 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6)))))
                exponent[k] = (np.int32(whole) + np.int32(127)) << np.int32(23)
            if kind == SILU:
                for k in range(width):
                    x, s = row[k], _ONE / (_ONE + power[k] * shifted[k])
                    row[k] = x * s
                    its[k] = s * (_ONE + x * (_ONE - s))
            elif kind == TANH:
                for k in range(width):
                    e = power[k] * shifted[k]
                    t = (_ONE - e) / (_ONE + e)
                    row[k] = t
                    its[k] = _ONE - t * t
            else:
                for k in range(width):
                    x, e = row[k], power[k] * shifted[k]
                    row[k] = x if x > _ZERO else e - _ONE
                    its[k] = _ONE if x > _ZERO else e
        if limit > 0:
            begin = seed * _GOLDEN + np.uint64(i) * np.uint64(len(bits))
            for q in range(len(bits)):
                z = (begin + np.uint64(q)) * _GOLDEN
                z = (z ^ (z >> _S30)) * _MIX1
                z = (z ^ (z >> _S27)) * _MIX2
                bits[q] = z ^ (z >> _S31)
            for k in range(width):
                kept = scale if numbers[k] >= limit else _ZERO
                row[k] *= kept
                its[k] *= kept


@compiled
def _finish(entries, bias, mask, has_mask):
    """Add the bias; entries that a mask does not let through become zero."""
    n, width = entries.shape
    for i in range(n):
        for e in range(width):
            entries[i, e] += bias[e]
        if has_mask:
            for e in range(width):
                entries[i, e] *= mask[i, e]


@compiled
def _squares(X, W, source, target, weights, total, gradient):
    """The sum of squared residuals with weights, under graphs with entries W (n, l).

    Where there is a `gradient` (n, l) to be written, it is that of their mean.
    """
    (n, p), n_pairs = X.shape, len(source)
    loss, factor = 0.0, np.float32(-2 / total)
    left = np.empty(p, np.float32)
    for i in range(n):
        x, w = X[i], W[i]
        left[:] = x
        for e in range(n_pairs):
            left[target[e]] -= x[source[e]] * w[e]
        for k in range(p):
            r = left[k]
            left[k] *= weights[i, k]
            loss += np.float64(r * left[k])
        if len(gradient) > 0:
            for k in range(p):
                left[k] *= factor
            for e in range(n_pairs):
                gradient[i, e] = left[target[e]] * x[source[e]]
    return loss


@compiled_sum
def _through_projection(g, W, binds):
    """Turn the gradient in the entries of sparse graphs into that in the entries before, see `contextualdag.projection`."""
    n, width = g.shape
    along, count = 0.0, 0
    if binds:
        for i in range(n):
            for e in range(width):
                w = W[i, e]
                along += np.float64(g[i, e] if w > 0 else (-g[i, e] if w < 0 else _ZERO))
                count += w != 0
    mean = np.float32(along / max(count, 1))
    for i in range(n):
        for e in range(width):
            w = W[i, e]
            g[i, e] = g[i, e] - mean if w > 0 else (g[i, e] + mean if w < 0 else _ZERO)


@compiled_sum
def _weight_gradient(g, h, dW, db):
    """The gradient in weights and bias of a layer with input h (n, a), from that in its output (n, b)."""
    np.dot(g.T, h, dW)
    db[:] = 0
    for i in range(len(g)):
        for k in range(len(db)):
            db[k] += g[i, k]


@compiled
def _through_layer(g, W, slope, out):
    """The gradient in what a hidden layer is before its activation, from that in the output of the next layer."""
    np.dot(g, W, out)
    n, width = out.shape
    for i in range(n):
        for k in range(width):
            out[i, k] *= slope[i, k]


@compiled
def _adam(weights, gradient, first, second, rate, scale, new1, old2, new2, epsilon):
    for k in range(len(weights)):
        g = gradient[k]
        m = first[k] + (g - first[k]) * new1
        v = old2 * second[k] + new2 * g * g
        first[k], second[k] = m, v
        weights[k] -= rate * m / (np.sqrt(v) * scale + epsilon)
