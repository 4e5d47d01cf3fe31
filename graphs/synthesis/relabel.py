"""Do the data follow the hidden rule? The rule labels the hidden test rows again, from the factors that it read.

A generator that a language model wrote is not believed to draw labels by the rule of the plan. It writes
``private/factors.csv``: every factor of every test row. From them the terms are computed in a sandbox, by the source
that the plan's rule gives, and the law of the labels (see ``rules``) says what to expect of every label. Then

    slope      labels rise with what the rule expects of them, one to one
    size       what it leaves unexplained has the size that the law gives it
    terms      and is uncorrelated with every term: a label that ignores one, or weighs it otherwise, betrays itself
    bayes      the expectation that the generator wrote is the rule's

Constants that the generator draws from a population of its own are estimated from the rows, so a z of a few is fair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from scipy.stats import norm

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import HiddenRule, Signal
from sandmle.agents.roles import TaskPlan
from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.eval.acceptance import Verdict
from sandmle.sandboxes import SandboxBackend, SandboxSpec
from sandmle.submission import SPACE_SEPARATED

__all__ = ["FACTORS", "expected_labels", "judge_labels", "relabel"]

Array = NDArray[np.float64]
FACTORS = "factors.csv"
MAX_Z = 6.0
"""Largest |z| of residuals against a term: 3.8 in 120 clean draws, 13 and more where a term was missing or flipped."""
SIZE = (0.8, 1.25)
"""Residual spread over the law's."""
SLOPE = 0.15
"""How far the slope of the labels on what the rule expects may be from 1, beside three standard errors."""
MAX_APART = 0.1
"""Largest mean distance of the generator's expectation from the rule's, in standard deviations of the rule's."""
MAX_FILE = 64 << 20
N_RELEVANCES = 4
GRID = 400
SCRIPT = """
import numpy as np
import pandas as pd

df = pd.read_csv("data/factors.csv", keep_default_na=False)
values = np.column_stack([np.broadcast_to(np.asarray(term, dtype=float), len(df)) for term in (
{terms}
)])
pd.DataFrame(values).to_csv("terms.csv", index=False)
"""


async def relabel(backend: SandboxBackend, plan: TaskPlan, runs: Path) -> tuple[str, float]:
    """What is wrong with the labels of a trial, in one sentence for the developer, and the CPU seconds spent."""
    rule = Blueprint.of(plan).rule
    private = runs / "private"
    if not isinstance(rule, HiddenRule):
        return "labels of this law can't be checked against the rule", 0.0
    if not (private / FACTORS).is_file():
        return f"generate.py wrote no private/{FACTORS} with every factor of the test rows", 0.0
    script = SCRIPT.format(terms="\n".join(f"    {term.source()}," for term in rule.terms()))
    async with await backend.create(SandboxSpec(inputs={"data": private})) as sandbox:
        await sandbox.write("relabel.py", script.encode())
        results = await run_scripts(sandbox, [ScriptJob(name="relabel", script="relabel.py")], preload=("pandas",))
        ran = results["relabel"]
        if not ran.ok:
            last = ran.log.strip().splitlines()[-1:] or ["no output"]
            return f"the rule can't be computed from private/{FACTORS}: {last[0]}", ran.cpu_s
        data = await sandbox.read("terms.csv", max_bytes=MAX_FILE)
    await asyncio.to_thread((runs / "terms.csv").write_bytes, data)
    try:
        verdict = await asyncio.to_thread(_judge, plan, rule, runs)
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"private/{FACTORS}, answers.csv or bayes.csv can't be read: {' '.join(str(error).split())}", ran.cpu_s
    return verdict.reason, ran.cpu_s


def _judge(plan: TaskPlan, rule: HiddenRule, runs: Path) -> Verdict:
    private, form = runs / "private", plan.submission
    as_text = {form.id_column: str, plan.target: str}
    answers = pd.read_csv(private / "answers.csv", dtype=as_text, keep_default_na=False)
    factors = pd.read_csv(private / FACTORS, dtype=str, keep_default_na=False)
    terms = pd.read_csv(runs / "terms.csv").to_numpy(float)
    if list(factors[form.id_column]) != list(answers[form.id_column]):
        return _refused(f"the ids of {FACTORS} are not those of answers.csv, row by row")
    if not np.isfinite(terms).all():
        worst = rule.terms()[int(np.argmax(~np.isfinite(terms).all(axis=0)))]
        return _refused(f"the term {worst.readable()} is not finite on {FACTORS}")
    if problem := _not_shown(plan, runs, factors):
        return _refused(problem)
    expectation = private / ("expectation.csv" if (private / "expectation.csv").exists() else "bayes.csv")
    told = pd.read_csv(expectation, dtype={form.id_column: str}).drop(columns=form.id_column, errors="ignore")
    labels = list(Blueprint.of(plan).problem.labels)
    if labels and set(labels) <= set(told.columns):
        told = told[labels]
    noise = max((mutation.label_noise() for mutation in Blueprint.of(plan).mutations), default=0.0)
    return judge_labels(rule, _as_numbers(plan, answers[plan.target]), terms, told, noise)


def _not_shown(plan: TaskPlan, runs: Path, factors: pd.DataFrame) -> str:
    """A factor that is a public column must hold there what the rule read, unless a mutation changed it."""
    blueprint = Blueprint.of(plan)
    touched = {name for mutation in blueprint.mutations for name in mutation.columns()}
    test = pd.read_csv(runs / "redraw-0" / "test.csv", keep_default_na=False, dtype=str)
    missing = [column.name for column in blueprint.table.columns if column.name not in factors]
    if missing:
        return f"{FACTORS} has no column {missing[0]}"
    for column in blueprint.table.columns:
        name = column.name
        if plan.modality == "tabular" and name not in test and name not in touched:
            return f"the factor {name} is no column of test.csv"
        if name in test and name not in touched:
            filled = test[name] != ""
            if not filled.any() or not _same(test[name][filled], factors[name][filled]):
                return f"the column {name} of test.csv is not what the rule read from {FACTORS}"
    return ""


def _same(shown: pd.Series, read: pd.Series) -> bool:
    """Whether cells are equal, numbers to the digits that a CSV of ours holds."""
    if (shown == read).all():
        return True
    one, other = (pd.to_numeric(cells, errors="coerce").to_numpy(float) for cells in (shown, read))
    return bool(np.allclose(one, other, rtol=1e-5, atol=0.0))


def _as_numbers(plan: TaskPlan, cells: pd.Series) -> Array:
    """Labels as 0/1 columns, one a class or label; numbers as one column. Shape (n, K)."""
    labels = Blueprint.of(plan).problem.labels
    if plan.submission.kind == "relevance":
        return np.asarray(np.eye(N_RELEVANCES)[cells.astype(float).to_numpy(int)])
    if not labels:
        return np.asarray(cells.astype(float), dtype=np.float64)[:, None]
    spaced = plan.problem_type == "multilabel" or plan.submission.kind in SPACE_SEPARATED - {"ranked_labels"}
    found = [set(cell.split()) if spaced else {cell} for cell in cells]
    return np.array([[float(label in cell) for label in labels] for cell in found])


def expected_labels(
    rule: HiddenRule, terms: Array, n_columns: int, label_noise: float = 0.0
) -> tuple[Array, Array, Array]:
    """What the rule expects of every label.

    Args:
        rule: the hidden rule.
        terms: shape (n, number of ``rule.terms()``), in their order.
        n_columns: classes or labels; 1 for a number.
        label_noise: share of labels that were replaced by a random one.

    Returns:
        Expectation and variance of the labels, shape (n, K) with K classes, labels or one number (of a lognormal
        target its logarithm), and the signals, shape (n, number of signals), each with zero mean and unit spread.
    """
    place = {term.source(): index for index, term in enumerate(rule.terms())}
    signals = np.column_stack([_signal(signal, terms, place) for signal in rule.signals])
    match rule.link:
        case "binary":
            positive = _of_share(signals[:, 0] / rule.noise, rule.shares[0])
            expected = np.column_stack([1 - positive, positive])
        case "multilabel":
            columns = zip(signals.T, rule.shares, strict=True)
            expected = np.column_stack([_of_share(signal / rule.noise, share) for signal, share in columns])
        case "multiclass":
            expected = _classes(signals, rule.noise, n_columns)
        case "ordinal" | "relevance":
            expected = _levels(signals[:, 0], rule.noise, rule.shares)
        case "lognormal":
            expected = np.log(rule.center) + rule.spread * signals
            return expected, np.full_like(expected, (rule.spread * rule.noise) ** 2), signals
        case _:
            expected = rule.center + rule.spread * signals
            return expected, np.full_like(expected, (rule.spread * rule.noise) ** 2), signals
    n_choices = 2 if rule.link == "multilabel" else n_columns
    expected = (1 - label_noise) * expected + label_noise / n_choices
    return expected, expected * (1 - expected), signals


def _classes(signals: Array, noise: float, count: int) -> Array:
    angles = 2 * np.pi * np.arange(count) / count
    utility = (np.outer(signals[:, 0], np.cos(angles)) + np.outer(signals[:, 1], np.sin(angles))) / noise
    weight = np.exp(utility - utility.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _signal(signal: Signal, terms: Array, place: dict[str, int]) -> Array:
    """One latent signal, standardised on the rows."""
    total = np.zeros(len(terms))
    for part, share in ((signal.easy, signal.easy_share), (signal.hidden, 1 - signal.easy_share)):
        weighted = [each.weight * _standard(terms[:, place[each.term.source()]]) for each in part]
        total += np.sqrt(share) * _standard(np.sum(weighted, axis=0))
    return _standard(total)


def _standard(values: Array) -> Array:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0), dtype=np.float64)


def _of_share(logit: Array, share: float) -> Array:
    """``sigmoid(logit + c)`` with the c that makes its mean the share."""
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(logit + middle).mean() < share else (low, middle)
    return np.asarray(expit(logit + low))


def _levels(signal: Array, noise: float, shares: tuple[float, ...]) -> Array:
    """P(level) for ``signal + noise * N(0, 1)`` cut where the levels get their shares; shape (n, levels)."""
    steps = norm.ppf((np.arange(GRID) + 0.5) / GRID)
    latent = np.sort((signal[:, None] + noise * steps).ravel())
    cuts = np.quantile(latent, np.cumsum(shares)[:-1])
    below = ndtr((cuts - signal[:, None]) / noise)
    edges = np.column_stack([np.zeros(len(signal)), below, np.ones(len(signal))])
    return np.asarray(np.diff(edges, axis=1), dtype=np.float64)


def judge_labels(
    rule: HiddenRule, labels: Array, terms: Array, told: pd.DataFrame, label_noise: float = 0.0
) -> Verdict:
    """Compare labels, and the generator's own expectation, with the rule.

    Args:
        rule: the hidden rule.
        labels: shape (n, K): 0/1 a class or label, or one number.
        terms: see ``expected_labels``.
        told: bayes.csv or expectation.csv without ids.
        label_noise: see ``expected_labels``.

    Returns:
        A verdict of the probe ``rule``.
    """
    expected, variance, signals = expected_labels(rule, terms, labels.shape[1], label_noise)
    values = np.log(np.maximum(labels, 1e-300)) if rule.link == "lognormal" else labels
    residual = values - expected
    size = float(np.sqrt((residual**2).sum() / variance.sum()))
    slope, error = _slope(values, expected, variance)
    worst, where = max(_associations(rule, residual, variance, terms, signals), default=(0.0, ""))
    apart = _apart(rule, expected, told)
    numbers = {"worst_z": worst, "slope": slope, "size": size, "expectation_apart": apart}
    faults = []
    if abs(slope - 1) > SLOPE + 3 * error:
        faults.append(f"labels do not follow the rule: they rise {slope:.2f} times as fast as it expects")
    if worst > MAX_Z:
        faults.append(f"labels do not follow the rule: what it leaves unexplained goes with {where} (z = {worst:.1f})")
    if not SIZE[0] <= size <= SIZE[1]:
        faults.append(f"labels do not follow the rule: their scatter around it is {size:.2f} times that of its noise")
    if not faults and apart > MAX_APART:
        faults.append(f"bayes.csv or expectation.csv is not what the rule expects ({apart:.2f} spreads apart)")
    return Verdict(probe="rule", passed=not faults, reason="; ".join(faults), numbers=numbers)


def _slope(values: Array, expected: Array, variance: Array) -> tuple[float, float]:
    """Slope of the labels on their expectation over all columns, and its standard error."""
    centered = expected - expected.mean(axis=0)
    total = float((centered**2).sum())
    slope = float((centered * (values - values.mean(axis=0))).sum()) / total
    return slope, float(np.sqrt((variance * centered**2).sum())) / total


def _associations(
    rule: HiddenRule, residual: Array, variance: Array, terms: Array, signals: Array
) -> Iterator[tuple[float, str]]:
    """|z| of the residuals against each term, once the scale of the signal is taken out."""
    for label in range(residual.shape[1]):
        weight = np.sqrt(np.maximum(variance[:, label], 1e-12))
        scaled = residual[:, label] / weight
        design = np.column_stack([np.ones(len(terms)), signals]) * np.minimum(weight, 1.0)[:, None]
        left = scaled - design @ np.linalg.lstsq(design, scaled, rcond=None)[0]
        for index, term in enumerate(rule.terms()):
            column = _standard(terms[:, index]) * np.minimum(weight, 1.0)
            column = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
            norm_ = float(np.sqrt((column**2).sum()))
            if norm_ > 1e-9:
                yield abs(float(column @ left)) / norm_, term.readable()


def _apart(rule: HiddenRule, expected: Array, told: pd.DataFrame) -> float:
    """Mean distance of the generator's expectation from ours in spreads of ours; 0 where it tells bare labels."""
    numbers = told.apply(pd.to_numeric, errors="coerce").to_numpy(float)
    if numbers.size == 0 or np.isnan(numbers).any() or rule.link == "relevance":
        return 0.0
    if numbers.shape[1] == 1 and expected.shape[1] == 2:
        expected = expected[:, 1:]
    if numbers.shape != expected.shape:
        return float("inf")
    if rule.link == "lognormal":
        numbers = np.log(np.maximum(numbers, 1e-300))
    if rule.link in ("gaussian", "lognormal"):
        numbers = numbers - (numbers - expected).mean()  # a metric may ask for another quantile than the median
    return float(np.abs(numbers - expected).mean() / expected.std())


def _refused(reason: str) -> Verdict:
    return Verdict(probe="rule", passed=False, reason=reason)
