"""``contextualdag demo``."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html.")] = Path("demo"),
    samples: Annotated[int, typer.Option(min=100, help="Rows to learn from.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the data and of the fit.")] = 0,
) -> None:
    """Simulate, fit, compare with the truth, and write a report.

    Example: contextualdag demo --out demo
    """
    from rich.console import Console
    from rich.table import Table

    from contextualdag.report.demo import demonstrate, write_report

    console = Console()
    console.print(f"Learning a graph for every context from {samples} samples of 5 variables …")
    shown = demonstrate(samples, seed)
    exact = True
    for row in shown.shown:
        context = ", ".join(f"{value:.2f}" for value in shown.Z[row])
        table = Table("edge", "true", "learned", "", title=f"z = ({context})", title_justify="left")
        edges = shown.edges(row)
        for edge, true, learned, remark in edges.itertuples(index=False):
            table.add_row(edge, f"{true:.2f}" if true else "none", f"{learned:.2f}" if learned else "none", remark)
        exact &= not edges[""].any()
        console.print(table)
    wrong = "Both graphs were recovered exactly." if exact else "Not recovered exactly: the edges marked in the last column."
    console.print(wrong)
    scores = Table("on 1000 new contexts", "", title_justify="left")
    for name, value in shown.scores.items():
        scores.add_row(name, f"{value:.3f}")
    console.print(scores)
    console.print(f"Fitted in {shown.seconds:.0f} s. Report: {write_report(shown, out)}", soft_wrap=True)
