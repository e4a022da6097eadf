"""One page layout for each structure: its hypergraph, its hyperpaths, and where everything stands."""
