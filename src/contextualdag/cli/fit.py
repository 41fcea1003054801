"""``contextualdag fit``."""

import contextlib
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contextualdag.cli.fit_data import FitData, check_kinds, check_transforms, choose_data
from contextualdag.cli.knowledge import ForbidOption, KnowledgeOption, RequireOption, TiersOption, read_knowledge
from contextualdag.cli.options import (
    DecimalOption,
    DelimiterOption,
    OrderedOption,
    OverwriteOption,
    QuietOption,
    check_device,
    read_levels,
    read_periods,
    read_transforms,
    split_names,
)
from contextualdag.cli.row_columns import BlocksOption, GroupsOption, InterventionsOption, RowColumns, WeightOption
from contextualdag.cli.terminal import say

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

Method = Literal["contextual", "fixed", "clustered"]
ONLY = {
    "acyclicity": "contextual",
    "structure": "contextual",
    "members": "contextual",
    "max_epochs": "contextual",
    "clusters": "clustered",
}


def fit(
    data: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV or Parquet file.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the model.", show_default=False)],
    context: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Context features: comma-separated columns. Text becomes categories."),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", show_default="all other numeric columns", help="Variables: comma-separated columns."),
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Context features whose numbers are codes of categories.")
    ] = None,
    cyclic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PERIOD",
            help="A context feature that comes back, such as hour=24 or month=12; repeat the option for several.",
        ),
    ] = None,
    ordered: OrderedOption = None,
    method: Annotated[
        Method,
        typer.Option(
            metavar="KIND",
            help="contextual: a graph for every context; fixed: one graph; clustered: one graph per cluster of contexts.",
        ),
    ] = "contextual",
    selection: Annotated[
        Literal["relaxed", "min", "1se", "explained"] | None,
        typer.Option(
            metavar="KIND",
            show_default="relaxed",
            help="How the sparsity is selected. relaxed: lowest loss after a refit; min: lowest loss with shrinkage; 1se: "
            "sparsest point within one standard error of the lowest loss; explained: the strongest edges, which explain "
            "nine tenths of what all explain.",
        ),
    ] = None,
    explained: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="As --selection explained, with another share than nine tenths, up to 1."),
    ] = None,
    edges: Annotated[
        float | None, typer.Option(min=0, metavar="N", help="Select graphs with N edges on average instead.")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, metavar="N", show_default="1 per 100 rows", help="Clustered: number of clusters.")
    ] = None,
    acyclicity: Annotated[
        Literal["order", "logdet"] | None,
        typer.Option(metavar="KIND", show_default="order", help="How graphs are made acyclic: order or logdet."),
    ] = None,
    structure: Annotated[
        Literal["auto", "constant", "common-order", "varying"] | None,
        typer.Option(
            metavar="KIND",
            show_default="auto",
            help="How much varies with the context. constant: nothing; common-order: edges along one order of the "
            "variables; varying: the order too; auto: the simplest that predicts held-out rows as well.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default="3, or 5 with few rows",
            help="Number of networks in the ensemble; 1 is the fastest.",
        ),
    ] = None,
    max_epochs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default="10000", help="Maximum epochs per budget."),
    ] = None,
    noise: Annotated[
        Literal["auto", "equal", "unequal"],
        typer.Option(
            metavar="KIND",
            help="Size of the noise. equal: the same for all variables in the units given; unequal: learned, so that units "
            "do not matter; auto: equal unless the residuals speak against it.",
        ),
    ] = "auto",
    no_robust: Annotated[
        bool, typer.Option("--no-robust", help="Let all rows count the same, also those that lie far from all others.")
    ] = False,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Also fit N random halves of the rows, to tell how sure each edge is; 50 are a good number."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Address of a Dask scheduler, such as tcp://10.0.0.5:8786, for --bootstrap to run on."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default="all cores", help="Number of processes for --bootstrap."),
    ] = None,
    interventions: InterventionsOption = None,
    weight: WeightOption = None,
    groups: GroupsOption = None,
    blocks: BlocksOption = None,
    tiers: TiersOption = None,
    forbid: ForbidOption = None,
    require: RequireOption = None,
    knowledge: KnowledgeOption = None,
    validation_fraction: Annotated[
        float, typer.Option(metavar="SHARE", help="Fraction of the rows held out to select the sparsity.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same model.")] = 0,
    device: Annotated[str, typer.Option(metavar="NAME", help="Device to fit on: auto, cpu or cuda.")] = "auto",
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Drop rows with missing values.")] = False,
    impute: Annotated[
        bool,
        typer.Option(
            "--impute",
            help="Fill in missing values of the variables by what a quick fit expects of them; they are never scored.",
        ),
    ] = False,
    transform: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            show_default="auto",
            help="What is done to a variable first: log, log1p, normal-scores or none, such as crp=log; repeat the option "
            "for several. Other variables: logarithms of counts and of clearly skewed positive ones. 'none' for all.",
        ),
    ] = None,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = ".",
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
    no_warnings: Annotated[
        bool,
        typer.Option(
            "--no-warnings", help="Show no warnings during the fit; the summary still says if it should not be used."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Learn the graphs of a table and save the model.

    Run the same command again to resume an interrupted fit.

    Example: contextualdag fit data.csv --context age,site --out model
    """
    import json

    from contextualdag.checks import listed
    from contextualdag.cli.fit_summary import show, summarise
    from contextualdag.cli.tables import read_table
    from contextualdag.errors import InvalidInputError
    from contextualdag.tables import without_values

    given = {
        "acyclicity": acyclicity,
        "structure": structure,
        "members": members,
        "max_epochs": max_epochs,
        "clusters": clusters,
    }
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if ONLY[name] != method:
            raise typer.BadParameter(f"This option is for --method {ONLY[name]}.", param_hint=f"--{name.replace('_', '-')}")
    if selection is not None and edges is not None:
        raise typer.BadParameter("Give --selection or --edges, not both.", param_hint="--edges")
    if explained is not None:
        if selection is not None or edges is not None:
            other = "--edges" if selection is None else "--selection"
            raise typer.BadParameter(f"Give {other} or --explained, not both.", param_hint="--explained")
        if not 0 < explained <= 1:
            raise typer.BadParameter(
                f"A share above 0, up to 1, was expected, such as 0.9. Got {explained:g}.", param_hint="--explained"
            )
    if bootstrap is not None and bootstrap < 2:
        raise typer.BadParameter(f"At least 2 halves of the rows are needed. Got {bootstrap}.", param_hint="--bootstrap")
    for value, option in ((scheduler, "--scheduler"), (jobs, "--jobs")):
        if value is not None and bootstrap is None:
            raise typer.BadParameter("This option is for --bootstrap, which is not given.", param_hint=option)
    if scheduler is not None and jobs is not None:
        raise typer.BadParameter("The workers of --scheduler fit the halves; leave one of the two out.", param_hint="--jobs")
    if not 0 < validation_fraction < 1:
        raise typer.BadParameter("A number between 0 and 1 was expected.", param_hint="--validation-fraction")
    share = None if explained is None else ("explained", explained)
    settings |= {"selection": share or (edges if edges is not None else selection or "relaxed")}
    settings |= {
        "noise": noise,
        "robust": not no_robust,
        "validation_fraction": validation_fraction,
        "random_state": seed,
        "device": check_device(device),
        "missing": "impute" if impute else "error",
        "transform": read_transforms(transform),
        **read_knowledge(tiers, forbid, require, knowledge),
    }
    variables, features = split_names(nodes, "--nodes"), split_names(context, "--context")
    codes, periods = split_names(categorical, "--categorical"), read_periods(cyclic)
    levels = read_levels(ordered, features)
    check_kinds(periods, levels, features, codes)
    settings["cyclic"] = periods or None
    _check_folder(out, overwrite)

    if groups is not None and blocks is not None:
        raise typer.BadParameter("Give --groups or --blocks, not both.", param_hint="--blocks")
    of_rows = RowColumns(interventions, weight, groups, blocks)
    frame = read_table(data, delimiter, decimal, [*codes, *levels, *of_rows.text])
    if not features and method != "fixed":
        raise typer.BadParameter(
            f"Name the columns that the graphs may vary with, or use --method fixed for one graph without a context. "
            f"{data} has the columns: {listed(list(frame.columns))}.",
            param_hint="--context",
        )
    chosen = choose_data(frame, data, variables, features, codes, drop_missing, of_rows, impute, levels)
    empty = [name for name in chosen.X if chosen.X[name].isna().all()]
    if empty:
        raise InvalidInputError(without_values(empty, len(chosen.X), str(data)))
    n = len(chosen.X)
    if n - max(1, round(validation_fraction * n)) < 2:
        raise InvalidInputError(
            f"{data} has {n} {'row' if n == 1 else 'rows'} to fit to, too few to hold out {validation_fraction:g} of them "
            "(--validation-fraction) and train on the rest."
        )
    check_transforms(settings["transform"], list(chosen.X.columns))
    most = len(chosen.X.columns) * (len(chosen.X.columns) - 1) // 2
    if edges is not None and edges > most:
        raise typer.BadParameter(
            f"A graph of {len(chosen.X.columns)} variables has at most {most} edges. Got {edges:g}.", param_hint="--edges"
        )
    if quiet and method == "contextual":
        settings["verbose"] = False
    model = _estimator(method, settings)
    if "groups" in chosen.more:
        from contextualdag.estimators.fitting import n_folds
        from contextualdag.estimators.groups import fewest_groups

        with _warnings_as_lines(no_warnings):
            if not of_rows.check_groups(chosen.more["groups"], fewest_groups(n_folds(model)), data):
                del chosen.more["groups"]
    if bootstrap is not None:
        from contextualdag.estimators import BootstrapDAG

        model = BootstrapDAG(model, n_resamples=bootstrap, n_jobs=jobs, scheduler=scheduler, verbose=not quiet)
    begun = time.monotonic()
    with _warnings_as_lines(no_warnings):
        _fit_and_save(model, chosen, out, overwrite, quiet)
    summary = summarise(model, chosen, out, time.monotonic() - begun)
    if as_json:
        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
    else:
        show(summary)


def unfinished_folder(out: Path) -> Path:
    """Folder of the checkpoint of an unfinished fit, next to the model."""
    target = out if out.name not in ("", "..") else out.resolve()
    return target.with_name(f"{target.name}.unfinished")


def _check_folder(out: Path, overwrite: bool) -> None:
    """Raise, before any work is done, if the model cannot or must not be saved there."""
    from contextualdag.errors import PersistenceError
    from contextualdag.estimators.saving import is_saved_model
    from contextualdag.files import restore

    restore(out)
    if out.exists() and not out.is_dir():
        raise PersistenceError(f"{out} is a file; the model is a folder. Choose another --out.")
    if out.is_dir() and any(out.iterdir()):
        if not is_saved_model(out):
            raise PersistenceError(f"{out} holds other files than a model; choose another --out.")
        if not overwrite:
            raise PersistenceError(f"{out} holds a model already; add --overwrite to replace it, or choose another --out.")


def _estimator(method: Method, settings: dict[str, Any]) -> "GraphEstimator":
    from contextualdag.estimators import ClusteredDAG, ContextualDAG, FixedDAG

    settings = {f"n_{name}" if name in ("clusters", "members") else name: value for name, value in settings.items()}
    if method == "clustered":
        return ClusteredDAG(**settings)
    return ContextualDAG(**settings) if method == "contextual" else FixedDAG(**settings)


def _fit_and_save(model: "GraphEstimator", data: FitData, out: Path, overwrite: bool, quiet: bool) -> None:
    """Fit and save, while no other process fits into the same folder."""
    from contextualdag.files import in_use

    with in_use(out):
        _check_folder(out, overwrite)  # another process may have saved there meanwhile
        _fit_in_folder(model, data, out, quiet)


def _fit_in_folder(model: "GraphEstimator", data: FitData, out: Path, quiet: bool) -> None:
    """Fit and save, with a checkpoint next to the model if the fit takes long; it is removed once the model is saved."""
    from contextualdag.cli.outcome import Stopped, resumable
    from contextualdag.estimators import BootstrapDAG, ContextualDAG

    n_features = 0 if data.Z is None else data.Z.shape[1]
    context = {0: "no context", 1: "1 context feature"}.get(n_features, f"{n_features} context features")
    if not quiet:
        typer.echo(f"Fitting {data.X.shape[1]} variables in {len(data.X)} rows with {context} ...", err=True)
    if not isinstance(model, ContextualDAG | BootstrapDAG):
        with resumable("Nothing was written; run the same command to start again."):
            model.fit(data.X, data.Z, **data.more)
            _count_in_file(model, data)
            model.save(out)
        return
    unfinished = unfinished_folder(out)
    done = unfinished.with_name(f".{unfinished.name}-done")
    shutil.rmtree(done, ignore_errors=True)  # left if a run was killed while it deleted its checkpoint
    if unfinished.exists():
        typer.echo(f"Resuming from the checkpoint {unfinished}.", err=True)
    try:
        model.fit(data.X, data.Z, checkpoint=unfinished, **data.more)
        _count_in_file(model, data)
        model.save(out)
    except KeyboardInterrupt as error:
        if not unfinished.exists():
            raise Stopped("There is no checkpoint yet; run the same command to start again.") from error
        raise Stopped(f"The checkpoint is in {unfinished}; run the same command to resume.") from error
    # Renamed first, so that the checkpoint is complete as long as it has its name.
    if unfinished.exists():
        unfinished.rename(done)
        shutil.rmtree(done, ignore_errors=True)


def _count_in_file(model: "GraphEstimator", data: FitData) -> None:
    """Let a model name rows of the file, of which some may have been dropped."""
    model.outliers_ = [int(data.X.index[row]) for row in model.outliers_]


@contextlib.contextmanager
def _warnings_as_lines(none_of_ours: bool) -> Iterator[None]:
    """Show warnings as lines on stderr; or those of other libraries only."""
    from contextualdag.errors import ContextualDAGWarning

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        if none_of_ours:
            warnings.simplefilter("ignore", ContextualDAGWarning)
        warnings.showwarning = show
        yield
