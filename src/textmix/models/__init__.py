"""Component models: how probable a document is in a cluster."""
