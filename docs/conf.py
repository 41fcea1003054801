"""Sphinx configuration; `make docs` builds the pages with warnings as errors."""

import sys
from pathlib import Path

import contextualdag

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "contextualdag"
author = "The contextualdag developers"
copyright = author
version = release = contextualdag.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
    "myst_parser",
    "command_help",
    "mathml",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.md5"]
templates_path = ["_templates"]
default_role = "py:obj"  # single backticks in docstrings become links where possible
add_module_names = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings
numpydoc_show_class_members = False  # listed by the class template
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "ignore_repr_types": r"matplotlib",
    "plot_gallery": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "gallery_order.ReadingOrder",
    "write_computation_times": False,
}

# Pages load nothing from the network: the theme is self-contained, and formulas are MathML.
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"contextualdag {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
