"""The tuned baseline: what is known to work for each modality, chosen by cross-validation on the training rows alone.

The modules of this package are joined with those of the frozen search (which reads the files and writes submissions)
into one script that stands alone; how to run it is told in ``main.py``.

Vocabulary:
    view       a matrix of features of all rows, training rows first
    machine    a model with settings
    member     a machine on a view, with its predictions out of fold and for the test rows
    blend      the mean of members, each as often as greedy selection took it
"""
