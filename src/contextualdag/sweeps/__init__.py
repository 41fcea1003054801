"""Running a function on many cells and keeping each result in a file."""
