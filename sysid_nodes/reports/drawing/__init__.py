"""Pictures: plots, meshes, scenes."""
