"""Chemical perception: orders of bonds, charges, aromatic rings and roles of atoms."""
