"""``mgraph convert``: a graph from one file format to another."""

import click

import mgraph
from mgraph.cli.options import compression_option
from mgraph.core.formatting import pluralize


@click.command(
    epilog="Formats, by the end of the name: .gr (DIMACS), .mtx (Matrix Market), .graph or .metis "
    "(METIS), .graphml, .gexf, each perhaps with .gz, .bz2 or .xz after it; .parquet (reading) and "
    "folders of Parquet files with columns src, dst and perhaps weight."
)
@click.argument("source", metavar="IN")
@click.argument("out")
@click.option("--symmetrise", is_flag=True, help="Take each arc for both directions.")
@click.option("--drop-loops", is_flag=True, help="Leave self-loops out.")
@click.option("--merge", is_flag=True, help="Of parallel arcs keep the one of least weight.")
@click.option("--overwrite", is_flag=True, help="Replace OUT.")
@compression_option
def convert(
    source: str,
    out: str,
    symmetrise: bool,
    drop_loops: bool,
    merge: bool,
    overwrite: bool,
    compression: str,
) -> None:
    """Read the graph IN and write it to OUT, each in the format that its name tells."""
    from mgraph.io.formats import check_target

    check_target(out, overwrite, compression)
    graph = mgraph.read_graph(
        source, symmetrise=symmetrise, drop_loops=drop_loops, merge=merge, backend="cpu"
    )
    mgraph.write_graph(graph, out, overwrite=overwrite, compression=compression)
    size = f"{pluralize(graph.num_arcs, 'arc')}, directed"
    if not graph.directed:
        size = f"{pluralize(len(graph.to_edges()), 'edge')}, undirected"
    click.echo(f"{pluralize(graph.n, 'vertex', 'vertices')} and {size}, in {out}")
