"""Kernels of the projections: forward only, plain PyTorch as the definition and compiled twins of it."""
