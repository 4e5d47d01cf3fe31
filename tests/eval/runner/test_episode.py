"""One episode: real scripted policy, real sandbox, real grader; only the failures are planted."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from sandmle.agents.chat import Policy, make_policy
from sandmle.agents.chat.tokens import ChatMarkup, Sample, TokenChat
from sandmle.errors import BadInput, InfraError
from sandmle.eval.grading import grade_submission
from sandmle.eval.runner import EpisodePlan, run_episode
from sandmle.eval.runs import summarize_episode
from sandmle.grades import GradeError
from sandmle.graphs.scaffold import Budget, Outcome, get_scaffold
from sandmle.rl.rewards import get_preset, score_episode
from sandmle.task import load_tasks
from sandmle.trajectory import Episode, EpisodeStatus, StepResult, Turn, Usage


class Planted:
    """A scaffold that does what ``act`` says, and counts how often it is begun."""

    name = "planted"

    def __init__(self, act):
        self.act = act
        self.begun = 0
        self.sessions = []

    async def rollout(self, model, session, budget, *, recorder):
        self.begun += 1
        self.sessions.append(session)
        return await self.act(self, model, session, budget, recorder)


@pytest.fixture
def task(suite):
    return load_tasks(suite)[0]


@pytest.fixture
def play(task, backend):
    async def play(scaffold, preset="paper"):
        plan = EpisodePlan("0" * 16, task, scaffold, 0, "clean", get_preset(preset), Budget.for_task(task))
        return await run_episode(plan, make_policy("scripted:dummy", task=task), backend)

    return play


async def test_a_scripted_episode_is_graded_and_rewarded_as_its_submission_deserves(play, task, tmp_path):
    result = await play(get_scaffold("react"))
    episode = result.episode
    (tmp_path / "submission.csv").write_bytes(result.submission)
    assert episode.status is EpisodeStatus.ANSWERED
    assert episode.grade == grade_submission(task, tmp_path / "submission.csv")
    assert episode.grade.valid
    assert episode.reward == score_episode(
        [turn.format_ok for turn in episode.turns], episode.grade, get_preset("paper")
    )
    assert episode.reward.total == pytest.approx(0.4)
    assert not episode.leaked


async def test_an_answer_without_a_submission_counts_with_the_grade_missing(play):
    async def answer(planted, *_):
        return Outcome(EpisodeStatus.ANSWERED)

    result = await play(Planted(answer))
    assert result.submission is None
    assert not result.episode.masked
    assert result.episode.grade.error is GradeError.MISSING
    assert result.episode.reward.total == 0.0


async def test_an_infrastructure_failure_is_tried_again(play):
    async def fail_twice(planted, model, session, budget, recorder):
        if planted.begun < 3:
            raise InfraError("the sandbox went away")
        return await get_scaffold("react").rollout(model, session, budget, recorder=recorder)

    scaffold = Planted(fail_twice)
    result = await play(scaffold)
    assert scaffold.begun == 3
    assert result.episode.status is EpisodeStatus.ANSWERED
    assert result.episode.grade.valid


class Letters:
    """A codec of letters, in which 300 spells an x too."""

    def encode(self, text):
        return [ord(each) for each in text]

    def decode(self, ids):
        return "".join("x" if each == 300 else chr(each) for each in ids if each < 400)

    def special(self, name):
        return {"<|im_start|>": 400, "<|im_end|>": 401}.get(name)


class OtherSpelling:
    """An engine that always says x, in the second try by another id."""

    def __init__(self):
        self.prompts, self.keys = [], []

    async def sample(self, prompt, settings, stop, *, key):
        self.prompts.append(prompt)
        self.keys.append(key)
        return Sample((ord("x") if len(self.prompts) <= 2 else 300, stop), (-0.5, -0.5), weight_version=0)


async def test_a_try_repeats_no_reply_of_the_one_before_and_draws_the_same(task, backend):
    async def fail_once(planted, model, *_):
        reply = await model.ainvoke([HumanMessage("go")])
        await model.ainvoke([HumanMessage("go"), AIMessage(reply.text), HumanMessage("on")])
        if planted.begun == 1:
            raise InfraError("the sandbox went away")
        return Outcome(EpisodeStatus.ANSWERED)

    engine = OtherSpelling()
    chat = TokenChat(engine=engine, renderer=ChatMarkup(Letters()), key="e")
    plan = EpisodePlan("0" * 16, task, Planted(fail_once), 0, "clean", get_preset("paper"), Budget.for_task(task))
    assert (await run_episode(plan, Policy("train:policy", chat), backend)).episode.status is EpisodeStatus.ANSWERED
    assert engine.keys == ["e/1", "e/2"] * 2
    _, _, opening, second = engine.prompts
    assert second[: len(opening) + 2] == (*opening, 300, 401)


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
async def test_tokens_of_discarded_tries_are_not_lost(play, failures):
    usage = Usage(prompt_tokens=7, completion_tokens=3)

    async def fail(planted, model, session, budget, recorder):
        recorder.append(Turn(index=0, messages=(), reply="", action=None, format_ok=True, usage=usage))
        if planted.begun <= failures:
            raise InfraError("the sandbox went away")
        return Outcome(EpisodeStatus.ANSWERED, turns=tuple(recorder))

    scaffold = Planted(fail)
    result = await play(scaffold)
    assert len(result.episode.turns) == 1
    timing = summarize_episode(result.episode, result.discarded).timing
    assert (timing.prompt_tokens, timing.completion_tokens) == (7 * scaffold.begun, 3 * scaffold.begun)


@pytest.mark.parametrize("raised", [True, False])
async def test_an_infrastructure_failure_that_stands_is_masked_and_never_scored(play, raised):
    async def fail(planted, *_):
        if raised:
            raise InfraError("endpoint down")
        return Outcome(EpisodeStatus.INFRA_ERROR, "endpoint down")

    scaffold = Planted(fail)
    episode = (await play(scaffold)).episode
    assert scaffold.begun == 3
    assert episode.masked
    assert (episode.reason, episode.grade, episode.reward) == ("endpoint down", None, None)


async def test_a_bug_of_ours_is_masked_with_a_readable_reason_and_keeps_the_turns(play):
    turn = Turn(index=0, messages=(), reply="hello", action=None, format_ok=False)

    async def crash(planted, model, session, budget, recorder):
        recorder.append(turn)
        raise ZeroDivisionError("division by zero")

    scaffold = Planted(crash)
    episode = (await play(scaffold)).episode
    assert scaffold.begun == 1
    assert episode.status is EpisodeStatus.INTERNAL_ERROR
    assert episode.reason == "ZeroDivisionError: division by zero"
    assert episode.turns == (turn,)


async def test_what_the_user_must_mend_is_raised(play):
    async def refuse(planted, *_):
        raise BadInput("no such model")

    with pytest.raises(BadInput, match="no such model"):
        await play(Planted(refuse))


async def test_a_model_timeout_is_masked_and_not_tried_again(play):
    async def stall(planted, *_):
        return Outcome(EpisodeStatus.MODEL_TIMEOUT, "no answer")

    scaffold = Planted(stall)
    assert (await play(scaffold)).episode.masked
    assert scaffold.begun == 1


def _slow(status, reason=""):
    """A scaffold whose steps timed out though its submission was good, and which ended so."""

    async def act(planted, model, session, budget, recorder):
        played = await get_scaffold("react").rollout(model, session, budget, recorder=recorder)
        turns = [
            turn if turn.step is None else turn.model_copy(update={"step": StepResult(status="timeout", tier="A")})
            for turn in played.turns
        ]
        return Outcome(status, reason, tuple(turns))

    return Planted(act)


async def test_released_masks_an_episode_whose_steps_timed_out_and_no_other_preset_does(play):
    masked = await play(_slow(EpisodeStatus.MAX_TURNS, "no answer in 2 turns"), "released")
    episode = masked.episode
    assert (episode.mask_reason, episode.grade, episode.reward) == (EpisodeStatus.STEP_TIMEOUTS, None, None)
    assert episode.reason == "2 of 3 tool calls timed out, more than 20%; ended as max_turns (no answer in 2 turns)"
    assert (masked.submission, episode.history) == (None, ())
    assert Episode.model_validate_json(episode.to_text()) == episode
    assert summarize_episode(episode).masked
    counted = (await play(_slow(EpisodeStatus.ANSWERED), "paper")).episode
    assert (counted.status, counted.reward.preset, counted.grade.valid) == (EpisodeStatus.ANSWERED, "paper", True)


async def test_what_is_masked_already_keeps_its_status(play):
    episode = (await play(_slow(EpisodeStatus.MODEL_TIMEOUT, "no reply"), "released")).episode
    assert (episode.status, episode.reason) == (EpisodeStatus.MODEL_TIMEOUT, "no reply")


async def test_cancelling_kills_the_running_code_and_closes_the_sandbox(play):
    running = asyncio.Event()

    async def hang(planted, model, session, budget, recorder):
        await session.python("print('warm')")
        running.set()
        await session.python("while True: pass")

    scaffold = Planted(hang)
    job = asyncio.create_task(play(scaffold))
    await running.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(job, 10)
    with pytest.raises(InfraError):
        await scaffold.sessions[0].python("print(1)")


async def test_the_same_episode_draws_the_same_numbers_and_another_others(task, backend):
    draws = "random.random(), np.random.random(), np.random.default_rng().random()"
    draw = f"import random\nimport numpy as np\nprint({draws})"

    async def draw_twice(planted, model, session, budget, recorder):
        drawn.append([(await session.python(draw)).step.output for _ in range(2)])
        return Outcome(EpisodeStatus.ANSWERED)

    drawn = []
    for mark in "001":
        plan = EpisodePlan(mark * 16, task, Planted(draw_twice), 0, "clean", get_preset("paper"), Budget.for_task(task))
        await run_episode(plan, make_policy("scripted:dummy", task=task), backend)
    first, again, other = drawn
    assert first == again
    assert len({*first, *other}) == 4
