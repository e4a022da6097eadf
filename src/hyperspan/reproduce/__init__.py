"""The paper's tables, each row a configuration: what is trained, what is kept of it, and how it is laid out."""
