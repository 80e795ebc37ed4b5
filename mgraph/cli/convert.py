"""``mgraph convert``: a graph from one file format to another."""

import click

import mgraph
from mgraph.cli.help import command, option
from mgraph.cli.options import compression_option, overwrite_option
from mgraph.core.choices import Compression
from mgraph.core.formatting import pluralize


@command(
    examples=(
        "mgraph convert roads roads.gexf",
        "mgraph convert USA-road-d.NE.gr.gz roads --symmetrise --merge",
    )
)
@click.argument("source", metavar="IN")
@click.argument("out")
@option("--symmetrise", is_flag=True, help="Add the reverse of every arc of IN.")
@option("--drop-loops", is_flag=True, help="Leave out self-loops.")
@option("--merge", is_flag=True, help="Keep only the minimum-weight arc of parallel ones.")
@overwrite_option("OUT")
@compression_option
def convert(
    source: str,
    out: str,
    symmetrise: bool,
    drop_loops: bool,
    merge: bool,
    overwrite: bool,
    compression: Compression,
) -> None:
    """Copy the graph IN to OUT, each in the format that its name says.

    Names end in .gr (DIMACS), .mtx (Matrix Market), .graph or .metis (METIS), .graphml or .gexf,
    also with .gz, .bz2 or .xz after that. Other names are folders of Parquet files with columns
    src, dst and perhaps weight; IN may also be one .parquet file.
    """
    from mgraph.io.graph_writer import check_target

    check_target(out, overwrite, compression)
    graph = mgraph.read_graph(
        source, symmetrise=symmetrise, drop_loops=drop_loops, merge=merge, backend="cpu"
    )
    mgraph.write_graph(graph, out, overwrite=overwrite, compression=compression)
    size = f"{pluralize(graph.num_arcs, 'arc')}, directed"
    if not graph.directed:
        size = f"{pluralize(len(graph.to_edges()), 'edge')}, undirected"
    click.echo(f"{pluralize(graph.n, 'vertex', 'vertices')} and {size}, in {out}")
