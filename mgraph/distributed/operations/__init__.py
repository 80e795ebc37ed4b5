"""One operation over a cluster per module, and the tasks that they are made of."""
