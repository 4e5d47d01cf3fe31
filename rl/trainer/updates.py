"""What an update is made of, for a loop that is not ours; needs PyTorch."""

from sandmle.rl.trainer._imitate import scaled_rate
from sandmle.rl.trainer._learner import Learner, Metrics
from sandmle.rl.trainer._metrics import MetricsLog
from sandmle.rl.trainer._reinforce import checkpoint
from sandmle.rl.trainer._tokens import write_rows

__all__ = ["Learner", "Metrics", "MetricsLog", "checkpoint", "scaled_rate", "write_rows"]
