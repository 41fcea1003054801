"""Do weights change with the scores? A linear answer: `python -m benchmarks.drug_linear drug_consumption.data`.

Each substance is predicted from all others by the lasso, once with constant weights, once with weights that are linear in
the scores: products of the others and the scores are predictors too. Means given the scores, quadratic in them, are removed
first. Everything is learned on four fifths of the people and looked at on the last fifth, each fifth once.
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from contextualdag.datasets import load_drug_consumption
from contextualdag.paper.outputs import markdown_table

Array = NDArray[np.float64]

FOLDS, PENALTIES = 5, 30
MODELS = ("means of all", "means given the scores", "and constant weights", "and weights linear in the scores")


def held_out_squares(X: Array, Z: Array, seed: int = 0) -> Array:
    """Squared errors (4, n, p) of the four models, each row by a fit without it, in variances of its variable."""
    squares = np.empty((len(MODELS), *X.shape))
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(X):
        squares[0, test] = (X[test] - X[train].mean(0)) ** 2
        means = make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression()).fit(Z[train], X[train])
        centred, left = X[train] - means.predict(Z[train]), X[test] - means.predict(Z[test])
        squares[1, test] = left**2
        scores = StandardScaler().fit(Z[train])
        z_train, z_test = scores.transform(Z[train]), scores.transform(Z[test])
        for k in range(X.shape[1]):
            others = np.delete(np.arange(X.shape[1]), k)
            designs = (
                (centred[:, others], left[:, others]),
                (with_products(centred[:, others], z_train), with_products(left[:, others], z_test)),
            )
            for place, (known, new) in enumerate(designs, 2):
                lasso = make_pipeline(StandardScaler(), LassoCV(alphas=PENALTIES, cv=FOLDS)).fit(known, centred[:, k])
                squares[place, test, k] = (left[:, k] - lasso.predict(new)) ** 2
    relative: Array = squares / X.var(0)
    return relative


def with_products(columns: Array, Z: Array) -> Array:
    """Columns (n, p), and their products with each of the contexts (n, m)."""
    return np.hstack([columns, *(columns * z[:, None] for z in Z.T)])


def summary(squares: Array) -> list[list[object]]:
    """For each model its mean error, and how far it is above that of constant weights, with a standard error."""
    rows: list[list[object]] = []
    for name, its in zip(MODELS, squares, strict=True):
        above = (its - squares[2]).mean(1)
        error = above.std(ddof=1) / np.sqrt(len(above))
        rows.append([name, f"{its.mean():.3f}", f"{above.mean():+.3f} ± {error:.3f}" if above.any() else ""])
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", help="UCI's drug_consumption.data; by default it is downloaded once")
    parser.add_argument("--seed", type=int, default=0, help="of the division into fifths")
    given = parser.parse_args(arguments)
    data = load_drug_consumption(given.data)
    squares = held_out_squares(data.X.to_numpy(), data.Z.to_numpy(), given.seed)
    print(markdown_table(["model", "held-out error", "against constant weights"], summary(squares)))


if __name__ == "__main__":
    main()
