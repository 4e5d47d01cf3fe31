"""A term written as a formula, by a language model or a person: arithmetic over columns, and nothing else.

    z(weight) * z(length)      where(z(age) > 0.5, 1, -1)      is_in(site, "north", "east") * rank(grade)

``z`` is a numeric column with about zero mean and unit spread, ``rank`` an ordered one from -1 to 1, ``is_in`` 1 where
a level is among those named, ``month`` (1 to 12) and ``weekday`` (0 for Monday) read a date. A formula is read as a
tree of known nodes, so it can't do anything but compute.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from sandmle.agents.procedural.rules._term import Generator, Term
from sandmle.agents.procedural.schema import (
    CategoricalColumn,
    Column,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
    TableSchema,
)
from sandmle.record import Record, first_problem

__all__ = ["FUNCTIONS", "READERS", "Formula"]

READERS: Mapping[str, tuple[type[Record], ...]] = {
    "z": (NumericColumn,),
    "rank": (OrdinalColumn,),
    "is_in": (CategoricalColumn, OrdinalColumn),
    "month": (DateColumn,),
    "weekday": (DateColumn,),
}
"""What reads a column, and of which kinds."""
FUNCTIONS: Mapping[str, tuple[str, int]] = {
    "abs": ("np.abs", 1),
    "sin": ("np.sin", 1),
    "cos": ("np.cos", 1),
    "tanh": ("np.tanh", 1),
    "exp": ("np.exp", 1),
    "log1p": ("np.log1p", 1),
    "sqrt": ("np.sqrt", 1),
    "sign": ("np.sign", 1),
    "minimum": ("np.minimum", 2),
    "maximum": ("np.maximum", 2),
    "where": ("np.where", 3),
}
"""The other functions: their name in numpy and the number of arguments."""
OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
MAX_LENGTH = 300


class Formula(Term):
    """An expression over the columns that travel with it.

    Attributes:
        expression: the formula.
        reads: the columns that it names.
    """

    share = "hidden"
    kind: Literal["formula"] = "formula"
    expression: str
    reads: tuple[Column, ...]

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        self.source()
        return self

    @classmethod
    def over(cls, schema: TableSchema, expression: str) -> Self:
        """The formula over a table.

        Raises:
            ValueError: it is no formula over the table's columns; says what is wrong.
        """
        names = {node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name)}
        try:
            return cls(expression=expression, reads=tuple(c for c in schema.columns if c.name in names))
        except ValidationError as error:
            raise ValueError(f"{expression!r}: {first_problem(error)}") from error

    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.reads)

    def source(self) -> str:
        return f"({_Writer(self.expression, self.reads).written})"

    def readable(self) -> str:
        return self.expression

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        """Never drawn: a formula has an author."""
        return None


@cache
def _parse(expression: str) -> ast.expr:
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"a formula has at most {MAX_LENGTH} characters, not {len(expression)}")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{expression!r} is no formula: {error}") from error


class _Writer:
    """Writes a formula as a numpy expression over ``df``."""

    def __init__(self, expression: str, reads: Sequence[Column]) -> None:
        self._columns = {column.name: column for column in reads}
        self._found = False
        self.written = self._write(_parse(expression))
        if not self._found:
            raise ValueError(f"{expression!r} reads no column; read one with {', '.join(READERS)}")

    def _write(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool()):
                raise ValueError("write 1 and 0 for true and false")
            case ast.Constant(value=int() | float() as value):
                return repr(float(value))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                return f"({OPERATORS[type(sign)]}{self._write(inner)})"
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                return f"({self._write(left)} {OPERATORS[type(operator)]} {self._write(right)})"
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in OPERATORS:
                compared = f"{self._write(left)} {OPERATORS[type(operator)]} {self._write(right)}"
                return f"np.asarray({compared}, dtype=float)"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args)
            case ast.Name(id=name):
                raise ValueError(f"read the column {name!r} with one of {', '.join(READERS)}, such as z({name})")
            case _:
                raise ValueError(f"{ast.unparse(node)!r} is not allowed in a formula")

    def _call(self, name: str, args: Sequence[ast.expr]) -> str:
        if name in READERS:
            return self._read(name, args)
        if name not in FUNCTIONS:
            raise ValueError(f"unknown function {name!r}; choose from {', '.join((*READERS, *FUNCTIONS))}")
        function, count = FUNCTIONS[name]
        if len(args) != count:
            raise ValueError(f"{name} takes {count} arguments, not {len(args)}")
        return f"{function}({', '.join(self._write(arg) for arg in args)})"

    def _read(self, reader: str, args: Sequence[ast.expr]) -> str:
        if not args or not isinstance(args[0], ast.Name):
            raise ValueError(f"the first argument of {reader} is the name of a column")
        column = self._columns.get(args[0].id)
        if column is None:
            raise ValueError(f"there is no column {args[0].id!r}")
        if not isinstance(column, READERS[reader]):
            raise ValueError(f"{reader} can't read {column.name!r}, which is {column.kind}")
        self._found = True
        levels = tuple(arg.value for arg in args[1:] if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
        if len(levels) != len(args) - 1 or bool(levels) != (reader == "is_in"):
            raise ValueError(f"is_in alone takes more than a column: levels in quotes ({reader} of {column.name})")
        return _column_source(reader, column, levels)


def _column_source(reader: str, column: Column, levels: Sequence[str]) -> str:
    match column:
        case NumericColumn():
            return column.scaled().source()
        case DateColumn():
            part = "month" if reader == "month" else "day_of_week"
            return f'pd.to_datetime(df["{column.name}"]).dt.{part}.to_numpy(float)'
        case CategoricalColumn() | OrdinalColumn() if levels:
            if unknown := [level for level in levels if level not in column.levels]:
                raise ValueError(f"{column.name!r} has no level {unknown[0]!r}; it has {', '.join(column.levels)}")
            return f'df["{column.name}"].isin({list(levels)!r}).to_numpy(float)'
        case OrdinalColumn():
            last = max(len(column.levels) - 1, 1)
            ranks = {level: round(2 * index / last - 1, 4) for index, level in enumerate(column.levels)}
            return f'df["{column.name}"].map({ranks!r}).to_numpy(float)'
        case _:
            raise ValueError(f"{reader} can't read {column.name!r}")
