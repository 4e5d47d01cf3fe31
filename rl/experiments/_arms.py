"""What each arm is: a training, a way of asking, or a constant script; and what it earns on the held-out sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.checkpoints import TrainerState, load_policy
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.experiments._constants import ConstantScore, best_constant
from sandmle.rl.experiments._costs import Cost
from sandmle.rl.experiments._measure import Asked, Measured, mean, measure
from sandmle.rl.experiments._report import Results
from sandmle.rl.experiments._settings import IMITATION, ArmSettings, ExperimentSettings, merged
from sandmle.rl.experiments._tasks import HELD_OUT
from sandmle.rl.trainer import GrpoSettings, TrainSettings
from sandmle.rl.trainer.training import StepDone, TrainingRecord, atrain
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task

__all__ = ["Arms"]

_SURE = 0.8
"""Share of the other arm's updates that a matched arm makes before its costs are looked at."""

_WAY_OUT = "give the changed arm another name, or choose another folder for --out"


@dataclass
class Arms:
    """Trains and measures arms; what is on disk already is not done again.

    Attributes:
        notes: by arm, what was chosen on training tasks.
    """

    settings: ExperimentSettings
    out: Path
    sets: Mapping[str, Sequence[Task]]
    scores: Sequence[ConstantScore]
    backend: SandboxBackend
    tell: Callable[[str], None]
    notes: dict[str, str] = field(default_factory=dict)

    async def results(self, arm: ArmSettings, seed: int) -> Results:
        """The episodes of one arm and seed, by set and way of asking."""
        if arm.source == "constant":
            return self._constant(arm)
        policy = await self._policy(arm, seed)
        found: dict[str, dict[str, list[Measured]]] = {name: {} for name in HELD_OUT}
        temperature = await self._best_temperature(arm, policy, seed) if arm.temperatures else 1.0
        ways = {"sampled": Asked(temperature, self.settings.samples, arm.brief == "other")}
        if not arm.temperatures:
            ways["greedy"] = Asked(0.0, 1, arm.brief == "other")
        for name in HELD_OUT:
            for way, asked in ways.items():
                found[name][way] = await self._measured(arm, policy, seed, name, asked)
        return found

    def unmatched(self, arm: ArmSettings) -> tuple[int, ...]:
        """The seeds whose training stopped at ``match.at_most`` before it had used as much as the arm to match."""
        match = self.settings.match
        if match is None or not arm.trains:
            return ()
        return tuple(
            seed
            for seed in self.settings.seeds
            if not self._cost(arm.name, seed).reaches(self._cost(match.arm, seed), match.costs)
        )

    def _cost(self, name: str, seed: int) -> Cost:
        return Cost.of([self.out / f"seed-{seed}" / name])

    async def _policy(self, arm: ArmSettings, seed: int) -> Path:
        """The folder of the arm's policy, trained now if it is not there."""
        home = self.out / f"seed-{seed}"
        if arm.of is not None:
            named = next(each for each in self.settings.arms if each.name == arm.of)
            return await self._policy(named, seed)
        imitated = home / IMITATION
        shared = self.settings.train.model_copy(update={"seed": seed, "tasks": self.out / "sets" / "train"})
        if not (imitated / "policy").exists():
            await self._train(f"{IMITATION}, seed {seed}", self._imitation(shared), imitated)
        if arm.source == "imitation":
            return imitated / "policy"
        model = shared.model.model_copy(update={"path": imitated / "policy"})
        rewarded = merged(shared.model_copy(update={"model": model, "sft": None}), arm.change)
        await self._reinforce(arm, seed, rewarded)
        return home / arm.name / "policy"

    async def _reinforce(self, arm: ArmSettings, seed: int, settings: TrainSettings) -> None:
        """Train with rewards, as long as the arm should."""
        name, out = f"{arm.name}, seed {seed}", self.out / f"seed-{seed}" / arm.name
        assert settings.grpo is not None
        _refuse_another(arm, settings, out)
        while (updates := await self._updates(arm, seed, settings.grpo)) > (made := _updates_of(out / "policy")):
            await self._train(name, merged(settings, {"grpo": {"updates": updates}}), out)
        if made > updates:
            raise BadInput(
                f"{out}: has made {made} updates, more than the {updates} of the arm {arm.name!r}; {_WAY_OUT}"
            )

    async def _updates(self, arm: ArmSettings, seed: int, grpo: GrpoSettings) -> int:
        """The updates that the arm should make, as far as can be told from those it has made.

        A matched arm grows by one update at a time, so that it ends the same however often it was stopped.
        """
        match = self.settings.match
        if match is None or match.arm == arm.name:
            return grpo.updates
        other = next(each for each in self.settings.arms if each.name == match.arm)
        await self._policy(other, seed)
        reference, made = self._cost(match.arm, seed), self._cost(arm.name, seed)
        wanted = made.updates + (not made.reaches(reference, match.costs))
        return min(max(wanted, round(_SURE * reference.updates)), round(match.at_most * reference.updates))

    def _imitation(self, shared: TrainSettings) -> TrainSettings:
        assert shared.sft is not None
        sft = shared.sft.model_copy(update={"runs": (self.out / "demonstrations",)})
        return shared.model_copy(update={"sft": sft, "grpo": None})

    async def _train(self, name: str, settings: TrainSettings, out: Path) -> None:
        def show(step: StepDone) -> None:
            shown = {"reward", "nll", "entropy", "rollout_s", "update_s"} & step.metrics.keys()
            told = " ".join(f"{key} {step.metrics[key]:.3g}" for key in sorted(shown))
            if step.phase == "grpo" or step.number % 20 == 0 or step.number == step.total:
                self.tell(f"[{name}: {step.phase} {step.number}/{step.total}] {told}")

        await atrain(settings, out, on_step=show, backend=self.backend)

    async def _measured(self, arm: ArmSettings, policy: Path, seed: int, of_set: str, asked: Asked) -> list[Measured]:
        assert self.settings.train.grpo is not None
        grpo: GrpoSettings = self.settings.train.grpo
        weights = load_policy(policy)
        engine = LocalEngine(weights.model, seed=seed, batching=grpo.batching, max_batch=grpo.max_batch)
        path = policy.parent / f"results-{of_set}-{asked.name}.jsonl"
        found = await measure(
            self.sets[of_set],
            engine,
            weights.renderer,
            self.backend,
            grpo.rollouts,
            asked,
            at_once=grpo.max_batch,
            policy=policy,
            path=path,
        )
        reward = mean(each.reward for each in found)
        told = "all masked" if reward is None else f"mean reward {reward:.3f}"
        self.tell(f"[{arm.name}, seed {seed}: {of_set} at temperature {asked.name}] {told}")
        return found

    async def _best_temperature(self, arm: ArmSettings, policy: Path, seed: int) -> float:
        """The temperature with the highest mean reward on training tasks.

        Raises:
            EnvironmentProblem: every episode at every temperature is masked.
        """
        means = {}
        for temperature in arm.temperatures:
            asked = Asked(temperature, self.settings.samples)
            found = await self._measured(arm, policy, seed, "train", asked)
            if (reward := mean(each.reward for each in found)) is not None:
                means[temperature] = reward
        if not means:
            raise EnvironmentProblem(
                f"{policy.parent}: every episode on training tasks failed for a reason of infrastructure; mend it,"
                " remove results-train-*.jsonl there and run the same command again"
            )
        best = max(means, key=means.__getitem__)
        self._note(arm, f"{best:g}")
        return best

    def _constant(self, arm: ArmSettings) -> Results:
        """What the constant script that does best in training earns; it is the same at every temperature."""
        best = best_constant(self.scores, [task.id for task in self.sets["train"]])
        self.notes[arm.name] = best
        found = {}
        for name in HELD_OUT:
            ids = {task.id for task in self.sets[name]}
            rows = [score.measured() for score in self.scores if score.recipe == best and score.task_id in ids]
            found[name] = {"sampled": rows, "greedy": rows}
        return found

    def _note(self, arm: ArmSettings, text: str) -> None:
        known = self.notes.get(arm.name)
        self.notes[arm.name] = f"{known}, {text}" if known else text


def _refuse_another(arm: ArmSettings, asked: TrainSettings, out: Path) -> None:
    """See that a training that is there is the arm's; its updates may differ, and its folder may have moved."""
    if not (out / "train.json").exists():
        return
    known = TrainingRecord.read(out / "train.json").settings
    model = known.model.model_copy(update={"path": asked.model.path})
    if known.model_copy(update={"tasks": asked.tasks, "model": model}).identity != asked.identity:
        raise BadInput(f"{out}: was trained with other settings than those of the arm {arm.name!r}; {_WAY_OUT}")


def _updates_of(policy: Path) -> int:
    """The updates behind a policy; 0 where there is none."""
    state = policy / "trainer.json"
    return TrainerState.read(state).updates if state.exists() else 0
