from __future__ import annotations

from click.testing import CliRunner

from noutput.cli.audit import command


def test_a_private_sampler_passes() -> None:
    done = CliRunner().invoke(
        command, ["pm", "--epsilon", "1", "--samples", "20000", "--seed", "1"]
    )
    assert done.exit_code == 0
    assert done.output.startswith("Passed: pm, claim 1\n")
    assert "of 20,000 reports" in done.output


def test_a_sampler_beyond_its_claim_fails() -> None:
    arguments = ["pm", "--epsilon", "1.5", "--claim", "1", "--samples", "20000", "--seed", "1"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1
    assert done.output.startswith("NOT PRIVATE: pm, claim 1\n")
    assert "report in [" in done.output


def test_a_negative_seed_is_refused() -> None:
    done = CliRunner().invoke(command, ["duchi", "--epsilon", "1", "--seed", "-1"])
    assert done.exit_code == 2
    assert "Invalid value for '--seed'" in done.output
