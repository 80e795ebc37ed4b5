"""What tests of attributes share: conversions, the tables that they make, and a file of Gephi."""

import warnings

import pyarrow as pa
import pyarrow.parquet as pq

import mgraph

GEPHI = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3" xmlns:viz="http://gexf.net/1.3/viz">
<graph defaultedgetype="undirected" mode="static">
<attributes class="node" mode="static">
<attribute id="modularity_class" title="Modularity Class" type="integer"/>
<attribute id="kind" title="kind" type="string"><default>person</default></attribute>
</attributes>
<attributes class="edge" mode="static"><attribute id="0" title="since" type="long"/></attributes>
<nodes>
<node id="n2" label="Ada &amp; Co"><attvalues><attvalue for="modularity_class" value="3"/>
<attvalue for="kind" value="firm"/></attvalues>
<viz:size value="10.5"/><viz:position x="-1.5" y="2.25" z="0.0"/>
<viz:color r="192" g="0" b="255"/></node>
<node id="n1" label="n1"/>
<node id="n3" label="Grace"/>
</nodes>
<edges>
<edge id="0" source="n1" target="n2" weight="2.0" label="knows">
<attvalues><attvalue for="0" value="1843"/></attvalues></edge>
<edge id="1" source="n3" target="n1"/>
</edges>
</graph>
</gexf>
"""


def convert(location, out, **options):
    """Convert quietly; return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mgraph.convert(location, out, **options)
    return " ".join(str(warning.message) for warning in caught)


def vertices_of(folder):
    """Return the table of a dataset's vertices."""
    names = mgraph.open_dataset(folder).manifest.vertex_files
    return pa.concat_tables([pq.read_table(folder / name) for name in names])


def edges_of(folder):
    return mgraph.open_dataset(folder).to_arrow().to_table()
