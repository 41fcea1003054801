import math
from dataclasses import replace

import pytest
import torch

from contextualdag.errors import TrainingError
from contextualdag.training.cuda_graph import Standing
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import errors, mean_error, residuals
from contextualdag.training.trainer import NoProjection, TrainingSettings, train


def validation_loss(network, split):
    with torch.no_grad():
        W = network.eval()(split.held_out.Z)
        return float(mean_error(errors(residuals(split.held_out.X, W)), split.held_out))


def test_training_stops_at_the_best_validation_loss(two_nodes, network_for):
    split = two_nodes()
    network = network_for(split)
    seen = []
    fit = train(network, NoProjection(), split, TrainingSettings(0.01, 500, 5), progress=lambda *row: seen.append(row))
    losses = [validation for _, _, validation in seen]
    assert fit.validation_loss == min(losses)
    assert losses.index(min(losses)) == fit.epochs
    assert len(losses) == fit.epochs + 6  # five without improvement after it, and the first is epoch 0
    assert validation_loss(network, split) == pytest.approx(fit.validation_loss)


def test_training_may_end_with_the_last_weights(two_nodes, network_for):
    split = two_nodes()
    network = network_for(split)
    seen = []
    settings = TrainingSettings(0.01, 500, 5)
    fit = train(network, NoProjection(), split, settings, progress=lambda *row: seen.append(row[2]), keep_last=True)
    assert fit.validation_loss == min(seen) < seen[-1]
    for state in (fit.learned, network.state_dict()):
        network.load_state_dict(state)
        assert validation_loss(network, split) == pytest.approx(seen[-1])


def test_divergence_is_an_error(two_nodes, network_for):
    split = two_nodes()
    with pytest.raises(TrainingError, match=r"training has diverged. Try a smaller learning_rate than 1e\+20"):
        train(network_for(split), NoProjection(), split, TrainingSettings(1e20, 100, 10))


def test_masks_of_both_sets_hold_in_training(two_nodes, network_for):
    split = two_nodes()
    nothing, everything = torch.zeros(400, 2, 2), torch.ones(400, 2, 2)
    variance = float((split.held_out.X**2).mean())
    masked = Split(replace(split.train, mask=everything), replace(split.held_out, mask=nothing))
    fit = train(network_for(split), NoProjection(), masked, TrainingSettings(0.01, 50, 5))
    assert fit.validation_loss == pytest.approx(variance)
    masked = Split(replace(split.train, mask=nothing), replace(split.held_out, mask=everything))
    network = network_for(split)
    before = validation_loss(network, split)
    assert train(network, NoProjection(), masked, TrainingSettings(0.01, 50, 5)).validation_loss == pytest.approx(before)


def test_batches_hold_every_sample_once(two_nodes, network_for):
    split = two_nodes()
    split = replace(split, train=replace(split.train, mask=torch.ones(400, 2, 2)))
    seen = []

    class Spy(NoProjection):
        def forward(self, W, mask):
            if self.training:
                seen.append(len(mask))
            return super().forward(W, mask)

    fit = train(network_for(split), Spy(), split, TrainingSettings(0.01, 3, 5, batch_size=150))
    assert seen == [200, 200, 200, 200, 200]  # the last epoch only looks where the others led
    assert fit.validation_loss < float((split.held_out.X**2).mean())


def test_rows_without_weight_do_not_matter_in_training(two_nodes, network_for):
    """Half of the rows are spoilt; without weight they change nothing."""
    split = two_nodes(200)
    spoilt = replace(split.train, X=torch.cat([split.train.X[:100], 1e3 + split.train.X[100:]]))
    weight = torch.cat([torch.ones(100), torch.zeros(100)])
    settings = TrainingSettings(0.01, 30, 30)
    weighted = train(network_for(split), NoProjection(), replace(split, train=replace(spoilt, weight=weight)), settings)
    alone = train(network_for(split), NoProjection(), replace(split, train=split.train[:100]), settings)
    assert weighted.validation_loss == pytest.approx(alone.validation_loss, rel=1e-4)


def test_early_stopping_of_several_networks_at_once():
    """The first improves until epoch 1, the second rests, the third becomes infinite."""
    standing = Standing.start(torch.tensor([True, False, True]))
    patience = torch.tensor(2)
    losses = [[3.0, 3.0, 3.0], [2.0, 2.0, float("inf")], [2.5, 1.0, 1.0], [2.0, 1.0, 1.0]]
    improvements = []
    for validation in losses:
        standing, improved = standing.after(torch.zeros(3), torch.tensor(validation), patience)
        improvements.append(improved.tolist())
    assert improvements == [[True, False, True], [True, False, False], [False, False, True], [False, False, False]]
    assert standing.best_epoch.tolist() == [1, 0, 2]
    assert standing.best_validation[0] == 2.0
    assert standing.done.tolist() == [1, 1, 0]
    assert standing.diverged.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("n", "steps", "settled"),
    [(1, 1, 1), (400, 1, 1), (1333, 4, 4), (2000, 5, 1), (4216, 7, 1), (13_333, 12, 3), (10**6, 12, 12)],
)
def test_steps_of_an_epoch_and_of_settling(n, steps, settled):
    rows = Rows(torch.zeros(n, 1), torch.zeros(n, 1))
    settings = TrainingSettings(4e-3, patience=10, batch_size="auto").for_rows(rows)
    assert settings.batch_size == n // steps
    assert settings.patience == pytest.approx(10 / min(math.sqrt(steps), 2.5))
    after = settings.settling()
    if settled >= steps:
        assert after is settings
    else:
        assert (after.batch_size, after.learning_rate) == (n // settled, 2e-3)
        assert after.patience == pytest.approx(10 / math.sqrt(settled))
    own = TrainingSettings(batch_size=50).for_rows(rows)  # what the user asks for stays
    assert own.settling() is own
