"""From messages to results, by system: what live node and offline replay share."""
