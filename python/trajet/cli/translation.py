"""Messages are in Python; commands print the expressions in them as options of their own."""

import ast
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from trajet.cli.tables import EXPECTED, one_line
from trajet.messages import Message

# Where `parameter=value`, `selection.whole()` or `tj.open(...)` begins.
_BEGIN = re.compile(
    r"(?<![\w./-])(?:([a-z]\w*)=(?!=)|(?:(?:selection|trajectory)\.)?[A-Za-z]\w*\(|tj\.[a-z])"
)
# Other values behind the first one, as in `method="average" or "complete"`.
_OTHERS = re.compile(r"(?:(?:,? or |, )(?:'\w+'|\"\w+\"))*")
# Names in quotes, which may be anything.
_QUOTED = r"""(?<![\w)\]}])(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")(?!\w)"""
# Words with slashes, unless these are in quotes, as in `reference='a/b.pdb'`.
_PATH = r"""(?<!\S)[^\s'"]*[/\\]\S*"""
# Characters of the longest expression: messages quote texts of files, too.
_MAX_LENGTH = 200
# The parts of `frames=slice(start, stop, step)`.
_FRAMES = ("start", "stop", "step")
# Commands that do what a parameter does for which no command has an option.
_COMMANDS = {"rebuild_index": "trajet index --force"}


class _NotAnOption(Exception):
    """The command has no option for an expression."""


def as_options(text: str, *commands: click.Command) -> str:
    """Return a message with options of commands in place of Python expressions.

    An expression stays if the commands have no option for it. Names in quotes, paths with slashes,
    and values that the user gave stay too, whatever they look like.

    Parameters
    ----------
    text
        The message.
    commands
        The first one that has an option decides; without any, the command that is running.
    """
    ctx = click.get_current_context(silent=True)
    if not commands and ctx is not None:
        commands = (ctx.command,)
    options = {
        param.name or "": param
        for command in reversed(commands)
        for param in command.params
        if isinstance(param, click.Option)
    }
    group = None if ctx is None else ctx.find_root().command
    known = group.list_commands(ctx) if ctx and isinstance(group, click.Group) else ()
    names, pieces, at = _names(ctx), [], 0
    while found := _BEGIN.search(text, at):
        if (name := names.search(text, at)) and name.start() <= found.start():
            pieces.append(text[at : name.end()])
            at = name.end()
            continue
        end = _end(text, found.end() if found[1] else found.start())
        try:
            if found[1]:
                value = text[found.end() : end]
                new = _argument(options, found[1], _parsed(value) if value else None)
                others = _OTHERS.match(text, end)
                assert others is not None
                new, end = new + re.sub("['\"]", "", others[0]), others.end()
            else:
                new = _expression(options, _parsed(text[found.start() : end]), known)
        except _NotAnOption:
            new = text[found.start() : end]
        except SyntaxError:
            end = found.end()
            new = found[0]
        pieces += [text[at : found.start()], new]
        at = end
    return "".join([*pieces, text[at:]])


def _names(ctx: click.Context | None) -> re.Pattern[str]:
    """Return what finds names: in quotes, with slashes, and values of the running command."""
    given = list(ctx.params.values()) if ctx else []
    names = [_QUOTED, _PATH]
    while given:
        value = given.pop()
        if isinstance(value, (list, tuple)):
            given += value
        elif isinstance(value, (str, Path)) and _BEGIN.search(str(value)):
            names.append(rf"(?<![\w./-]){re.escape(str(value))}")
    return re.compile("|".join(names), re.DOTALL)


def line_of(message: Message) -> str:
    """Return a warning or a note as a line of the command that is running."""
    return f"{message.label}: {as_options(message)}"


def error_line(error: BaseException) -> str:
    """Return the message of an error on one line, with options of the command that is running."""
    return as_options(one_line(error))


@contextmanager
def errors_with_options_of(command: click.Command) -> Iterator[None]:
    """Change the messages of expected errors that leave a block: they name options."""
    try:
        yield
    except (*EXPECTED, MemoryError) as error:
        if isinstance(error, OSError) and error.strerror is not None:
            error.strerror = as_options(error.strerror, command)
        else:
            shown = (
                as_options(one, command) if isinstance(one, str) else one for one in error.args
            )
            error.args = tuple(shown)
        raise


def _end(text: str, begin: int) -> int:
    """Return where a Python expression ends that begins at an index of a text."""
    depth, quote, end = 0, "", begin
    for end, letter in enumerate(text[begin:] + " ", begin):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'" and (depth or end == begin):
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif not depth and not (letter.isalnum() or letter in "_.+-"):
            break
    return begin + len(text[begin:end].rstrip(".+-"))


def _parsed(text: str) -> ast.expr:
    """Return a Python expression; raise a SyntaxError if it is none, or too long for advice."""
    if len(text) > _MAX_LENGTH:
        raise SyntaxError
    try:
        # Messages quote paths and texts of files, of which Python may warn.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (ValueError, MemoryError, RecursionError) as error:
        raise SyntaxError from error


def _name_of(option: click.Option) -> str:
    return max(option.opts, key=len)


def _argument(options: Mapping[str, click.Option], name: str, value: ast.expr | None) -> str:
    """Return `name=value` as options; without a value the name of the option."""
    option = options.get(name)
    if name in _COMMANDS:
        return _COMMANDS[name]
    if name == "frames" and options.keys() >= {*_FRAMES}:
        return _frames(options, value)
    if option is None or option.is_flag:
        return _switch(options, name, value)
    if name == "pool" and isinstance(value, ast.Call):
        return _pool(options, option, value)
    words = [] if value is None else [*_words(option, value)]
    # Each entry of a dictionary is one use of the option.
    between = f" {_name_of(option)} " if isinstance(value, ast.Dict) else " "
    return f"{_name_of(option)} {between.join(words)}".rstrip()


def _switch(options: Mapping[str, click.Option], name: str, value: ast.expr | None) -> str:
    """Return `name=True` or `name=False` as an option."""
    option, negated = options.get(name), options.get(f"no_{name}")
    match value:
        case None | ast.Constant(True) if option is not None:
            return _name_of(option)
        case ast.Constant(False) if option is not None and option.secondary_opts:
            return option.secondary_opts[0]
        case ast.Constant(False) if negated is not None:
            return _name_of(negated)
    raise _NotAnOption


def _words(option: click.Option, value: ast.expr) -> Iterator[str]:
    """Yield the words of the command line for a value of an option."""
    match value:
        case ast.Tuple(items) | ast.List(items):
            for item in items:
                yield from _words(option, item)
        case ast.Dict() if "=" in (option.metavar or ""):
            for key, word in _entries(option, value):
                yield f"{key}={word}"
        case ast.Constant(known) if known in ("...", ...):
            yield option.metavar or "VALUE"
        case ast.Constant(bool(known)):
            yield str(known).lower()
        case ast.Constant(known) if known is not None:
            # Types of sizes write 8MiB.
            yield shlex.quote(getattr(option.type, "text_of", str)(known))
        case ast.Name() | ast.UnaryOp(ast.USub(), ast.Constant()):
            yield ast.unparse(value)
        case _:
            raise _NotAnOption


def _entries(option: click.Option, value: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield the keys of nested dictionaries, with dots between them, and the values."""
    if not isinstance(value, ast.Dict):
        yield "", " ".join(_words(option, value))
        return
    for key, entry in zip(value.keys, value.values, strict=True):
        if not isinstance(key, ast.Constant):
            raise _NotAnOption
        for below, word in _entries(option, entry):
            yield ".".join(filter(None, (str(key.value), below))), word


def _frames(options: Mapping[str, click.Option], value: ast.expr | None) -> str:
    """Return `frames=slice(start, stop, step)` as options; without a value the names of all."""
    if value is None:
        return ", ".join(_name_of(options[name]) for name in _FRAMES)
    match value:
        case ast.Call(ast.Name("slice"), [stop]):
            given = {"stop": stop}
        case ast.Call(ast.Name("slice"), args):
            given = dict(zip(_FRAMES, args, strict=False))
        case _:
            raise _NotAnOption
    texts = {name: ast.unparse(part) for name, part in given.items()}
    return " ".join(
        f"{_name_of(options[name])} {text}" for name, text in texts.items() if text != "None"
    )


def _pool(options: Mapping[str, click.Option], option: click.Option, value: ast.Call) -> str:
    """Return `pool=ProcessPool(workers=4)` as options."""
    name = ast.unparse(value.func).lower()
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    # The word of a pool and its class begin with the same letters.
    word = next((one for one in choices if name.startswith(one[:4])), None)
    if word is None:
        raise _NotAnOption
    first = [] if word == option.default else [f"{_name_of(option)} {word}"]
    return " ".join([*first, *_arguments(options, value)])


def _arguments(options: Mapping[str, click.Option], call: ast.Call) -> Iterator[str]:
    """Yield the keywords of a call as options."""
    for keyword in call.keywords:
        yield _argument(options, keyword.arg or "", keyword.value)


def _expression(
    options: Mapping[str, click.Option], value: ast.expr, commands: Sequence[str]
) -> str:
    """Return a chain of transforms, or a function of trajet, as options or as a command."""
    match value:
        case ast.Call(ast.Attribute(ast.Name("tj"), name)) | ast.Attribute(ast.Name("tj"), name):
            words = [*_arguments(options, value)] if isinstance(value, ast.Call) else []
            if not words and (command := name.replace("_", "-")) in commands:
                words = ["trajet", command]
            if not words:
                raise _NotAnOption
            return " ".join(words)
        case ast.Call(ast.Attribute(ast.Call() as before, name)):
            first = _expression(options, before, commands)
            return f"{first} {_transform(options, name, value)}"
        case ast.Call(ast.Name(name) | ast.Attribute(ast.Name(), name)):
            return _transform(options, name, value)
    raise _NotAnOption


def _transform(options: Mapping[str, click.Option], name: str, call: ast.Call) -> str:
    """Return `fit("name CA", weights="mass")` as options, whose names begin with the method's."""
    if name not in options:
        raise _NotAnOption
    option, further = options[name], list[str]()
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    values = [*call.args]
    for keyword in call.keywords:
        parameter, value = keyword.arg or "", keyword.value
        if (own := f"{name}_{parameter}") in options:
            further.append(_argument(options, own, value))
        elif option.is_flag:
            further.append(_argument(options, parameter, value))
        elif isinstance(value, ast.Constant) and value.value in choices:
            values.append(value)
        else:
            raise _NotAnOption
    words = [word for value in values for word in _words(option, value)]
    is_implied = further and not words and not option.is_flag
    return " ".join([*([] if is_implied else [_name_of(option), *words]), *further])
