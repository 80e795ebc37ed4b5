"""0/1 knapsack problems: instances, and the methods that solve them."""
