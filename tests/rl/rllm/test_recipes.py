"""Recipes, what they compose to, and every fault that a check tells."""

import json
import re
from pathlib import Path

import pytest

from sandmle.errors import BadInput
from sandmle.rl.rllm.checks import check
from sandmle.rl.rllm.compose import compose, hydra_value
from sandmle.rl.rllm.dry_run import DryRun
from sandmle.rl.rllm.known import known_keys
from sandmle.rl.rllm.models import ARCHITECTURES
from sandmle.rl.rllm.recipe import Recipe, bundled_recipes
from sandmle.rl.splits import TaskTraits, paper_split

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
NAMES = ("qwen3-14b", "qwen3-30b-a3b", "qwen3-8b")


def recipe(name="qwen3-8b", **parts) -> Recipe:
    """A bundled recipe with some values of its parts replaced."""
    plain = Recipe.load(name).model_dump()
    for part, values in parts.items():
        plain[part] = plain[part] | values if isinstance(values, dict) else values
    return Recipe.model_validate(plain)


def faults(**parts) -> list[str]:
    return [line for stage in compose(recipe(**parts)) for line in check(stage)]


def override(**keys) -> dict:
    return {"overrides": {"grpo": keys}}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["seed-sft", "sandmle", "sft+rl"])
def test_every_bundled_recipe_passes_its_checks_and_fits_its_gpus(name, which):
    run = DryRun.of(recipe(name, recipe=which))
    assert run.faults == []
    assert all(phase.total < 139 for stage in run.stages for phase in stage.memory.phases)
    assert bundled_recipes() == NAMES


@pytest.mark.parametrize("nodes", [2, 4, 8])
@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_recipe_goes_on_several_nodes(name, nodes):
    asked = Recipe.load(name, {"hardware": {"nodes": nodes, "ray_address": "auto"}})
    run = DryRun.of(asked)
    assert run.faults == []
    assert run.stages[0].composed.overrides["trainer.nnodes"] == nodes
    assert {"+ray_init.address=auto", f"trainer.nnodes={nodes}"} <= set(run.stages[0].composed.arguments())


def test_the_documented_recipe_for_several_nodes_has_no_faults(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "rllm.md").read_text(encoding="utf-8")
    (example,) = [block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "nodes =" in block]
    (tmp_path / "four-nodes.toml").write_text(example)
    found = Recipe.load(str(tmp_path / "four-nodes.toml"))
    assert (found.hardware.nodes, DryRun.of(found).faults) == (4, [])


def test_several_nodes_share_the_training_state():
    one, four = (recipe("qwen3-30b-a3b", hardware={"nodes": nodes, "ray_address": "auto"}) for nodes in (1, 4))
    weights = [DryRun.of(each).stages[0].memory.phases[0].parts["weights"] for each in (one, four)]
    assert weights[0] == pytest.approx(4 * weights[1])


def test_a_dry_run_tells_how_long_an_update_may_wait():
    text = DryRun.of(recipe(play={"episode_seconds": 600.0})).text()
    assert "90 s a step, 600 s an episode" in text
    assert "an update waits at most 10 minutes for their code and 10 in all; 64 cores and 0 GPUs beside the 8" in text
    assert "at most 30 minutes for their code and 60 in all" in DryRun.of(recipe()).text()


def test_the_papers_settings_reach_verls_own_keys():
    (stage,) = compose(recipe())
    paper = {
        "algorithm.adv_estimator": "grpo",
        "data.train_batch_size": 16,
        "data.max_prompt_length": 40_960,
        "data.max_response_length": 32_768,
        "actor_rollout_ref.rollout.n": 4,
        "actor_rollout_ref.rollout.temperature": 1.0,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "actor_rollout_ref.actor.use_kl_loss": False,
        "actor_rollout_ref.actor.clip_ratio_low": 0.2,
        "actor_rollout_ref.actor.clip_ratio_high": 0.28,
        "actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-mean",
        "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu": 20_480,
        "rllm.compact_filtering.mask_timeout": True,
        "rllm.compact_filtering.mask_max_turns_exceeded": False,
        "trainer.total_training_steps": None,
        "trainer.default_local_dir": "training/grpo",
    }
    assert {key: stage.effective[key] for key in paper} == paper
    assert (stage.recipe.play.turns, stage.recipe.play.step_seconds, stage.recipe.split) == (20, 90.0, (848, 64))


def test_the_length_of_a_reply_is_left_to_us():
    (stage,) = compose(recipe())
    assert "~rllm.rollout.train.max_tokens" in stage.arguments()
    assert "rllm.rollout.train.max_tokens" not in stage.effective
    assert stage.effective["actor_rollout_ref.rollout.response_length"] == 32_768
    (kept,) = compose(recipe(**override(**{"rllm.rollout.train.max_tokens": 9})))
    assert "rllm.rollout.train.max_tokens=9" in kept.arguments()


def test_an_estimator_of_ours_is_refused_in_one_line():
    with pytest.raises(BadInput, match=r"^qwen3-8b: grpo: estimator: on verl rLLM computes the advantages.*$"):
        Recipe.load("qwen3-8b", {"grpo": {"estimator": {"name": "step-wise"}}})
    (stage,) = compose(recipe())
    assert stage.effective["rllm.algorithm.use_precomputed_advantage"] is False


def test_a_named_split_is_counted_where_the_tasks_are(tmp_path):
    named = recipe(tasks=tmp_path, split="paper")
    with pytest.raises(BadInput, match="no such split"):
        DryRun.of(named)
    ids = [f"task-{number:02d}" for number in range(20)]
    found = paper_split([TaskTraits(id=each, content_hash="h", family="", domain="", primitives=()) for each in ids], 0)
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "paper.json").write_text(found.to_text())
    assert named.sizes == (19, 1)
    assert "19 tasks to train on, 1 to validate on" in DryRun.of(named).text()


def test_rl_after_sft_starts_from_the_tuned_weights():
    sft, grpo = compose(recipe(recipe="sft+rl"))
    assert sft.overrides["model.path"] == "Qwen/Qwen3-8B"
    assert grpo.overrides["actor_rollout_ref.model.path"] == "training/sft/policy"


def test_every_override_of_a_recipe_is_a_known_key_of_the_right_type():
    for stage in compose(recipe(recipe="sft+rl", hardware={"ray_address": "auto"})):
        for key, value in stage.overrides.items():
            assert stage.known.has(key), key
            assert key not in stage.known.keys or stage.known.keys[key].takes(value), key
            assert key not in stage.known.shared, key


def test_the_counts_of_parameters_are_those_of_the_released_weights():
    published = {"qwen3-8b": 8_190_735_360, "qwen3-14b": 14_768_307_200, "qwen3-30b-a3b": 30_532_122_624}
    assert {name: model.parameters for name, model in ARCHITECTURES.items()} == published


def test_memory_follows_its_formulas():
    update, generation = DryRun.of(recipe()).stages[0].memory.phases
    gib = 2**30
    assert update.parts["weights"] == pytest.approx(8_190_735_360 * 4 / 8 / gib)
    assert update.parts["moments"] == pytest.approx(8_190_735_360 * 8 / 8 / gib)
    assert update.parts["logits"] == pytest.approx(6 * 151_936 * 20_480 / gib)
    assert generation.parts["vLLM weights"] == pytest.approx(8_190_735_360 * 2 / gib)
    share = sum(size for name, size in generation.parts.items() if name in ("vLLM weights", "vLLM working", "KV cache"))
    assert share == pytest.approx(0.6 * 139)
    episodes = DryRun.of(recipe()).stages[0].memory.episodes
    assert episodes == pytest.approx(generation.parts["KV cache"] * gib / (147_456 * 40_960))


WRONG = {
    "rllm.algorithm.eps_clip_hi: no such key; did you mean rllm.algorithm.eps_clip_high?": override(
        **{"rllm.algorithm.eps_clip_hi": 0.28}
    ),
    "did you mean actor_rollout_ref.actor.optim.lr?": override(**{"actor_rollout_ref.actor.lr": 1e-6}),
    "max_num_seqs = 'many': it takes int": override(**{f"{ROLLOUT}.max_num_seqs": "many"}),
    "use_dynamic_bsz = 1: it takes bool": override(**{f"{ACTOR}.use_dynamic_bsz": 1}),
    "ppo_epochs = 1.5: it takes int": override(**{f"{ACTOR}.ppo_epochs": 1.5}),
    "data.train_batch_size: rLLM overwrites it; set rllm.data.train_batch_size": override(
        **{"data.train_batch_size": 16}
    ),
    "trainer.nnodes = 0: it must be at least 1": override(**{"trainer.nnodes": 0}),
    "fsdp_size = 0: it must be at least 1, or -1 for all GPUs": override(**{f"{ACTOR}.fsdp_config.fsdp_size": 0}),
    "pipeline_model_parallel_size = 0: it must be at least 1": override(
        **{f"{ROLLOUT}.pipeline_model_parallel_size": 0}
    ),
    "ppo_micro_batch_size_per_gpu = 0: it must be at least 1, or null": override(
        **{f"{ACTOR}.use_dynamic_bsz": False, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 0}
    ),
    "model_dtype = int8: choose from fp32,": override(**{f"{ACTOR}.fsdp_config.model_dtype": "int8"}),
    "gpu_memory_utilization = 1.5: a share between 0 and 1": override(**{f"{ROLLOUT}.gpu_memory_utilization": 1.5}),
    "gpu_memory_utilization = '${oc.env:X}': what it comes to can't be told here; write the value itself": override(
        **{f"{ROLLOUT}.gpu_memory_utilization": "${oc.env:X}"}
    ),
    "max_num_seqs = '${trainer.project_name}': it takes int": override(
        **{f"{ROLLOUT}.max_num_seqs": "${trainer.project_name}"}
    ),
    "total_batches = 'many': it takes int": override(**{"rllm.trainer.total_batches": "many"}),
    "rllm.async_training.enable = true: choose from false": override(**{"rllm.async_training.enable": True}),
    "min_trajs_per_group = 1: it must be at least 2": override(**{"rllm.rejection_sample.min_trajs_per_group": 1}),
    "rllm.algorithm.loss_agg_mode = mean: choose from token-mean": override(**{"rllm.algorithm.loss_agg_mode": "mean"}),
    "it means nothing with bypass_mode": override(**{"rllm.algorithm.rollout_correction.bypass_mode": True}),
    "mode = per_step: choose from broadcast": override(**{"rllm.stepwise_advantage.mode": "per_step"}),
    "rollout.name = sglang: choose from vllm": override(**{f"{ROLLOUT}.name": "sglang"}),
    "play.temperature = 0": {"play": {"temperature": 0}},
    "ppo_mini_batch_size = 5: it must divide the batch of 16 tasks": {"grpo": {"mini_batch": 5}},
    "its 2 episodes are fewer than the 4 groups of GPUs": {"grpo": {"batch": 1, "group": 2}},
    "rllm.rollout.n = 1: a group of one has no baseline": {"grpo": {"group": 1, "batch": 64}},
    "of 8 training tasks no batch comes together": {"split": (8, 2)},
    "ppo_micro_batch_size_per_gpu: set it, or": override(**{f"{ACTOR}.use_dynamic_bsz": False}),
    "ppo_micro_batch_size_per_gpu = 5: 20 rows at once must divide 64": override(
        **{f"{ACTOR}.use_dynamic_bsz": False, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 5}
    ),
    "ulysses_sequence_parallel_size = 16: it must divide the 8 GPUs": {"hardware": {"sequence_parallel": 16}},
    "2 GPUs share a sequence of 40960 tokens, so it must be at least 20480": {"hardware": {"tokens_per_gpu": 8_192}},
    "fsdp_size = 5: it must divide the 8 GPUs": {"hardware": {"shard": 5}},
    "an engine has 16 GPUs, which must divide the 8": {"hardware": {"tensor_parallel": 16}},
    "qwen3-8b has no experts": {"hardware": {"expert_parallel": True, "tensor_parallel": 2}},
    "trainer.nnodes = 2: give hardware.ray_address": {"hardware": {"nodes": 2}},
    "only actor_rollout_ref.actor.strategy=fsdp2 has it": override(**{f"{ACTOR}.fsdp_config.offload_policy": True}),
    "qwen3-8b has 40960 positions": {
        "play": {"response_tokens": 65_536},
        "hardware": {"tokens_per_gpu": 65_536},
    },
    "a reply can't be longer than all 32768 response tokens": {"play": {"reply_tokens": 40_000}},
    "prompt and response together are 40960 tokens": override(**{f"{ROLLOUT}.max_model_len": 8_192}),
    "rllm.data.max_prompt_length = 8192: verl cuts the front off a longer prompt, and one may have 40960": override(
        **{"rllm.data.max_prompt_length": 8_192}
    ),
    "without chunked prefill it must be at least 40960": override(**{f"{ROLLOUT}.enable_chunked_prefill": False}),
    "sandboxes.gpus = 8: 64 sandboxes at once, each with 1, take 64": {
        "sandboxes": {"gpus_each": 1, "gpus": 8, "backend": "ray"}
    },
    "sandboxes.cpus = 8: 64 sandboxes at once, each with 1, take 64": {"sandboxes": {"cpus": 8}},
    'sandboxes.gpus_each = 0.5: only sandboxes.backend = "ray" gives': {"sandboxes": {"gpus_each": 0.5, "gpus": 32}},
    "hardware.gpu_gib = 40: update needs about 54 GiB a GPU": {"hardware": {"gpu_gib": 40.0}},
    "the KV cache holds 0.00 of one longest episode, and vLLM will not start": {"hardware": {"vllm_share": 0.1}},
    "sft: data.train_batch_size = 33: it must divide by the 4 groups of GPUs": {
        "recipe": "seed-sft",
        "sft": {"batch": 33},
    },
}


@pytest.mark.parametrize(("line", "parts"), WRONG.items())
def test_a_wrong_value_gives_one_clear_line(line, parts):
    told = faults(**parts)
    assert len([each for each in told if line in each]) == 1, told
    assert all("\n" not in each for each in told)


def test_a_value_by_reference_is_checked_as_what_it_comes_to():
    assert faults(**override(**{f"{ACTOR}.ulysses_sequence_parallel_size": "${trainer.n_gpus_per_node}"})) == []
    (told, *_) = faults(**override(**{f"{ACTOR}.ulysses_sequence_parallel_size": "${rllm.rollout.n_val}0"}))
    assert "ulysses_sequence_parallel_size = '${rllm.rollout.n_val}0': it takes int" in told


def test_all_wrong_lines_come_at_once_and_unknown_keys_first():
    told = faults(
        grpo={"mini_batch": 5}, hardware={"shard": 5}, **override(**{"trainer.n_gpu": 8, "trainer.nnodes": "two"})
    )
    assert len(told) == 4
    assert {line.split(": ")[1] for line in told[:2]} == {"trainer.nnodes = 'two'", "trainer.n_gpu"}


def test_a_recipe_tells_all_its_wrong_fields(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text('trainer = "rllm"\nmodel = "gpt"\n[play]\nturns = 0\nscaffolds = ["none"]\n[grpo]\nlearning = 1\n')
    with pytest.raises(BadInput) as caught:
        Recipe.load(str(path))
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [
        "model", "play.scaffolds", "play.turns", "grpo.learning",
    ]  # fmt: skip


def test_a_wrong_split_and_an_unknown_stage_are_one_line_each(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text('trainer = "rllm"\nmodel = "qwen3-8b"\nsplit = "Paper"\n[overrides.foo]\nkey = 1\n')
    with pytest.raises(BadInput) as caught:
        Recipe.load(str(path))
    assert [line.partition(": ")[2] for line in str(caught.value).splitlines()] == [
        "split: should match pattern '^[a-z][a-z0-9-]*$', not 'Paper'",
        "overrides.foo: should be 'sft' or 'grpo', not 'foo'",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (1e-6, "1e-06"), ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"), ("null", "'null'"),
        ("127.0.0.1", "'127.0.0.1'"), ("it's", "'it\\'s'"), (["a", 1, None], "[a,1,null]"),
        ({"a": {"b": 1}}, "{a:{b:1}}"),
    ],
)  # fmt: skip
def test_values_are_written_as_hydra_reads_them(value, text):
    assert hydra_value(value) == text


def test_defaults_come_through_interpolations_and_shared_keys():
    config = known_keys("grpo").effective({"rllm.data.max_prompt_length": 7, "trainer.n_gpus_per_node": 3})
    assert config["data.max_prompt_length"] == config["actor_rollout_ref.rollout.prompt_length"] == 7
    assert config["actor_rollout_ref.rollout.n_gpus_per_node"] == 3
    assert config["trainer.default_local_dir"] == "checkpoints/rllm-training/default"
    assert config["actor_rollout_ref.ref.strategy"] == "fsdp"


def test_a_dry_run_is_json():
    plain = json.loads(json.dumps(DryRun.of(recipe()).to_plain()))
    (stage,) = plain["stages"]
    assert plain["versions"]["verl"] == "0.8.0"
    assert set(stage["memory"]["phases"]) == {"update", "generation"}
    assert len(stage["effective"]) > 1_000
