"""Are edge probabilities right? `python -m benchmarks.calibration collect FOLDER`, then `learn` or `report`.

`collect` fits a `BootstrapDAG` to data sets of several designs and keeps shares, graphs and truth for new contexts, one file
for each data set; "random" stands for a design that is drawn anew for each seed. `learn` fits the numbers of
``src/contextualdag/estimators/calibration.py`` to such files, those of random designs by default. `report`, for the other
designs, compares probabilities with how often they come true, and draws the curves.
"""

import argparse
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from contextualdag import BootstrapDAG, ContextualDAG, metrics
from contextualdag.datasets import make_varying_dag
from contextualdag.effects import total_effects
from contextualdag.estimators.calibration import calibrated, forward_evidence, interval, joined_evidence
from contextualdag.paper.outputs import markdown_table
from contextualdag.training.noise import UNEQUAL
from contextualdag.training.structure import VARYING

Array = NDArray[np.float64]

N_NEW, N_EFFECTS = 500, 100  # new contexts, and those of them whose effects are looked at
BINS = np.linspace(0, 1, 11)
LEAST_SHARES = 0.1  # of halves and of members together, from which on directions are learned
FEWEST = 100  # edges in a bin that is reported
POSSIBLE = 0.1  # probability above which a pair counts where those that are surely not joined would outnumber all others
RANDOM = "random"
DESIGNS: dict[str, tuple[int, dict[str, Any]]] = {
    "n1000": (1000, {}),
    "n316-p10": (316, {"n_nodes": 10}),
    "unequal": (1000, {"noise_scale": (0.5, 2.0)}),
    "weak": (1000, {"weak_edges": True}),
    "hubs-m5": (1000, {"graph": "scale-free", "n_features": 5}),
}


@dataclass(frozen=True)
class Result:
    """What one data set showed.

    Shares of halves and of members, graphs of the fit and true ones (n, p, p), weights of halves (b, n', p, p), standard
    deviations of the variables (p,), and whether noise was unequal and graphs kept to one order, as 0 or 1.
    """

    shares: Array
    members: Array
    own: Array
    truth: Array
    halves: Array
    scale: Array
    unequal: Array
    one_order: Array

    @property
    def standardised(self) -> Array:
        """Weights of the fit in standard deviations."""
        return self.own * self.scale[:, None] / self.scale

    @property
    def probabilities(self) -> Array:
        """Calibrated probabilities (n, p, p)."""
        allowed = ~np.eye(self.own.shape[1], dtype=bool)
        flags = bool(self.unequal), bool(self.one_order)
        return calibrated(self.shares, self.members, self.standardised, allowed, *flags)


def random_design(seed: int) -> tuple[int, dict[str, Any]]:
    """A number of rows and options of `make_varying_dag`."""
    rng = np.random.default_rng(seed)
    n = round(10 ** rng.uniform(np.log10(250), np.log10(2500)))
    p, m = int(rng.choice([8, 10, 15, 20])), int(rng.choice([1, 2, 3, 5]))
    design: dict[str, Any] = {"n_nodes": p, "n_features": m, "n_edges": round(p * rng.choice([0.7, 1.0, 1.0, 1.5]))}
    if rng.random() < 0.35:
        design["noise_scale"] = (0.5, 2.0)
    if rng.random() < 0.35:
        design["weak_edges"] = True
    if rng.random() < 0.3:
        design["graph"] = "scale-free"
    if rng.random() < 0.2:
        design |= {"reversals": False, "n_edges": min(design["n_edges"], p)}
    if rng.random() < 0.15:
        design["degrees_of_freedom"] = 5
    return n, design


def collect(folder: Path, names: Iterable[str], seeds: Iterable[int], n_resamples: int) -> None:
    for name in names:
        for seed in seeds:
            n, design = random_design(seed) if name == RANDOM else DESIGNS[name]
            data = make_varying_dag(n + N_NEW, **({"n_nodes": 20} | design), random_state=seed)
            model = BootstrapDAG(ContextualDAG(random_state=0, verbose=False), n_resamples=n_resamples, verbose=False)
            model.fit(data.X[:n], data.Z[:n])
            Z = model._encode(data.Z[n:])
            scaling, solution = model._preparation.scaling, model._solution
            members = (solution.member_graphs(k, scaling.contexts(Z)) for k in range(solution.n_members))
            np.savez_compressed(
                folder / f"{name}-{seed}.npz",
                shares=model.edge_probabilities(data.Z[n:], calibrate=False).astype(np.float32),
                members=model._shares(W.double().cpu().numpy() for W in members).astype(np.float32),
                own=model.adjacency(data.Z[n:]).astype(np.float32),
                truth=data.W[n:].astype(np.float32),
                halves=np.stack(list(model._graphs(Z[:N_EFFECTS]))).astype(np.float16),
                scale=scaling.x_scale,
                unequal=np.array(float(model.noise_ == UNEQUAL)),
                one_order=np.array(float(model.structure_ != VARYING)),
            )
            print(name, seed, flush=True)


def load(folder: Path) -> dict[str, list[Result]]:
    """The results in a folder, by design."""
    found: dict[str, list[Result]] = {}
    for file in sorted(folder.glob("*.npz")):
        arrays = {name: values.astype(float) for name, values in np.load(file).items()}
        found.setdefault(file.stem.rsplit("-", 1)[0], []).append(Result(**arrays))
    return dict(sorted(found.items(), key=lambda item: [*DESIGNS, RANDOM].index(item[0])))


def upper(W: Array) -> tuple[Array, Array]:
    """Entries of each pair, forward and backward."""
    j, k = np.triu_indices(W.shape[1], 1)
    return W[:, j, k].ravel(), W[:, k, j].ravel()


def joins(W: Array) -> Array:
    forward, backward = upper(W)
    return forward + backward


def learn(results: dict[str, list[Result]]) -> dict[str, list[float]]:
    """The numbers of ``calibration.py``."""
    every = [one for some in results.values() for one in some]
    evidence, is_joined = [], []
    for one in every:
        shares, of_members, size = (joins(array) for array in (one.shares, one.members, np.abs(one.standardised)))
        some = shares + of_members > 0
        found = joined_evidence(shares[some], of_members[some], size[some])
        evidence.append(np.column_stack([found, np.full(len(found), float(one.unequal))]))
        is_joined.append(joins((one.truth != 0).astype(float))[some])
    joined = LogisticRegression(C=10).fit(np.concatenate(evidence), np.concatenate(is_joined))

    directions, is_forward = [], []
    for one in every:
        told = one.truth + one.truth.transpose(0, 2, 1) != 0
        told &= (one.shares + one.members + (one.shares + one.members).transpose(0, 2, 1)) > LEAST_SHARES
        directions.append(forward_evidence(one.shares, one.members, bool(one.one_order))[told])
        is_forward.append(one.truth[told] != 0)  # every pair in both orders, so that the sum has no constant
    forward = LogisticRegression(C=10, fit_intercept=False).fit(np.concatenate(directions), np.concatenate(is_forward))
    numbers = {
        "OF_HALVES, OF_MEMBERS, OF_SIZE, OF_UNEQUAL_NOISE, CONSTANT": (*joined.coef_[0], *joined.intercept_),
        "FORWARD_OF_HALVES, FORWARD_OF_MEMBERS, IN_ONE_ORDER": forward.coef_[0],
    }
    return {names: [round(float(number), 3) for number in some] for names, some in numbers.items()}


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
    some = one.halves.shape[1]
    true = total_effects(one.truth[:some])
    halves = np.stack([total_effects(W) for W in one.halves])
    low, high = interval(total_effects(one.own[:some]), halves, level)
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
            "worst bin of shares": worst(np.minimum(raw, 1), true),
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

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
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
    parser.add_argument("--designs", nargs="+", choices=[*DESIGNS, RANDOM], help="all that fit; random ones to learn from")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args(arguments)
    if given.what == "collect":
        given.folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            collect(given.folder, given.designs or [*DESIGNS, RANDOM], given.seeds, given.resamples)
        return
    designs = given.designs or ([RANDOM] if given.what == "learn" else list(DESIGNS))
    results = {name: some for name, some in load(given.folder).items() if name in designs}
    if given.what == "learn":
        for name, values in learn(results).items():
            print(f"{name} = {tuple(values)}")
        return
    print(report(results))
    if given.figure is not None:
        draw(results, given.figure)


if __name__ == "__main__":
    main()
