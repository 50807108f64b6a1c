"""noutput-client in an empty environment: no dependency, no numpy, no other distribution."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from noutput import Number, __version__
from tests.campaign.server import COUNTED, serving
from tests.collector.conftest import make_campaign
from tools import packages

CODE = """
import json, sys
from importlib.metadata import distributions
from pathlib import Path
from noutput_client import campaign as device
from noutput_client.errors import PrivacyError

names = [getattr(device, name).__module__ for name in device.__all__]
assert all(name.startswith("noutput_client.") for name in names), names
campaign = device.Campaign.from_json(Path("commute.json").read_text())
with device.Ledger("ledger.db") as ledger:
    try:
        device.Client(campaign, ledger, device.Policy(epsilon=0.1))
    except PrivacyError as error:
        refused = str(error)
    report = device.Client(campaign, ledger, device.Policy(epsilon=2.0)).report(42)
receipt = device.send_report(sys.argv[1], report)
print(json.dumps({
    "output": report.output,
    "accepted": receipt.accepted,
    "refused": refused,
    "installed": sorted(found.name for found in distributions()),
    "loaded": sorted({name.partition(".")[0] for name in sys.modules}),
}))
"""


@dataclass(frozen=True)
class Device:
    """An environment with the light client and nothing else, not even pip."""

    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = self.folder / "env" / "bin" / "python"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return subprocess.run(
            [program, *arguments],
            cwd=self.folder, env=clean, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    folder = tmp_path_factory.mktemp("device")
    wheel = packages.build_light(folder / "dist")
    venv.create(folder / "env")
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "env" / "bin" / "python"))
    packages.run(*pip, "install", "--quiet", "--no-index", str(wheel), folder=folder)
    return Device(folder)


def test_a_device_answers_a_campaign(device: Device) -> None:
    campaign = make_campaign(questions=(Number(0, 180, name="commute"),))
    (device.folder / "commute.json").write_text(campaign.to_json())
    with serving(COUNTED) as (url, seen):
        done = device.run("-c", CODE, f"{url}/campaigns/commute")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["accepted"] == 1
    assert told["output"] in range(campaign.tables[0].n_outputs)
    assert "0.1" in told["refused"]
    assert told["installed"] == ["noutput-client"]
    assert not {"numpy", "scipy", "noutput"} & {*told["loaded"]}
    assert json.loads(seen[0].body)["output"] == told["output"]


def test_what_a_device_has_not_is_said_to_be_in_noutput(device: Device) -> None:
    done = device.run("-c", "import noutput_client; noutput_client.design(1.0)")
    assert "AttributeError" in done.stderr
    assert "'design'" in done.stderr
    assert "in noutput" in done.stderr


def test_the_version_is_that_of_noutput(device: Device) -> None:
    done = device.run("-c", "import noutput_client; print(noutput_client.__version__)")
    assert done.stdout.strip() == __version__
