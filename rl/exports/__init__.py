"""Episodes, and tasks, in the layouts of others, to train on elsewhere; ``LAYOUTS`` names those of episodes.

    a run of `sandmle eval`, or a training with transcripts ─▶ Selection ─▶ Layout.write ─▶ OUT

Vocabulary:
    selection       which episodes are worth learning from, and which of their replies
    conversation    the messages of an episode from one prompt on; an episode that prompts anew has several
    layout          files as another trainer reads them

Episodes are read and written one by one, and the folder appears when it is whole.
"""

from sandmle.rl.exports._conversations import ConversationRow, conversations
from sandmle.rl.exports._export import LAYOUTS, Exported, export_episodes
from sandmle.rl.exports._selection import Selection, selected_episodes
from sandmle.rl.exports._tasks import TaskLayout, export_tasks

__all__ = [
    "LAYOUTS",
    "ConversationRow",
    "Exported",
    "Selection",
    "TaskLayout",
    "conversations",
    "export_episodes",
    "export_tasks",
    "selected_episodes",
]
