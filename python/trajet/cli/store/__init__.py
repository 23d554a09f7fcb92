"""Commands on stores: `trajet store add | list | show | get | …`."""

from trajet.cli.store.datasets import COMMANDS

__all__ = ["COMMANDS"]
