"""Where a collection is kept."""
