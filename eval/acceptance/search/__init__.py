"""The frozen search: what a patient competitor finds in the public files alone.

It is fixed before the rules that it is tested on are drawn; ``tests/eval/acceptance/search/test_frozen.py`` holds its
hash and says what was written blind. The modules of this package are joined into one script that stands alone (numpy,
pandas, scipy, scikit-learn, Pillow); how to run it is told in ``main.py``.

Vocabulary:
    front-end    turns items (images, sounds, texts, series, nodes) into a table of numeric features
    idea         one or several columns computed from the table, or one step of rewriting or segmenting
    budget       how many ideas may be cross-validated: k
"""

from sandmle.eval.acceptance.search._bundle import search_script

__all__ = ["search_script"]
