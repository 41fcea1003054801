"""``contextualdag fit``."""

import contextlib
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contextualdag.cli.outputs import OverwriteOption
from contextualdag.cli.tables import DecimalOption, DelimiterOption

if TYPE_CHECKING:
    from contextualdag.cli.fit_data import FitData
    from contextualdag.estimators.path_estimator import PathEstimator

Method = Literal["contextual", "fixed", "clustered"]
ONLY = {"acyclicity": "contextual", "members": "contextual", "max_epochs": "contextual", "clusters": "clustered"}


def fit(
    data: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV or Parquet.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the model.", show_default=False)],
    context: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Columns of the context, with commas between. Text becomes categories."),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(metavar="NAMES", show_default="all other numeric columns", help="Columns of the variables."),
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Columns of the context whose numbers stand for categories.")
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            metavar="KIND",
            help="contextual: a graph for every context; fixed: one for all; clustered: one for each cluster of contexts.",
        ),
    ] = "contextual",
    selection: Annotated[
        Literal["relaxed", "min", "1se"] | None,
        typer.Option(
            metavar="KIND",
            show_default="relaxed",
            help="How sparsity is chosen. relaxed: least loss after a refit; min: least loss with shrinkage; 1se: the "
            "sparsest within a standard error.",
        ),
    ] = None,
    edges: Annotated[
        float | None, typer.Option(min=0, metavar="N", help="Instead: graphs with so many edges on average.")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, metavar="N", show_default="1 for every 100 rows", help="Clustered: how many.")
    ] = None,
    acyclicity: Annotated[
        Literal["order", "logdet"] | None,
        typer.Option(metavar="KIND", show_default="order", help="How graphs are made acyclic: order or logdet."),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default="3", help="Networks whose graphs are averaged; 1 is the quickest."),
    ] = None,
    max_epochs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default="10000", help="Most passes over the rows for a point of the path."),
    ] = None,
    validation_fraction: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the rows held out to choose by.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same model.")] = 0,
    device: Annotated[str, typer.Option(metavar="NAME", help="Where to fit: auto, cpu or cuda.")] = "auto",
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave rows with missing values out.")] = False,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = ".",
    overwrite: OverwriteOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Learn the graphs of a table and save the model.

    A fit that was interrupted goes on where it stopped when the same
    command is run again.

    Example: contextualdag fit data.csv --context age,site --out model
    """
    import json

    from contextualdag.cli.columns import split_names
    from contextualdag.cli.fit_data import choose_data
    from contextualdag.cli.fit_summary import show, summarise
    from contextualdag.cli.tables import listed, read_table

    given = {"acyclicity": acyclicity, "members": members, "max_epochs": max_epochs, "clusters": clusters}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if ONLY[name] != method:
            raise typer.BadParameter(f"It is for --method {ONLY[name]}.", param_hint=f"--{name.replace('_', '-')}")
    if selection is not None and edges is not None:
        raise typer.BadParameter("Give --selection or --edges, not both.", param_hint="--edges")
    if not 0 < validation_fraction < 1:
        raise typer.BadParameter("A number between 0 and 1 was expected.", param_hint="--validation-fraction")
    settings |= {"selection": edges if edges is not None else selection or "relaxed"}
    settings |= {"validation_fraction": validation_fraction, "random_state": seed, "device": _checked_device(device)}
    variables, features = split_names(nodes, "--nodes"), split_names(context, "--context")
    codes = split_names(categorical, "--categorical")
    _check_folder(out, overwrite)

    frame = read_table(data, delimiter, decimal, codes)
    if context is None and method != "fixed":
        raise typer.BadParameter(
            f"Name the columns that the graphs may change with, or take --method fixed for one graph without a context. "
            f"{data} has the columns: {listed(list(frame.columns))}.",
            param_hint="--context",
        )
    chosen = choose_data(frame, data, variables, features, codes, drop_missing)
    most = len(chosen.X.columns) * (len(chosen.X.columns) - 1) // 2
    if edges is not None and edges > most:
        raise typer.BadParameter(
            f"A graph of {len(chosen.X.columns)} variables has {most} edges at most. Got {edges:g}.", param_hint="--edges"
        )
    model = _estimator(method, settings)
    begun = time.monotonic()
    with _warnings_as_lines():
        _fit_and_save(model, chosen, out)
    summary = summarise(model, chosen, out, time.monotonic() - begun)
    if as_json:
        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
    else:
        show(summary)


def unfinished_folder(out: Path) -> Path:
    """Where a fit is kept until it is done: beside the model."""
    target = out if out.name not in ("", "..") else out.resolve()
    return target.with_name(f"{target.name}.unfinished")


def _checked_device(name: str) -> str:
    import torch

    try:
        kind = "auto" if name == "auto" else torch.device(name).type
    except RuntimeError:
        kind = "unknown"
    if kind not in ("auto", "cpu", "cuda"):
        raise typer.BadParameter(
            f"auto, cpu, cuda or cuda:0, cuda:1, ... was expected. Got {name!r}.", param_hint="--device"
        )
    if kind == "cuda" and not torch.cuda.is_available():
        raise typer.BadParameter(
            "PyTorch finds no CUDA device here. Leave --device out to fit on the CPU.", param_hint="--device"
        )
    return name


def _check_folder(out: Path, overwrite: bool) -> None:
    """Raise, before any work is done, if the model cannot or must not be saved there."""
    from contextualdag.errors import PersistenceError
    from contextualdag.estimators.loading import is_nothing_but_a_save

    if out.exists() and not out.is_dir():
        raise PersistenceError(f"{out} is a file; the model is a folder. Choose another --out.")
    if out.is_dir() and any(out.iterdir()):
        if not is_nothing_but_a_save(out):
            raise PersistenceError(f"{out} holds other files than a model; choose another --out.")
        if not overwrite:
            raise PersistenceError(f"{out} holds a model already; add --overwrite to replace it, or choose another --out.")


def _estimator(method: Method, settings: dict[str, Any]) -> "PathEstimator":
    from contextualdag.estimators import ClusteredDAG, ContextualDAG, FixedDAG

    settings = {f"n_{name}" if name in ("clusters", "members") else name: value for name, value in settings.items()}
    if method == "clustered":
        return ClusteredDAG(**settings)
    return ContextualDAG(**settings) if method == "contextual" else FixedDAG(**settings)


def _fit_and_save(model: "PathEstimator", data: "FitData", out: Path) -> None:
    """Fit with a checkpoint beside the model where that takes long, and remove it once the model is saved."""
    from contextualdag.cli.outcome import Stopped, resumable
    from contextualdag.estimators import ContextualDAG

    n_features = 0 if data.Z is None else data.Z.shape[1]
    context = {0: "no context", 1: "1 context feature"}.get(n_features, f"{n_features} context features")
    typer.echo(f"Fitting {data.X.shape[1]} variables in {len(data.X)} rows with {context} ...", err=True)
    if not isinstance(model, ContextualDAG):
        with resumable("Nothing was written; the same command starts again."):
            model.fit(data.X, data.Z)
            model.save(out)
        return
    unfinished = unfinished_folder(out)
    done = unfinished.with_name(f".{unfinished.name}-done")
    shutil.rmtree(done, ignore_errors=True)  # of a run that was killed in its last moment
    if unfinished.exists():
        typer.echo(f"Going on with what {unfinished} has kept.", err=True)
    try:
        model.fit(data.X, data.Z, checkpoint=unfinished)
        model.save(out)
    except KeyboardInterrupt as error:
        if not unfinished.exists():
            raise Stopped("It was too early to keep anything; the same command starts again.") from error
        raise Stopped(f"What is done is kept in {unfinished}; run the same command again to go on.") from error
    # Under another name first: a checkpoint is there as a whole or not at all.
    if unfinished.exists():
        unfinished.rename(done)
        shutil.rmtree(done, ignore_errors=True)


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """What the library warns of, as lines on stderr."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        typer.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
