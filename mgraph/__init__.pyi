from mgraph import experiments as experiments
from mgraph.components.connected_components import (
    connected_components as connected_components,
)
from mgraph.components.result import Components as Components
from mgraph.core.csr import from_edges as from_edges
from mgraph.core.edges import EdgeList as EdgeList
from mgraph.core.graph import Graph as Graph
from mgraph.core.networkx_graph import from_networkx as from_networkx
from mgraph.core.sparse_matrix import from_sparse as from_sparse
from mgraph.distributed.clusters.connect import Cluster as Cluster
from mgraph.distributed.clusters.connect import ClusterSpec as ClusterSpec
from mgraph.distributed.clusters.connect import connect as connect
from mgraph.distributed.operations.components import ComponentsRun as ComponentsRun
from mgraph.distributed.operations.components import components_dataset as components_dataset
from mgraph.distributed.operations.convert import ConvertRun as ConvertRun
from mgraph.distributed.operations.convert import convert as convert
from mgraph.distributed.operations.dataset import Dataset as Dataset
from mgraph.distributed.operations.dataset import open_dataset as open_dataset
from mgraph.distributed.operations.degrees import Degrees as Degrees
from mgraph.distributed.operations.degrees import degrees as degrees
from mgraph.distributed.operations.generate import GenerateRun as GenerateRun
from mgraph.distributed.operations.generate import generate as generate
from mgraph.distributed.operations.knapsacks import KnapsackRun as KnapsackRun
from mgraph.distributed.operations.knapsacks import knapsack_many as knapsack_many
from mgraph.distributed.operations.partitioned_graph import (
    PartitionedGraph as PartitionedGraph,
)
from mgraph.distributed.operations.partitioned_graph import open_partitioned as open_partitioned
from mgraph.distributed.operations.partitioned_results import (
    PartitionedComponents as PartitionedComponents,
)
from mgraph.distributed.operations.partitioned_results import (
    PartitionedForest as PartitionedForest,
)
from mgraph.distributed.operations.partitioned_results import (
    PartitionedPaths as PartitionedPaths,
)
from mgraph.distributed.operations.spanning_forest import ForestRun as ForestRun
from mgraph.distributed.operations.spanning_forest import (
    spanning_forest_dataset as spanning_forest_dataset,
)
from mgraph.distributed.operations.sssp import SearchRun as SearchRun
from mgraph.distributed.operations.sssp import sssp_many as sssp_many
from mgraph.distributed.operations.steiner import SteinerRun as SteinerRun
from mgraph.distributed.operations.steiner import steiner_many as steiner_many
from mgraph.distributed.operations.verify import Verdict as Verdict
from mgraph.distributed.operations.verify import verify as verify
from mgraph.errors import ClusterError as ClusterError
from mgraph.errors import ConnectionLostError as ConnectionLostError
from mgraph.errors import DatasetError as DatasetError
from mgraph.errors import DeviceError as DeviceError
from mgraph.errors import DisconnectedError as DisconnectedError
from mgraph.errors import MgraphError as MgraphError
from mgraph.errors import MgraphWarning as MgraphWarning
from mgraph.errors import OutOfMemoryError as OutOfMemoryError
from mgraph.errors import StorageError as StorageError
from mgraph.errors import UsageError as UsageError
from mgraph.generators.copy_model import CopyModel as CopyModel
from mgraph.heap.batch_heap import BatchHeap as BatchHeap
from mgraph.io.dataframes import from_dataframe as from_dataframe
from mgraph.io.graph_reader import read_graph as read_graph
from mgraph.io.graph_writer import write_graph as write_graph
from mgraph.knapsacks.instance import KnapsackInstance as KnapsackInstance
from mgraph.knapsacks.knapsack import Knapsack as Knapsack
from mgraph.knapsacks.knapsack import knapsack as knapsack
from mgraph.shortest_paths.result import ShortestPaths as ShortestPaths
from mgraph.shortest_paths.sssp import sssp as sssp
from mgraph.spanning_trees.minimum_spanning_forest import (
    minimum_spanning_forest as minimum_spanning_forest,
)
from mgraph.spanning_trees.single_linkage import Clustering as Clustering
from mgraph.spanning_trees.single_linkage import single_linkage as single_linkage
from mgraph.spanning_trees.spanning_forest import SpanningForest as SpanningForest
from mgraph.steiner.check import check_steiner_tree as check_steiner_tree
from mgraph.steiner.directed.steiner_arborescence import (
    node_weighted_steiner_tree as node_weighted_steiner_tree,
)
from mgraph.steiner.directed.steiner_arborescence import (
    steiner_arborescence as steiner_arborescence,
)
from mgraph.steiner.groups.group_steiner_tree import group_steiner_tree as group_steiner_tree
from mgraph.steiner.groups.group_steiner_tree import group_steiner_trees as group_steiner_trees
from mgraph.steiner.k_best.k_best_trees import k_best_steiner_trees as k_best_steiner_trees
from mgraph.steiner.prize_collecting.prize_collecting_tree import (
    prize_collecting_steiner_tree as prize_collecting_steiner_tree,
)
from mgraph.steiner.result import SteinerTree as SteinerTree
from mgraph.steiner.steiner_tree import steiner_tree as steiner_tree
from mgraph.steiner.steiner_tree import steiner_trees as steiner_trees

__version__: str
