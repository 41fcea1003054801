"""A table as the checks see it: its columns, and what the context leaves of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import binom

from contextualdag.contexts import ContextEncoder
from contextualdag.diagnostics.findings import LEVEL
from contextualdag.diagnostics.given_context import context_basis, fitted, in_robust_units, scales_given_context
from contextualdag.tables import Array, Flags, check_aligned, check_same_samples, read_variables, varying

EXACT = 1e-9  # share of the variance that is left where a column is a function of others
FEW_VALUES = 10
FAR, FAR_SHARE = 4.0, 0.002  # robust standard deviations; of normal values 0.00006 are further out


@dataclass(frozen=True)
class CheckedTable:
    """A table, and its columns without their means given the context."""

    X: Array
    names: list[str]
    Z: Array  # encoded
    encoder: ContextEncoder

    @classmethod
    def read(cls, X: Any, Z: Any) -> "CheckedTable":
        """From the user's tables; raises what a fit would."""
        check_aligned(X, Z)
        values, names = read_variables(X)
        encoder = ContextEncoder((), ()) if Z is None else ContextEncoder.learn(Z)
        contexts = encoder.encode(values if Z is None else Z)
        check_same_samples(values, contexts)
        return cls(values, names, contexts, encoder)

    @cached_property
    def still(self) -> Flags:
        """Columns with one value in all rows."""
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
        share: Array = np.where(self.still, 0.0, self.residuals.var(0) / np.where(self.still, 1.0, self.X.var(0)))
        return share

    @cached_property
    def varies(self) -> Flags:
        """Columns that are neither constant nor functions of the context."""
        moves: Flags = self.left > EXACT
        return moves

    @cached_property
    def scaled(self) -> Array:
        """Residuals in robust standard deviations, which may change with the context.

        So that variables whose variance changes with the context are no more heavy-tailed than others.
        """
        return in_robust_units(self.residuals / scales_given_context(self.residuals, self.basis)) * self.varies

    @cached_property
    def n_values(self) -> list[int]:
        """Number of different values of each column."""
        return [len(np.unique(column)) for column in self.X.T]

    @cached_property
    def fine(self) -> Flags:
        """Columns that vary and have many values."""
        flags: Flags = self.varies & (np.array(self.n_values) > FEW_VALUES)
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
