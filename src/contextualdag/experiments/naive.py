"""Sort the variables by their variance and regress each on those before it: the baseline that any method must beat.

Reisach, Seiler and Weichwald, "Beware of the simulated DAG!" (2021), call it sortnregress. In many simulated data sets the
variance grows along the edges, and then it does as well as methods that learn.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextualdag.errors import InvalidInputError

Array = NDArray[np.float64]


def sort_and_regress(X: ArrayLike) -> Array:
    """One graph for all samples: the order of the variances, and on it an adaptive lasso chosen by BIC.

    Each variable is regressed on those of smaller variance. The weights of the adaptive lasso are the coefficients of least
    squares.

    Parameters
    ----------
    X : array of shape (n, p)
        Variables; rows are samples. There must be more rows than columns, since BIC needs the variance of the noise.

    Returns
    -------
    array of shape (p, p)
        Weights of a DAG; entry (j, k) is the effect of variable j on k.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.experiments.naive import sort_and_regress
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3))
    >>> X[:, 0] += 2 * X[:, 2]
    >>> sort_and_regress(X).round(1)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [2., 0., 0.]])
    """
    from sklearn.linear_model import LassoLarsIC, LinearRegression

    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) <= X.shape[1] or not np.isfinite(X).all():
        raise InvalidInputError(
            f"X must be a table of finite numbers with more rows than columns. Got shape {X.shape}"
            + ("." if np.isfinite(X).all() else " with NaN or infinity.")
        )
    W = np.zeros((X.shape[1], X.shape[1]))
    order = np.argsort(X.var(0), kind="stable")
    for position in range(1, len(order)):
        before, target = order[:position], order[position]
        scale = np.abs(LinearRegression().fit(X[:, before], X[:, target]).coef_)
        lasso = LassoLarsIC(criterion="bic").fit(X[:, before] * scale, X[:, target])
        W[before, target] = lasso.coef_ * scale
    return W
