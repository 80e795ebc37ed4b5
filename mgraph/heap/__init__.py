"""A priority queue for batches of keys: ``batch_heap.py`` is the front door."""

from mgraph.heap.batch_heap import BatchHeap

__all__ = ["BatchHeap"]
