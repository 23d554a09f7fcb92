"""Numbers against time in the files of other programs: energies, collective variables, logs."""
