"""Other packages on the same data: `python -m benchmarks.peers`."""
