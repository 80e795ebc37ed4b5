"""A backend for NetworkX: ``nx.config.backend_priority = ["mgraph"]``, or ``backend="mgraph"``.

NetworkX finds ``info.get_info`` and ``interface.backend`` by the package's entry points. It hands
each call's graph to ``convert_from_nx``, keeps what that returns for later calls, and asks
``should_run`` first, which leaves small graphs to NetworkX.

Data flow. ``graphs.ConvertedGraph`` refers to the NetworkX graph and reads from it what a
function needs, once: the rows, in the order in which NetworkX stores them, and the weights of one
attribute. A function numbers its nodes, calls the function of mgraph that does the work, and gives
the result NetworkX's form: node objects, dicts in the order in which nodes are reached.
``mgraph.Graph`` is a graph of this backend itself; its nodes are its labels, or the numbers of its
vertices, and what is a graph in NetworkX is one here.

What is hard to do exactly is handed back to NetworkX's own function (``HandBack``): wrong
arguments, so that its errors are raised; functions as weights; weights that are negative, NaN or
of other types than Python's numbers; views, which change with their graph.

Cost. Reading a graph takes 0.3 to 0.7 µs per edge on one core, which is most of the time of nearly
all functions. What is read takes 8 to 40 bytes per edge, by what functions need.
"""
