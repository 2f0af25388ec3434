"""The identification systems, one folder each; none imports another."""
