"""One diagram for each structure: builds its hypergraph, finds hyperpaths, and lays everything out."""
