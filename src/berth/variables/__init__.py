"""Variables of graphs: creation, scopes, collections, initializers."""
