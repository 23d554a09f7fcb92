"""`click.ParamType` with its type parameter, which click has since version 8.4."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click import ParamType
else:

    class ParamType(click.ParamType):
        """A type of values; the type parameter is for type checkers alone."""

        def __class_getitem__(cls, _of: object) -> type:
            return cls


__all__ = ["ParamType"]
