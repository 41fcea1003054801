"""The graphs of the drug study against the published ones, edge by edge, and what there is to say about them."""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextualdag import __version__
from contextualdag.datasets.drug_consumption import PUBLISHED_HIGH, PUBLISHED_LOW
from contextualdag.errors import PersistenceError
from contextualdag.experiments.drug import SUMMARY, VERSION

if TYPE_CHECKING:
    import pandas

Edge = tuple[str, str]

PUBLISHED: dict[str, tuple[Edge, ...]] = {"low": PUBLISHED_LOW, "high": PUBLISHED_HIGH}
KEY = ["settings", "intercept", "choice"]
SETTINGS_WORDS = {"paper": "the paper's settings", "default": "our defaults"}
CHOICE_WORDS = {"told": "told five edges", "own": "own choice"}
INTERCEPT_WORDS = {"constant": "one mean for all", "contextual": "mean by context"}
VERDICTS = ("same", "reversed", "missing", "extra")


@dataclass(frozen=True)
class DrugStudy:
    """What `run_drug` found."""

    summary: dict[str, Any]
    graphs: "pandas.DataFrame"
    sparsity: "pandas.DataFrame"
    people: "pandas.DataFrame"

    def edges(self, settings: str, intercept: str, choice: str, context: str) -> dict[Edge, float]:
        """Edges and weights of one graph."""
        wanted = [settings, intercept, choice, context]
        mine = self.graphs[(self.graphs[[*KEY, "context"]] == wanted).all(axis=1)]
        return dict(zip(zip(mine["source"], mine["target"], strict=True), mine["weight"], strict=True))

    def variants(self) -> list[tuple[str, str]]:
        """Settings and choices that were run, the paper's first."""
        found = dict.fromkeys((graph["settings"], graph["choice"]) for graph in self.summary["graphs"])
        return sorted(found, key=lambda variant: (variant[0] != "paper", variant[1] != "told"))

    def mean_edges(self, settings: str, intercept: str, choice: str) -> float:
        """Edges on average over the people of the survey."""
        wanted = (settings, intercept, choice)
        return next(float(g["mean_edges"]) for g in self.summary["graphs"] if tuple(g[name] for name in KEY) == wanted)

    def fit(self, settings: str, intercept: str) -> dict[str, Any]:
        """What is known of one fit."""
        fits: list[dict[str, Any]] = self.summary["fits"]
        return next(fit for fit in fits if (fit["settings"], fit["intercept"]) == (settings, intercept))


def read_study(home: Path) -> DrugStudy:
    """Read the tables, and make sure that one run wrote them all."""
    import pandas as pd

    again = "Run `run_drug` again; finished fits are kept."
    try:
        summary = json.loads((home / SUMMARY).read_bytes())
        versions = (summary["version"], summary["contextualdag"])
        digests = summary["tables"]
    except FileNotFoundError:
        raise PersistenceError(f"There are no results of the drug study in {home}. Run `run_drug` first.") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PersistenceError(f"{home / SUMMARY} cannot be read ({error!r}). {again}") from error
    if versions != (VERSION, __version__):
        raise PersistenceError(
            f"The results in {home} are of version {versions[0]} of the study by contextualdag {versions[1]}; this is "
            f"version {VERSION} by {__version__}. {again}"
        )
    tables = {}
    for name, digest in digests.items():
        try:
            content = (home / name).read_bytes()
        except OSError as error:
            raise PersistenceError(f"{home / name} cannot be read ({error}). {again}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise PersistenceError(f"{home / name} is not the table that {SUMMARY} was written with. {again}")
        tables[Path(name).stem] = pd.read_csv(io.BytesIO(content))
    return DrugStudy(summary, tables["graphs"], tables["sparsity"], tables["people"])


def compare_edges(published: Iterable[Edge], ours: Mapping[Edge, float]) -> list[dict[str, Any]]:
    """One row for every pair of nodes that is joined in either graph.

    The verdict is "same", "reversed" (ours points the other way), "missing" (ours lacks it) or "extra" (the published graph
    lacks it); the structural Hamming distance is the number of rows that are not "same". A row has the published direction
    of a published edge.

    Examples
    --------
    >>> from contextualdag.experiments.drug_comparison import compare_edges
    >>> [row["verdict"] for row in compare_edges([("a", "b"), ("b", "c")], {("b", "a"): 0.5, ("a", "c"): 0.2})]
    ['reversed', 'missing', 'extra']
    """
    rows = []
    known = list(published)
    for source, target in known:
        forward, back = ours.get((source, target)), ours.get((target, source))
        verdict = "same" if forward is not None else "missing" if back is None else "reversed"
        weight = forward if forward is not None else back
        rows.append({"source": source, "target": target, "published": True, "weight": weight, "verdict": verdict})
    for (source, target), weight in ours.items():
        if (source, target) not in known and (target, source) not in known:
            rows.append({"source": source, "target": target, "published": False, "weight": weight, "verdict": "extra"})
    return rows


def comparison(study: DrugStudy) -> "pandas.DataFrame":
    """All graphs against the published ones, edge by edge."""
    import pandas as pd

    rows = [
        {"settings": graph["settings"], "intercept": graph["intercept"], "choice": graph["choice"], "context": context} | row
        for graph in study.summary["graphs"]
        for context, published in PUBLISHED.items()
        for row in compare_edges(published, study.edges(graph["settings"], graph["intercept"], graph["choice"], context))
    ]
    return pd.DataFrame(rows)


def describe(study: DrugStudy, table: "pandas.DataFrame") -> str:
    """The study as Markdown: what was done, how near the published graphs are, what the intercept changes."""
    told = [settings for settings, choice in study.variants() if choice == "told"]
    contexts = "; ".join(
        f"{context}: " + ", ".join(f"{score} {value:.2f}" for score, value in place.items())
        for context, place in study.summary["contexts"].items()
    )
    parts = [
        "# The drug study",
        f"{study.summary['n_people']} people, {len(study.summary['names'])} substances, a graph for every pair of scores "
        f"({' and '.join(study.summary['scores'])}). The contexts that are drawn have both scores at their 0.1 and 0.9 "
        f"quantiles ({contexts}). One fit each, with the seed {study.summary['random_state']}.",
        "## What the contextual intercept changes",
        *(intercept_changes(study, table, settings) for settings in told),
        "![Number of edges over the scores](sparsity.png)",
        "## Distance to the published graphs",
        f"Structural Hamming distance, then how many of the {len(PUBLISHED_LOW)} and {len(PUBLISHED_HIGH)} published edges "
        f"are found, found reversed and missed, and how many edges are extra. A graph without edges has the distances "
        f"{len(PUBLISHED_LOW)} and {len(PUBLISHED_HIGH)}.",
        _scores(study, table),
    ]
    for settings in told:
        parts += [
            f"## Edge by edge: {SETTINGS_WORDS[settings]}, told five edges",
            f"![Low-score and high-score graphs](graphs-{settings}.png)",
            _edge_table(table[(table["settings"] == settings) & (table["choice"] == "told")]),
        ]
    parts += ["## How this differs from the paper", *_differences(study)]
    return "\n\n".join(parts)


def intercept_changes(study: DrugStudy, table: "pandas.DataFrame", settings: str) -> str:
    """What is different with an intercept that follows the context, in a few sentences made from the numbers."""
    without, within = ({(c, *e) for c in PUBLISHED for e in study.edges(settings, i, "told", c)} for i in INTERCEPT_WORDS)
    turned = {edge for edge in without - within if (edge[0], edge[2], edge[1]) in within}
    counts = {
        intercept: [len(study.edges(settings, intercept, "told", context)) for context in PUBLISHED]
        for intercept in INTERCEPT_WORDS
    }
    found = {intercept: _verdicts(table, settings, intercept, "told") for intercept in INTERCEPT_WORDS}
    distance = {intercept: sum(sum(v[verdict] for verdict in VERDICTS[1:]) for v in found[intercept]) for intercept in found}
    same = {intercept: sum(v["same"] for v in found[intercept]) for intercept in found}
    losses = [study.fit(settings, intercept)["loss_without_edges"] for intercept in INTERCEPT_WORDS]
    n = len(PUBLISHED_LOW) + len(PUBLISHED_HIGH)
    text = (
        f"By {SETTINGS_WORDS[settings]}: a mean that follows the scores explains "
        f"{100 * (1 - losses[1] / losses[0]):.0f} % of the validation variance before any edge. Once it is taken out, the "
        f"low-score graph has {counted(counts['contextual'][0], 'edge')} (with one mean for all: {counts['constant'][0]}) "
        f"and the high-score graph {counts['contextual'][1]} ({counts['constant'][1]}), at "
        f"{study.mean_edges(settings, 'contextual', 'told'):.1f} ({study.mean_edges(settings, 'constant', 'told'):.1f}) on "
        f"average over all people. Of the {counted(len(without), 'edge')} of the two graphs with one mean for all, "
        f"{len(without & within)} remain as they are, {len(without - within - turned)} vanish and the direction changes for "
        f"{len(turned)}; new ones: {len(within - without) - len(turned)}. From the published graphs they differ in "
        f"{counted(distance['contextual'], 'pair')} of substances ({distance['constant']}; graphs without edges would in "
        f"{n}), and of the {n} published edges they have {same['contextual']} ({same['constant']})."
    )
    if (settings, "own") in study.variants():
        own = [study.mean_edges(settings, intercept, "own") for intercept in ("contextual", "constant")]
        text += f" By the estimator's own choice there are {own[0]:.1f} edges on average ({own[1]:.1f})."
    believed = [words for intercept, words in INTERCEPT_WORDS.items() if not study.fit(settings, intercept)["varies"]]
    if believed:
        text += f" One graph for all people predicts as well as graphs that vary, and is believed: {' and '.join(believed)}."
    return text


def _verdicts(table: "pandas.DataFrame", settings: str, intercept: str, choice: str) -> list[dict[str, int]]:
    """How many edges have which verdict, for the low-score and the high-score graph."""
    mine = table[(table[KEY] == [settings, intercept, choice]).all(axis=1)]
    return [
        {verdict: int(((mine["context"] == context) & (mine["verdict"] == verdict)).sum()) for verdict in VERDICTS}
        for context in PUBLISHED
    ]


def _scores(study: DrugStudy, table: "pandas.DataFrame") -> str:
    rows = []
    for settings, choice in study.variants():
        for intercept, words in INTERCEPT_WORDS.items():
            cells = []
            for verdicts in _verdicts(table, settings, intercept, choice):
                cells += [
                    f"**{sum(verdicts[verdict] for verdict in VERDICTS[1:])}**",
                    " / ".join(str(verdicts[verdict]) for verdict in VERDICTS),
                ]
            seconds = study.fit(settings, intercept)["seconds"]
            rows.append([
                SETTINGS_WORDS[settings], CHOICE_WORDS[choice], words, *cells,
                f"{study.mean_edges(settings, intercept, choice):.1f}", "" if seconds is None else f"{seconds:.0f}",
            ])  # fmt: skip
    of_graph = [f"{context}: {what}" for context in PUBLISHED for what in ("SHD", " / ".join(VERDICTS))]
    return _markdown(["settings", "choice", "intercept", *of_graph, "edges on average", "seconds of the fit"], rows)


def _edge_table(table: "pandas.DataFrame") -> str:
    """One row for every edge that is published or ours, with the weights and verdicts without and with the intercept."""
    rows = []
    for context in PUBLISHED:
        mine = table[table["context"] == context]
        edges = (
            mine[["source", "target", "published"]]
            .drop_duplicates()
            .sort_values("published", ascending=False, kind="stable")
        )
        for source, target, published in edges.itertuples(index=False):
            here = mine[(mine["source"] == source) & (mine["target"] == target)].set_index("intercept")
            cells = [_cell(here.loc[intercept]) if intercept in here.index else "" for intercept in INTERCEPT_WORDS]
            rows.append([context, f"{source} → {target}", "yes" if published else "", *cells])
    return _markdown(["graph", "edge", "published", *INTERCEPT_WORDS.values()], rows)


def _cell(row: "pandas.Series") -> str:
    return "missing" if row["verdict"] == "missing" else f"{row['verdict']}, {row['weight']:.2f}"


def _differences(study: DrugStudy) -> list[str]:
    notes = [
        "- Every substance is centred by its training mean, as in the paper. Then all are divided by one common number, "
        "their root mean square, which leaves the weights in the units of the data; the paper does not scale at all. "
        "Scores are standardised by both.",
        "- With the mean by context, a network of its own for the mean given the scores is fitted first and subtracted.",
        "- The split into training and validation rows and the first weights are drawn by our generators.",
    ]
    if any(settings == "paper" for settings, _ in study.variants()):
        notes.append(
            "- The paper's settings: hidden layers of 32 and 32, ReLU, 100 equispaced budgets, the one whose validation "
            "graphs have nearest to five edges, weights shrunken. The log-det projection treats every sample by itself in "
            "few steps and never leaves a cycle; the authors' program stops the whole batch together and repairs cycles "
            "afterwards."
        )
    else:
        notes.append("- This is the quick version: the paper's own settings were not fitted.")
    notes.append(
        "- Our defaults, told five edges: the strongest weights of a refit without shrinkage, cut to that number. Their own "
        "choice is the least refit loss; its graphs are too dense to draw and are in `graphs.csv` and `comparison.csv`."
    )
    notes.append(
        "- Codes from 0 (never) to 6 (in the last day) are treated as numbers with equal noise, and nobody knows the true "
        "graphs: the published ones are another estimate. An edge is an association, not a cause."
    )
    return ["\n".join(notes)]


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
