"""Are edge probabilities right? `python -m benchmarks.calibration collect FOLDER`, then `learn` or `report`.

`collect` fits a `BootstrapDAG` to data sets of several designs and keeps shares, graphs and truth for new contexts, one file
for each data set. `learn` fits the curves of ``src/contextualdag/estimators/calibration.py`` to such files. `report`, for
data sets that were not learned from, compares probabilities with how often they come true, and draws the curves.
"""

import argparse
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from contextualdag import BootstrapDAG, ContextualDAG, metrics
from contextualdag.datasets import make_varying_dag
from contextualdag.effects import total_effects
from contextualdag.estimators.calibration import FORWARD_SHARES, SHARES, calibrated, interval
from contextualdag.paper.outputs import markdown_table

Array = NDArray[np.float64]

N_NEW, N_EFFECTS = 500, 100  # new contexts, and those of them whose effects are looked at
BINS = np.linspace(0, 1, 11)
FEWEST = 100  # edges in a bin that is reported
POSSIBLE = 0.1  # probability above which a pair counts where those that are surely not joined would outnumber all others
DESIGNS: dict[str, tuple[int, dict[str, Any]]] = {
    "n1000": (1000, {}),
    "n316-p10": (316, {"n_nodes": 10}),
    "unequal": (1000, {"noise_scale": (0.5, 2.0)}),
    "weak": (1000, {"weak_edges": True}),
    "hubs-m5": (1000, {"graph": "scale-free", "n_features": 5}),
    "n3162": (3162, {}),
    "n316": (316, {}),
    "one-order": (1000, {"reversals": False, "n_edges": 20}),
    "p10-m1": (1000, {"n_nodes": 10, "n_features": 1}),
    "dense": (1000, {"n_edges": 30}),
}


@dataclass(frozen=True)
class Result:
    """What one data set showed.

    Shares of halves and of members, graphs of the fit and true ones (n, p, p), and weights of halves (b, n', p, p).
    """

    shares: Array
    members: Array
    own: Array
    truth: Array
    halves: Array

    @property
    def probabilities(self) -> Array:
        """Calibrated probabilities (n, p, p)."""
        return calibrated(self.shares, self.members, ~np.eye(self.own.shape[1], dtype=bool))


def collect(folder: Path, names: Iterable[str], seeds: Iterable[int], n_resamples: int) -> None:
    for name in names:
        n, design = DESIGNS[name]
        for seed in seeds:
            data = make_varying_dag(n + N_NEW, **({"n_nodes": 20} | design), random_state=seed)
            model = BootstrapDAG(ContextualDAG(random_state=0, verbose=False), n_resamples=n_resamples, verbose=False)
            model.fit(data.X[:n], data.Z[:n])
            Z = data.Z[n:]
            contexts, solution = model._preparation.scaling.contexts(Z), model._solution
            members = [solution.member_graphs(k, contexts) for k in range(solution.n_members)]
            np.savez_compressed(
                folder / f"{name}-{seed}.npz",
                shares=model.edge_probabilities(Z, calibrate=False).astype(np.float32),
                members=np.mean([W.numpy() != 0 for W in members], axis=0).astype(np.float32),
                own=model.adjacency(Z).astype(np.float32),
                truth=data.W[n:].astype(np.float32),
                halves=np.stack(list(model._graphs(model._encode(Z[:N_EFFECTS])))).astype(np.float16),
            )
            print(name, seed, flush=True)


def load(folder: Path) -> dict[str, list[Result]]:
    """The results in a folder, by design."""
    found: dict[str, list[Result]] = {}
    for file in sorted(folder.glob("*.npz")):
        arrays = {name: values.astype(float) for name, values in np.load(file).items()}
        found.setdefault(file.stem.rsplit("-", 1)[0], []).append(Result(**arrays))
    return dict(sorted(found.items(), key=lambda item: list(DESIGNS).index(item[0])))


def upper(W: Array) -> tuple[Array, Array]:
    """Entries of each pair, forward and backward."""
    j, k = np.triu_indices(W.shape[1], 1)
    return W[:, j, k].ravel(), W[:, k, j].ravel()


def joins(W: Array) -> Array:
    forward, backward = upper(W)
    return forward + backward


def curve(x: Array, y: Array, knots: Iterable[float]) -> list[float]:
    """A rising function, linear between knots, by least squares."""
    at = np.array(list(knots))
    place = np.interp(x, at, np.arange(len(at)))
    low = np.minimum(place.astype(int), len(at) - 2)
    share = place - low
    A, b = np.zeros((len(at), len(at))), np.zeros(len(at))
    for rows, columns, value in (
        (low, low, (1 - share) ** 2),
        (low + 1, low + 1, share**2),
        (low, low + 1, share * (1 - share)),
        (low + 1, low, share * (1 - share)),
    ):
        np.add.at(A, (rows, columns), value)
    np.add.at(b, low, (1 - share) * y)
    np.add.at(b, low + 1, share * y)
    values = np.linalg.solve(A + 1e-6 * np.trace(A) * np.eye(len(at)), b)
    rising = IsotonicRegression(y_min=0, y_max=1).fit_transform(at, values, sample_weight=np.diag(A) + 1e-9)
    return [round(float(value), 3) for value in rising]


def learn(results: dict[str, list[Result]]) -> dict[str, list[float]]:
    """The curves of ``calibration.py``."""
    every = [one for some in results.values() for one in some]
    votes = [upper((one.shares + one.members) / 2) for one in every]
    truth = [upper((one.truth != 0).astype(float)) for one in every]
    forward, backward = (np.concatenate(side) for side in zip(*votes, strict=True))
    is_forward, is_backward = (np.concatenate(side) for side in zip(*truth, strict=True))
    joined, is_joined = np.minimum(forward + backward, 1), is_forward + is_backward
    told = (is_joined > 0) & (joined > 0.1)
    share, truly = (forward / np.maximum(joined, 1e-9))[told], is_forward[told]
    both = curve(np.r_[share, 1 - share], np.r_[truly, 1 - truly], FORWARD_SHARES)
    return {
        "JOINED": curve(joined, is_joined, SHARES),
        "FORWARD": [round((a + 1 - b) / 2, 3) for a, b in zip(both, both[::-1], strict=True)],
    }


def bins(claimed: Array, true: Array) -> list[tuple[float, float, int]]:
    """Mean probability, share that is true, and number, in each bin with enough of them."""
    which = np.clip(np.digitize(claimed, BINS) - 1, 0, len(BINS) - 2)
    counts = np.bincount(which, minlength=len(BINS) - 1)
    return [
        (float(claimed[which == b].mean()), float(true[which == b].mean()), int(counts[b]))
        for b in range(len(BINS) - 1)
        if counts[b] >= FEWEST
    ]


def directions(one: Result) -> tuple[Array, Array]:
    """Of pairs that are joined: the probability of the likelier direction, and whether it is right."""
    (forward, backward), (is_forward, is_backward) = upper(one.probabilities), upper((one.truth != 0).astype(float))
    told = (is_forward + is_backward > 0) & (forward + backward > 0)
    likelier = np.maximum(forward, backward)[told] / (forward + backward)[told]
    return likelier, np.where(forward >= backward, is_forward, is_backward)[told]


def calibration_error(claimed: Array, true: Array) -> float:
    """Expected calibration error."""
    return sum(n * abs(p - share) for p, share, n in bins(claimed, true)) / len(claimed)


def worst(claimed: Array, true: Array) -> float:
    """The largest difference between what is claimed and what is true in a bin; NaN if no bin has enough pairs."""
    return max((p - share for p, share, _ in bins(claimed, true)), key=abs, default=float("nan"))


def coverage(one: Result, level: float = 0.9) -> float:
    """Share of the intervals that hold the true total effect, of pairs with one."""
    true = total_effects(one.truth[:N_EFFECTS])
    halves = np.stack([total_effects(W) for W in one.halves])
    low, high = interval(total_effects(one.own[:N_EFFECTS]), halves, level)
    return float(((low - 1e-9 <= true) & (true <= high + 1e-9))[np.abs(true) > 1e-9].mean())


def consensus(one: Result) -> Array:
    """The edges that `BootstrapDAG.consensus` keeps."""
    import torch

    from contextualdag.projection import Order

    P = one.probabilities
    kept = np.where(P + P.transpose(0, 2, 1) >= 0.5, P, 0)
    kept = np.where(kept > kept.transpose(0, 2, 1), kept, 0)
    support: Array = (Order()(torch.from_numpy(kept)).numpy() != 0).astype(float)
    return support


def report(results: dict[str, list[Result]]) -> str:
    """A table, one row for each design."""
    rows: list[list[str]] = []
    columns: list[str] = []
    for name, some in results.items():
        claimed = np.concatenate([joins(one.probabilities) for one in some])
        true = np.concatenate([joins((one.truth != 0).astype(float)) for one in some])
        raw = np.concatenate([joins(one.shares) for one in some])
        direction, right = (np.concatenate(side) for side in zip(*map(directions, some), strict=True))
        possible = claimed > POSSIBLE
        own = np.mean([metrics.f1_score(one.truth, one.own) for one in some])
        agreed = np.mean([metrics.f1_score(one.truth, consensus(one)) for one in some])
        covered = np.mean([coverage(one) for one in some])
        numbers = {
            "calibration error": calibration_error(claimed, true),
            f"of pairs above {POSSIBLE:g}": calibration_error(claimed[possible], true[possible]),
            "worst bin": worst(claimed, true),
            "Brier score": ((claimed - true) ** 2).mean(),
            "Brier score of shares": ((np.minimum(raw, 1) - true) ** 2).mean(),
            "calibration error of directions": calibration_error(direction, right),
            "worst bin of directions": worst(direction, right),
            "Brier score of directions": ((direction - right) ** 2).mean(),
            "F1 of the fit": own,
            "F1 of the consensus": agreed,
            "intervals that hold the effect": covered,
        }
        cells = [f"{number:+.2f}" if "worst" in what else f"{number:.4f}" for what, number in numbers.items()]
        rows.append([name, str(len(some)), *cells])
        columns = ["design", "data sets", *numbers]
    return markdown_table(columns, rows)


def draw(results: dict[str, list[Result]], path: Path) -> None:
    """Probabilities against how often they come true: of edges, before and after calibration, and of directions."""
    import matplotlib.pyplot as plt

    def edges(some: list[Result], of_shares: bool) -> tuple[Array, Array]:
        claimed = np.concatenate([joins(one.shares if of_shares else one.probabilities) for one in some])
        return np.minimum(claimed, 1), np.concatenate([joins((one.truth != 0).astype(float)) for one in some])

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for axis, title in zip(
        axes, ("Shares of half-samples", "Calibrated", "Directions of edges that are there"), strict=True
    ):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for name, some in results.items():
            if title.startswith("Directions"):
                claimed, true = (np.concatenate(side) for side in zip(*map(directions, some), strict=True))
            else:
                claimed, true = edges(some, title.startswith("Shares"))
            found = bins(claimed, true)
            axis.plot([p for p, _, _ in found], [share for _, share, _ in found], marker="o", markersize=3, label=name)
        axis.set(xlabel="claimed", ylabel="true", title=title, xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes[1].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["collect", "learn", "report"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args(arguments)
    if given.what == "collect":
        given.folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            collect(given.folder, given.designs, given.seeds, given.resamples)
        return
    results = {name: some for name, some in load(given.folder).items() if name in given.designs}
    if given.what == "learn":
        for name, values in learn(results).items():
            print(f"{name} = {tuple(values)}")
        return
    print(report(results))
    if given.figure is not None:
        draw(results, given.figure)


if __name__ == "__main__":
    main()
