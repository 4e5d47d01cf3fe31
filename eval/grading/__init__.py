"""The grader: a submission file in, a typed record out.

    answers.csv ──▶ AnswerKey ─┐
    submission  ──▶ decode ────┴─▶ metric on Private rows ──▶ GradeReport

Vocabulary:
    key          the hidden labels of a task, encoded and in the order of ``answers.csv``
    prediction   what a submission says, encoded and aligned to the key
    fault        the first thing wrong with a submission, as one code of ``GradeError``
    board        the scores of a competition's leaderboard, best first

A submission is never trusted: it is opened without following links, bounded in size, parsed strictly, and whatever is
wrong with it becomes a report, so that a batch never dies of one bad file. Faults are looked for in this order, and the
first one is reported:

    1. the file       missing, not_regular, too_large
    2. its bytes      empty, undecodable
    3. its header     unparsable, column_case, missing_column, header_only
    4. its rows       unparsable, then duplicate_ids, missing_rows, extra_rows; a file with more rows than the test set
                      is read up to the first surplus row, so it has duplicate or extra ids, never missing ones
    5. its values     column by column, row by row: not_numeric, non_finite, out_of_domain; a column of numbers is
                      read whole before any of them is out_of_domain
    6. the score      metric_undefined, non_finite
"""

from sandmle.eval.grading._answers import AnswerKey, load_answers, read_answers
from sandmle.eval.grading._cells import MAX_TEXT
from sandmle.eval.grading._fault import InvalidSubmission
from sandmle.eval.grading._grade import grade_bytes, grade_predictions, grade_submission, invalid_report
from sandmle.eval.grading._masks import decode_mask, encode_mask
from sandmle.eval.grading._submission import MAX_BYTES, decode_submission, read_submission, size_limit

__all__ = [
    "MAX_BYTES",
    "MAX_TEXT",
    "AnswerKey",
    "InvalidSubmission",
    "decode_mask",
    "decode_submission",
    "encode_mask",
    "grade_bytes",
    "grade_predictions",
    "grade_submission",
    "invalid_report",
    "load_answers",
    "read_answers",
    "read_submission",
    "size_limit",
]
