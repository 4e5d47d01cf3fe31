"""Commit and reveal: the hash is of everything, by an independent computation, and binds."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput, NegativeVerdict
from sandmle.eval.commitment import (
    MAX_SEED,
    Commitment,
    Secret,
    SuiteSettings,
    commit,
    other_versions,
    read_seed,
    reveal,
    synthesize_arguments,
    write_commitment,
)

SETTINGS = SuiteSettings(n=64, mix="paper", seeds=("iris", "wine"), n_train=200)


def test_the_hash_is_sha256_of_all_that_was_committed_to():
    commitment, secret = commit(SETTINGS)
    everything = commitment.model_dump(exclude={"hash", "schema_version"}) | secret.model_dump(
        exclude={"schema_version"}
    )
    text = json.dumps(everything, sort_keys=True, separators=(",", ":"))
    assert commitment.hash == hashlib.sha256(text.encode()).hexdigest()
    assert reveal(commitment, secret) == secret.seed
    assert str(secret.seed) not in commitment.to_text()
    assert secret.nonce not in commitment.to_text()
    assert other_versions(commitment) == []


@pytest.mark.parametrize(
    "change",
    [
        {"generator": "0.0.9"},
        {"settings": SETTINGS.model_copy(update={"n": 65})},
        {"settings": SETTINGS.model_copy(update={"seeds": ("wine", "iris")})},
        {"versions": {"numpy": "1.0"}},
        {"hash": "0" * 64},
    ],
)
def test_a_changed_commitment_does_not_open(change):
    commitment, secret = commit(SETTINGS, seed=7)
    with pytest.raises(NegativeVerdict, match="does not open"):
        reveal(commitment.model_copy(update=change), secret)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, MAX_SEED - 1))
def test_no_other_secret_opens_it(seed):
    commitment, secret = commit(SETTINGS, seed=seed)
    assert reveal(commitment, secret) == seed
    for change in (
        {"seed": (seed + 1) % MAX_SEED},
        {"nonce": secret.nonce[:-1] + ("1" if secret.nonce[-1] == "0" else "0")},
    ):
        with pytest.raises(NegativeVerdict):
            reveal(commitment, secret.model_copy(update=change))


def test_drawn_secrets_differ_and_fit():
    secrets = [commit(SETTINGS)[1] for _ in range(8)]
    assert len({secret.seed for secret in secrets}) == len({secret.nonce for secret in secrets}) == 8
    assert all(0 <= secret.seed < 2**63 for secret in secrets)


def test_other_versions_are_named():
    commitment, _ = commit(SETTINGS)
    other = commitment.model_copy(update={"generator": "9.9", "versions": {**commitment.versions, "numpy": "1.0"}})
    assert [line.split()[0] for line in other_versions(other)] == ["sandmle", "numpy"]


def test_the_secret_is_its_owners_alone_and_nothing_is_written_over(tmp_path: Path):
    commitment, secret = commit(SETTINGS)
    out, kept = tmp_path / "new" / "commitment.json", tmp_path / "new" / "secret.json"
    write_commitment(commitment, out, secret, kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert (Commitment.read(out), Secret.read(kept)) == (commitment, secret)
    for pair in ((out, tmp_path / "other.json"), (tmp_path / "other.json", kept)):
        with pytest.raises(BadInput, match="never written over"):
            write_commitment(*commit(SETTINGS)[:1], pair[0], secret, pair[1])
    assert Secret.read(kept) == secret
    assert not (tmp_path / "other.json").exists()


def test_a_secret_is_not_written_over_by_its_own_commitment(tmp_path: Path):
    commitment, secret = commit(SETTINGS)
    (tmp_path / "again").mkdir()
    for one, other in ((tmp_path / "one", tmp_path / "one"), (tmp_path / "one", tmp_path / "again" / ".." / "one")):
        with pytest.raises(BadInput, match="two files"):
            write_commitment(commitment, one, secret, other)
    assert not (tmp_path / "one").exists()


def test_the_command_spells_every_setting():
    sized = SETTINGS.model_copy(update={"n_test": 600})
    spelled = " ".join(synthesize_arguments(sized, 5, Path("tasks")))
    assert spelled == "synthesize --out tasks --seeds iris,wine --mix paper --n 64 --seed 5 --n-train 200 --n-test 600"
    assert "--n-test" not in synthesize_arguments(SETTINGS, 5, Path("tasks"))


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", str(2**63), "1 2", "é"])
def test_a_seed_file_holds_one_number_that_fits(tmp_path: Path, text: str):
    (tmp_path / "seed").write_text(text)
    with pytest.raises(BadInput, match="seed"):
        read_seed(tmp_path / "seed")


def test_a_seed_file_is_read(tmp_path: Path):
    (tmp_path / "seed").write_text(f"{2**63 - 1}\n")
    assert read_seed(tmp_path / "seed") == 2**63 - 1
    with pytest.raises(BadInput, match="No such file"):
        read_seed(tmp_path / "missing")
