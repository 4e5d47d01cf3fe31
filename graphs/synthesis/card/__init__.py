"""The dataset card: what a folder of tasks holds and how it came to be, for people and for programs.

    DIR/dataset.json   all that the tasks and their making determine: equal batches give equal bytes
    DIR/README.md      the same for people, with the plots of DIR/card, and what was measured where it was made

Vocabulary:
    candidate      one draw of the Strategist; a kept one became a task
    yield          kept candidates over drawn ones
    group          the candidates that share a value of one dimension, such as modality ``image``
    third          a third of all drawn candidates by the rule's own estimate of difficulty
"""

from sandmle.graphs.synthesis.card._page import write_card
from sandmle.graphs.synthesis.card._record import DatasetCard
from sandmle.graphs.synthesis.card._summary import summarize_dataset

__all__ = ["DatasetCard", "summarize_dataset", "write_card"]
