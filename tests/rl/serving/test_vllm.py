"""How vLLM is started; the real one is met by ``benchmarks/vllm_endpoint.py``."""

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.serving import VllmSettings, require_vllm, served_name, vllm_command


def flags(**settings):
    return vllm_command("model", VllmSettings(**settings), name="policy", host="127.0.0.1", port=8000)


def after(command, flag):
    return command[command.index(flag) + 1]


def test_by_default_it_answers_from_the_models_own_distribution_and_keeps_prefixes():
    command = flags()
    assert command[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert (after(command, "--model"), after(command, "--served-model-name")) == ("model", "policy")
    assert after(command, "--generation-config") == "vllm"
    assert "--enable-prefix-caching" in command
    assert not {"--chat-template", "--reasoning-parser", "--max-model-len"} & set(command)


def test_what_is_asked_for_is_passed_on(tmp_path):
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages }}")
    command = flags(
        dtype="float32",
        context=4096,
        chat_template=template,
        reasoning_parser="qwen3",
        prefix_cache=False,
        more=["--tensor-parallel-size", "8"],
    )
    assert after(command, "--max-model-len") == "4096"
    assert after(command, "--chat-template") == str(template)
    assert after(command, "--reasoning-parser") == "qwen3"
    assert "--no-enable-prefix-caching" in command
    assert command[-2:] == ["--tensor-parallel-size", "8"]


def test_a_chat_template_that_is_not_there_is_told_before_anything_starts(tmp_path):
    with pytest.raises(BadInput, match="no such chat template"):
        flags(chat_template=tmp_path / "nowhere")


@pytest.mark.parametrize("more", [["--served-model-name", "x"], ["--served_model=x"], ["--por", "9"], ["--model", "x"]])
def test_what_would_say_again_where_and_what_is_served_is_refused(more):
    with pytest.raises(BadInput, match=f"^{more[0]}: say that with"):
        flags(more=more)
    assert flags(more=["--model-impl", "auto"])[-2:] == ["--model-impl", "auto"]


def test_a_policy_that_reads_digests_is_refused_for_vllm_shows_whole_messages(tmp_path):
    kept = tmp_path / "reading.json"
    kept.write_text('"whole"')
    assert vllm_command(str(tmp_path), VllmSettings(), name="p", host="127.0.0.1", port=1)
    kept.write_text('"digest"')
    with pytest.raises(BadInput, match="reads a digest of messages"):
        vllm_command(str(tmp_path), VllmSettings(), name="p", host="127.0.0.1", port=1)


def test_a_checkpoint_is_named_by_its_weights(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(name.encode())
    first, second = (served_name(str(tmp_path / name)) for name in ("one", "two"))
    assert first.startswith("one-")
    assert first[-8:] != second[-8:]
    (tmp_path / "one" / "trainer.json").write_text("{}")
    assert served_name(str(tmp_path / "one")) == first
    assert served_name("Qwen/Qwen3-8B") == "Qwen/Qwen3-8B"


def test_without_vllm_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("sandmle.rl.serving._vllm.find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'sandmle\[vllm\]'"):
        require_vllm()
