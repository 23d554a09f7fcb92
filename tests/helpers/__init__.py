"""Made files, systems, ranks and clusters that tests share, and laws that several tests check."""
