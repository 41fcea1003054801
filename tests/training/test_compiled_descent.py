"""Compiled steps against the same steps in plain PyTorch."""

import copy
import math

import numpy as np
import pytest
import torch

from contextualdag.network import ACTIVATIONS, ContextNetwork, initialise
from contextualdag.projection import DAGProjection, Order
from contextualdag.training.compiled_descent import CompiledDescent, _activate
from contextualdag.training.data import Rows, Split
from contextualdag.training.pairs import layer_on_pairs
from contextualdag.training.trainer import AutogradDescent, NoProjection, TrainingSettings, descend

P, M, N = 6, 3, 90


def rows_like(generator, *, masked=False, weighted=False, holes=False):
    mask = (torch.rand(N, P, P, generator=generator) < 0.7).float() if masked else None
    weight = torch.rand(N, generator=generator) + 0.5 if weighted else None
    scored = torch.rand(N, P, generator=generator) < 0.8 if holes else None
    X, Z = torch.randn(N, P, generator=generator), torch.randn(N, M, generator=generator)
    return Rows(X, Z, mask=mask, weight=weight, scored=scored)


def both(pairs=None, layer=None, settings=None, activation="silu", hidden_layers=(16, 8), dropout=0.0, **options):
    """The plain and the compiled training of the same network."""
    generator = torch.Generator().manual_seed(1)
    split = Split(rows_like(generator, **options), rows_like(generator, **options))
    network = ContextNetwork(M, P, hidden_layers, activation, dropout)
    initialise(network, generator)
    with torch.no_grad():  # biases are zero at first, and then a wrong one would not be seen
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    pairs = network.places if pairs is None else pairs
    dropped = torch.ones(P * P, dtype=torch.bool)
    dropped[pairs] = False
    network.drop(dropped.view(P, P))
    layer = NoProjection() if layer is None else layer
    settings = TrainingSettings(0.01, 40, 40) if settings is None else settings
    own = layer_on_pairs(layer, pairs, P)
    plain = AutogradDescent(copy.deepcopy(network), layer, split, settings, generator=torch.Generator().manual_seed(2))
    compiled = CompiledDescent(network, own, split, pairs, settings, torch.Generator().manual_seed(2))
    return plain, compiled, settings


def run(descent, settings, **options):
    """All epochs, and the losses of each."""
    seen = []
    steps = descend(descent, settings, progress=lambda *row: seen.append(row[1:]), **options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, np.array(seen)


def assert_same(plain, compiled, settings, **options):
    (fit, seen), (other, other_seen) = run(plain, settings, **options), run(compiled, settings, **options)
    np.testing.assert_allclose(other_seen, seen, rtol=2e-4)
    assert other.epochs == fit.epochs
    for name, value in fit.learned.items():
        torch.testing.assert_close(other.learned[name], value, rtol=5e-3, atol=2e-4)
    return seen


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation(activation):
    seen = assert_same(*both(activation=activation))
    assert seen[-1, 0] < 0.98 * seen[0, 0]  # it has learned something


@pytest.mark.parametrize("hidden_layers", [(), (5,), (16, 16, 16)])
def test_any_number_of_layers(hidden_layers):
    assert_same(*both(hidden_layers=hidden_layers))


@pytest.mark.parametrize("options", [{"masked": True}, {"weighted": True}, {"holes": True}, {"weighted": 1, "holes": 1}])
def test_masks_weights_and_holes(options):
    assert_same(*both(**options))
    assert_same(*both(**options, layer=DAGProjection(0.3)))


@pytest.mark.parametrize("l1_budget", [0.0, 0.2, 100.0, math.inf])
def test_budgets_that_bind_and_that_do_not(l1_budget):
    assert_same(*both(layer=DAGProjection(l1_budget, Order(starts=1))))


def test_a_few_pairs():
    pairs = torch.tensor([1, 2, 9, 13, 26])
    for layer in (NoProjection(), DAGProjection(0.2)):
        plain, compiled, settings = both(pairs, layer=layer)
        if isinstance(layer, NoProjection):  # the plain way then needs to be told that the others are no edges
            mask = torch.zeros(P * P)
            mask[pairs] = 1
            split = plain._split
            plain._split = Split(*(copy.copy(part) for part in (split.train, split.held_out)))
            for part in (plain._split.train, plain._split.held_out):
                object.__setattr__(part, "mask", mask.view(P, P).expand(N, P, P))
        assert_same(plain, compiled, settings)


def test_batches_are_those_of_the_plain_way():
    assert_same(*both(settings=TrainingSettings(0.01, 10, 10, batch_size=20)), keep_last=True)


def test_training_stops_and_goes_back():
    settings = TrainingSettings(0.05, 500, 5)
    plain, compiled, _ = both(settings=settings)
    fit, seen = run(compiled, settings)
    assert len(seen) == fit.epochs + 6 < 500
    assert fit.validation_loss == seen[:, 1].min()
    assert compiled.held_out_loss() == fit.validation_loss
    assert run(plain, settings)[0].epochs == fit.epochs


def activated(kind, x, *, limit=0, scale=1.0, seed=0):
    a, slope = x.copy(), np.empty_like(x)
    _activate(a, np.zeros(x.shape[1], np.float32), kind, np.uint64(seed), limit, np.float32(scale), slope)
    return a, slope


@pytest.mark.parametrize("kind", range(5))
def test_activations_are_exact_to_rounding(kind):
    x = np.concatenate([np.linspace(-100, 100, 4001), np.linspace(-1, 1, 4001), [1e-30, -1e-30]])[None].astype(np.float32)
    found, slope = activated(kind, x)
    name = ["silu", "elu", "tanh", "relu", "gelu"][kind]
    exact = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    expected = ACTIVATIONS[name]()(exact)
    (gradient,) = torch.autograd.grad(expected.sum(), exact)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-6, atol=5e-7)
    np.testing.assert_allclose(slope, gradient.numpy(), rtol=1e-6, atol=5e-7)


def test_dropout_drops_its_share_and_scales_the_rest():
    x = np.full((400, 130), 2, np.float32)
    kept, slope = activated(3, x, limit=round(0.3 * 2**16), scale=1 / 0.7, seed=7)
    assert set(np.unique(kept).tolist()) == {0.0, np.float32(2) * np.float32(1 / 0.7)}
    share = (kept == 0).mean()
    assert share == pytest.approx(0.3, abs=4 * math.sqrt(0.3 * 0.7 / x.size))
    np.testing.assert_array_equal(slope == 0, kept == 0)
    # Neither units nor rows nor passes are alike.
    dropped = kept == 0
    assert np.abs(np.corrcoef(dropped.T) - np.eye(130)).max() < 0.3
    assert np.abs(np.corrcoef(dropped) - np.eye(400)).max() < 0.5
    again = activated(3, x, limit=round(0.3 * 2**16), scale=1 / 0.7, seed=8)[0] == 0
    assert (again & dropped).mean() == pytest.approx(0.09, abs=0.005)


def test_dropout_is_not_used_on_rows_held_out():
    _, compiled, _ = both(dropout=0.5)
    compiled.begin_epoch()
    assert compiled.held_out_loss() == compiled.held_out_loss()
    first, second = compiled.begin_epoch(), compiled.begin_epoch()
    assert first != second


def test_same_seed_same_bits():
    settings = TrainingSettings(0.01, 10, 10, batch_size=30)
    one, other = (run(*both(dropout=0.4, layer=DAGProjection(0.4), settings=settings)[1:])[0] for _ in range(2))
    for name, value in one.learned.items():
        assert torch.equal(value, other.learned[name])
