"""A table as the checks see it: its columns, and what the context leaves of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from contextualdag.checks import is_number, listed, require
from contextualdag.contexts import ContextEncoder
from contextualdag.diagnostics.findings import LEVEL
from contextualdag.diagnostics.given_context import context_basis, fitted, in_robust_units, scales_given_context
from contextualdag.errors import InvalidParameterError
from contextualdag.estimators.groups import read_groups
from contextualdag.estimators.imputation import FEWEST
from contextualdag.estimators.table_warnings import _looks_like_an_identifier
from contextualdag.tables import Array, Flags, check_aligned, check_same_samples, read_variables, varying
from contextualdag.transforms import NONE, Transforms, check_transform

ENOUGH = 20  # rows from which on tests are made
EXACT = 1e-9  # share of the variance that is left where a column is a function of others
FEW_VALUES = 10
FAR, FAR_SHARE = 4.0, 0.002  # robust standard deviations; of normal values 0.00006 are further out


@dataclass(frozen=True)
class CheckedTable:
    """A table, and its columns without their means given the context.

    Attributes
    ----------
    names : list of str
        The variables that have values enough to be looked at.
    all_rows : array of shape (n_all, p)
        Variables in all rows; NaN where a value is missing.
    all_contexts : array of shape (n_all, m)
        Encoded contexts of all rows.
    rows : array of int, shape (n,)
        Numbers of the complete rows.
    transformed : array of shape (n, p)
        Variables of the complete rows, as a fit transforms them.
    transforms : Transforms
        These transforms.
    encoder : ContextEncoder
        How contexts were encoded.
    groups : array of int, shape (n,), optional
        Groups that the complete rows belong to, numbered in the order in which they appear.
    n_missing : dict of str to int
        How many values are missing in the columns that miss some, also in those of `n_known`.
    n_known : dict of str to int
        How many values there are in columns with so few that these were left out.
    """

    names: list[str]
    all_rows: Array
    all_contexts: Array
    rows: NDArray[np.intp]
    transformed: Array
    transforms: Transforms
    encoder: ContextEncoder
    groups: NDArray[np.int64] | None
    n_missing: dict[str, int]
    n_known: dict[str, int]

    @classmethod
    def read(
        cls, X: Any, Z: Any, groups: Any = None, cyclic: Mapping[str, float] | None = None, transform: Any = "auto"
    ) -> "CheckedTable":
        """From the user's tables; raises what a fit would, but not for missing values of X."""
        check_transform(transform, "check_table")
        _check_cyclic(cyclic)
        check_aligned({"X": X, "Z": Z, "groups": groups})
        values, names = read_variables(X, with_missing=True)
        if Z is None and cyclic:
            raise InvalidParameterError(f"The 'cyclic' parameter names {listed(list(cyclic))}, but there is no context (Z).")
        encoder = ContextEncoder((), ()) if Z is None else ContextEncoder.learn(Z, cyclic)
        contexts = encoder.encode(values if Z is None else Z)
        check_same_samples(values, contexts)
        of_rows = read_groups(groups, len(values), has_validation_set=False)
        learned = Transforms.learn(values, names, transform)
        transformed = learned.forward(values, "X")

        known = (~np.isnan(values)).sum(0)
        kept = np.flatnonzero(known >= min(FEWEST, len(values)))
        values = values[:, kept]
        rows = np.flatnonzero(~np.isnan(values).any(1))
        return cls(
            names=[names[k] for k in kept],
            all_rows=values,
            all_contexts=contexts,
            rows=rows,
            transformed=transformed[:, kept][rows],
            transforms=Transforms(tuple(names[k] for k in kept), tuple(learned.columns[k] for k in kept)),
            encoder=encoder,
            groups=None if of_rows is None else of_rows.numpy()[rows],
            n_missing={name: len(values) - int(n) for name, n in zip(names, known, strict=True) if n < len(values)},
            n_known={name: int(known[k]) for k, name in enumerate(names) if k not in kept},
        )

    @cached_property
    def X(self) -> Array:
        """Variables in the complete rows, (n, p)."""
        return self.all_rows[self.rows]

    @cached_property
    def Z(self) -> Array:
        """Encoded contexts of the complete rows, (n, m)."""
        return self.all_contexts[self.rows]

    @cached_property
    def columns(self) -> list[Array]:
        """The values of each variable that are not missing."""
        return [column[~np.isnan(column)] for column in self.all_rows.T]

    @cached_property
    def like_identifiers(self) -> tuple[str, ...]:
        """Variables and numeric context features that look like identifiers of rows."""
        seen, features = self.encoder.as_seen(self.all_contexts), []
        for name, categories in zip(self.encoder.names, self.encoder.categories, strict=True):
            if categories is None and name not in self.encoder.cycles and name not in self.encoder.origins:
                features.append((name, seen[:, self.encoder.seen_columns[name][0]]))
        columns = [*zip(self.names, self.columns, strict=True), *features]
        return tuple(name for name, values in columns if _looks_like_an_identifier(name, values))

    @cached_property
    def still(self) -> Flags:
        """Columns with one value in all complete rows."""
        return ~varying(self.X)

    @cached_property
    def basis(self) -> Array:
        """Polynomials of the contexts, (n, q)."""
        return context_basis(self.Z)

    @cached_property
    def residuals(self) -> Array:
        """Variables without their means given the context."""
        return self.X - fitted(self.X, self.basis)

    @cached_property
    def left(self) -> Array:
        """Share of the variance of each column that its mean given the context leaves; zero for constant columns."""
        return _left(self.X, self.residuals)

    @cached_property
    def residuals_transformed(self) -> Array:
        """Variables as a fit transforms them, without their means given the context."""
        return self.transformed - fitted(self.transformed, self.basis)

    @cached_property
    def varies(self) -> Flags:
        """Columns that are neither constant nor functions of the context, before and after the transforms."""
        moves: Flags = np.minimum(self.left, _left(self.transformed, self.residuals_transformed)) > EXACT
        return moves

    @cached_property
    def scaled(self) -> Array:
        """Residuals after the transforms in robust standard deviations, which may change with the context.

        So that variables whose variance changes with the context are no more heavy-tailed than others.
        """
        residuals = self.residuals_transformed
        return in_robust_units(residuals / scales_given_context(residuals, self.basis)) * self.varies

    @cached_property
    def fine(self) -> Flags:
        """Columns that vary and have many values."""
        n_values = np.array([len(np.unique(column)) for column in self.X.T])
        flags: Flags = self.varies & (n_values > FEW_VALUES)
        return flags

    @cached_property
    def heavy(self) -> Flags:
        """Columns of many values, of which a larger share lies far out than FAR_SHARE."""
        count = (np.abs(self.scaled) > FAR).sum(0)
        p_values = binom.sf(count - 1, len(self.X), FAR_SHARE)
        found: Flags = (p_values < LEVEL / len(self.names)) & self.fine
        return found

    def named(self, flags: Flags) -> tuple[str, ...]:
        """Names of the columns that are true."""
        return tuple(name for name, flag in zip(self.names, flags, strict=True) if flag)

    def after_transforms(self, flags: Flags) -> str:
        """A sentence, with a space before it, on how columns that are true were transformed; empty if none was."""
        by_transform: dict[str, list[str]] = {}
        for name, transform, flag in zip(self.names, self.transforms.names_of_transforms, flags, strict=True):
            if flag and transform != NONE:
                by_transform.setdefault(transform, []).append(name)
        said = "; ".join(f"{transform} of {listed(names, 6)}" for transform, names in by_transform.items())
        return f" Values were judged as a fit transforms them: {said}." if said else ""


def _check_cyclic(cyclic: Any) -> None:
    """Raise unless a value may be the parameter `cyclic` of an estimator."""
    known = cyclic is None or (
        isinstance(cyclic, Mapping)
        and all(isinstance(name, str) for name in cyclic)
        and all(is_number(period, 0, low_open=True, high_open=True) for period in cyclic.values())
    )
    expected = "None or a dict of names of context features and positive periods, such as {'hour': 24}"
    require(known, "cyclic", "check_table", expected, cyclic)


def _left(X: Array, residuals: Array) -> Array:
    """Share of the variance of each column that residuals have; zero for constant columns."""
    still = ~varying(X)
    share: Array = np.where(still, 0.0, residuals.var(0) / np.where(still, 1.0, X.var(0)))
    return share
