"""The chat model of a scripted policy: decides each turn purely from the conversation so far."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from sandmle.agents.chat.scripted._dialects import Move, Seen, dialect_of, worked
from sandmle.agents.chat.scripted._plan import Plan, make_plan, profile_script, script
from sandmle.agents.chat.scripted._replies import RepliesChat

__all__ = ["ScriptedChat"]


class ScriptedChat(RepliesChat):
    """Speaks the protocol of every scaffold; the same conversation always gets the same reply.

    Attributes:
        thought: what the policy says it does.
        ladder: script templates, each tried after the one before has failed.
        handed: code to run before the ladder, empty for a policy that knows only the conversation.
        seed: random state of the scripts.
    """

    thought: str
    ladder: tuple[str, ...]
    handed: str = ""
    seed: int = 0

    @property
    def _llm_type(self) -> str:
        return "sandmle-scripted"

    def _reply(self, messages: list[BaseMessage]) -> str:
        dialect = dialect_of(messages)
        said = dialect.judgement(messages, handed=bool(self.handed))
        return said or dialect.say(self._next_move(dialect.tells_at_once, dialect.read(messages)))

    def _next_move(self, told: bool, seen: Seen) -> Move:
        """Look first; then script after script until one has worked; then done.

        Args:
            told: whether an observation says at once if a submission is valid, so that it need not be asked for.
            seen: what the conversation holds.
        """
        if seen.done:
            return Move("done", "A submission is in place.")
        if seen.profile is None:
            if seen.asked >= 2:
                return Move("done", "The public folder can't be read, so there is nothing that I can do.")
            return Move("look", "I look at the files first.", profile_script())
        plan, tries = make_plan(seen.profile, seen.description), seen.tries
        if seen.scored:
            return self._try(tries, plan) if "[submission: invalid" in seen.observation else _DONE
        if tries and worked(seen.observation, handed=bool(self.handed) and tries == 1):
            return _DONE if told else Move("score", "The script wrote a submission; I check it.")
        return self._try(tries, plan)

    def _try(self, tries: int, plan: Plan) -> Move:
        """The script after ``tries`` others, or the end if there is none left."""
        scripts = [*([self.handed] if self.handed else []), *self.ladder]
        if tries >= len(scripts):
            return Move("done", "None of my scripts works here.")
        seen = f"The target {plan.target!r} asks for a {plan.kind.replace('_', ' ')}, scored by {plan.metric or '?'}."
        thought = self.thought if not tries else "That did not work, so I try something simpler."
        code = scripts[tries] if self.handed and not tries else script(scripts[tries], plan, self.seed)
        return Move("run", f"{seen} {thought}", code)


_DONE = Move("done", "The submission is in place.")
