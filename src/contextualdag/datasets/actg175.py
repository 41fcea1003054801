"""The trial ACTG 175: blood counts of 2139 patients with HIV, before and twenty weeks after one of four treatments."""

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from contextualdag.tables import exact_numbers

if TYPE_CHECKING:
    import pandas

__all__ = ["ACTG175", "load_actg175"]

_ARMS = ("zidovudine", "zidovudine+didanosine", "zidovudine+zalcitabine", "didanosine")
_TIERS = (("wtkg", "preanti"), ("cd40", "cd80"), ("cd420", "cd820"))


@dataclass(frozen=True, eq=False)
class ACTG175:
    """2139 patients, in the order of the file.

    Attributes
    ----------
    X : DataFrame of shape (2139, 6)
        wtkg (weight in kilograms), preanti (days of antiretroviral therapy before the trial), cd40 and cd80 (CD4 and CD8 T
        cells per cubic millimetre of blood at the start), cd420 and cd820 (the same after 20 weeks, give or take five).
    Z : DataFrame of shape (2139, 2)
        arm (the treatment, a category, drawn at random for every patient) and age (in years).
    tiers : list of lists of str
        The variables of X by time, for the parameter `tiers` of the estimators.
    frame : DataFrame of shape (2139, 15)
        The variables, the context and in addition: gender (1 is male), symptom (1 with symptoms), karnof (Karnofsky score of
        how well a patient manages daily life, up to 100), offtrt (1 where treatment ended before 96 weeks), cd496 (CD4 cells
        after 96 weeks, missing for 797 patients), days (until an event or the end of observation) and cens (1 if it was an
        event: CD4 cells fell by half, AIDS or death).
    """

    X: "pandas.DataFrame"
    Z: "pandas.DataFrame"
    tiers: list[list[str]]
    frame: "pandas.DataFrame"


def load_actg175() -> ACTG175:
    """Load blood counts of the randomised trial ACTG 175, which compared four treatments of HIV.

    The file is part of this package.

    Returns
    -------
    ACTG175
        A small frozen object with X, Z, tiers and frame.

    Notes
    -----
    The adults had between 200 and 500 CD4 cells per cubic millimetre when they were screened. They were given zidovudine or
    didanosine alone, or zidovudine with didanosine or with zalcitabine [1]_.

    From ``ACTG175.csv`` of the Python package lifelines 0.30.3 [2]_, which as a whole is published under the MIT licence;
    ``LICENSES.md`` next to the file has its text, and what is known beyond it. The R package speff2trial has the same table.
    Left out are the number of the
    patient, race, ways of infection and columns that follow from others.

    References
    ----------
    .. [1] S. M. Hammer and others, "A trial comparing nucleoside monotherapy with combination therapy in HIV-infected adults
       with CD4 cell counts from 200 to 500 per cubic millimeter", New England Journal of Medicine 335, 1996.
    .. [2] C. Davidson-Pilon, "lifelines: survival analysis in Python", Journal of Open Source Software 4, 2019.

    Examples
    --------
    >>> from contextualdag.datasets import load_actg175
    >>> data = load_actg175()
    >>> data.tiers
    [['wtkg', 'preanti'], ['cd40', 'cd80'], ['cd420', 'cd820']]
    >>> data.Z["arm"].value_counts().to_dict()["didanosine"]
    561
    """
    import pandas as pd

    with resources.as_file(resources.files(__package__) / "actg175.csv.gz") as file:
        frame = pd.read_csv(file, **exact_numbers())
    arms = pd.Categorical.from_codes(frame["arms"], list(_ARMS))
    frame.insert(int(frame.columns.get_loc("arms")), "arm", arms)
    frame = frame.drop(columns="arms")
    tiers = [list(tier) for tier in _TIERS]
    return ACTG175(frame[[name for tier in tiers for name in tier]].copy(), frame[["arm", "age"]].copy(), tiers, frame)
