"""The bundled model `english`: its corpora, texts of numbers and tables, and how good it is."""
