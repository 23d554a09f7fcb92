"""Generated files, systems, ranks and clusters that tests share, and laws that they check."""
