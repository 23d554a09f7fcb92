"""`python -m trajet` is the command `trajet`."""

from trajet.cli import main

if __name__ == "__main__":
    main()
