"""What a submission must look like: the kinds of predictions and how a cell of each is written."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from sandmle.record import Record

__all__ = ["COLUMN_PER_CLASS", "EMPTY", "SPACE_SEPARATED", "WITHOUT_CLASSES", "PredictionKind", "SubmissionFormat"]

PredictionKind = Literal[
    "label",
    "probability",
    "class_probabilities",
    "label_probabilities",
    "label_set",
    "ranked_labels",
    "relevance",
    "number",
    "text",
    "mask",
]
COLUMN_PER_CLASS = frozenset({"class_probabilities", "label_probabilities"})
WITHOUT_CLASSES = frozenset({"relevance", "number", "text", "mask"})
SPACE_SEPARATED = frozenset({"label_set", "ranked_labels"})
EMPTY = "none"
"""How a cell without any label or pixel is written."""


class SubmissionFormat(Record):
    """What a submission must look like.

    There is one prediction column, but for ``class_probabilities`` and ``label_probabilities`` one per class, in the
    order of ``classes``. What a cell holds, by kind:

        label                a class
        probability          the probability of ``classes[1]``
        class_probabilities  the probability of one class; a row is rescaled to sum to 1
        label_probabilities  the probability that one label applies, whatever the others do
        label_set            the labels that apply, separated by spaces; ``none`` or an empty cell for no label
        ranked_labels        up to ``top`` different labels separated by spaces, the likeliest first
        relevance            a number that orders the rows of one ``group_column`` value, larger first
        number               a number
        text                 text
        mask                 pixels as ``start length`` pairs, from 1 row by row; ``none`` or an empty cell for none

    Attributes:
        id_column: the column that names a test row.
        classes: the labels as they stand in the data, in order (ascending for ordered classes); empty for kinds
            without labels. Labels of ``label_set`` and ``ranked_labels`` hold no space.
        group_column: column of test table and answers that says which rows are ranked together; relevance only.
        top: most labels in a cell; ranked_labels only.
        mask_shape: (height, width) of every mask in pixels; mask only.
        sums_to_one: a row whose class probabilities do not sum to 1 is refused, not rescaled; class_probabilities only.
    """

    id_column: str
    prediction_columns: tuple[str, ...] = Field(min_length=1)
    kind: PredictionKind
    classes: tuple[str, ...] = ()
    group_column: str | None = None
    top: Annotated[int, Field(ge=1)] | None = None
    mask_shape: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    sums_to_one: bool = False

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave ``sums_to_one`` out where it is False, so that the hashes of older manifests stay theirs."""
        found: dict[str, Any] = dump(self)
        if not self.sums_to_one:
            found.pop("sums_to_one", None)
        return found

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kind in COLUMN_PER_CLASS:
            if len(self.prediction_columns) != len(self.classes):
                raise ValueError(f"{self.kind} needs one prediction column per class")
        elif len(self.prediction_columns) != 1:
            raise ValueError(f"{self.kind} needs exactly one prediction column")
        if self.kind == "probability" and len(self.classes) != 2:
            raise ValueError("probability needs exactly two classes")
        if self.kind in WITHOUT_CLASSES and self.classes:
            raise ValueError(f"a {self.kind} has no classes")
        if self.kind in SPACE_SEPARATED and any(name.split() != [name] or name == EMPTY for name in self.classes):
            raise ValueError(f"labels of {self.kind} must hold no space and not be {EMPTY!r}")
        if self.sums_to_one and self.kind != "class_probabilities":
            raise ValueError(f"the values of a {self.kind} have no sum")
        for name, kind in (("group_column", "relevance"), ("top", "ranked_labels"), ("mask_shape", "mask")):
            if (getattr(self, name) is not None) != (self.kind == kind):
                raise ValueError(f"{name} is what {kind} needs and no other kind may have")
        return self
