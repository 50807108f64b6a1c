"""The npm package, installed into an empty project: used from Node and from a web page."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import ClickException

from noutput import Number, __version__
from tests.collector.conftest import make_campaign
from tests.collector.process import Running, running
from tests.end_to_end.browser import chromium
from tests.end_to_end.elsewhere import elsewhere
from tools import packages

pytestmark = pytest.mark.slow

ANSWER = """
const outcome = [];
for (const noutput of [readable, named, small]) {
  const campaign = await noutput.fetchCampaign(url);
  const client = new noutput.Client(campaign, {
    policy: { epsilon: 2, total: 2 },
    storage: new Map(),
  });
  const { accepted, repeated } = await client.submit(url, 42);
  const again = await client.submit(url, 42);
  outcome.push([accepted, repeated, again.accepted, again.repeated]);
}
outcome.push(typeof enroll.admit, typeof enroll.enroll);
"""
IMPORTS = """
import * as readable from "noutput";
import * as named from "noutput/noutput.js";
import * as small from "noutput/noutput.min.js";
import * as enroll from "noutput/enroll.js";
"""
EXPECTED = [[1, 0, 0, 1]] * 3 + ["function", "function"]
PAGE = """
<!doctype html>
<title>A page without a bundler</title>
<link rel="icon" href="data:,">
<script type="importmap">
{"imports": {"noutput": "/node_modules/noutput/noutput.js", "noutput/": "/node_modules/noutput/"}}
</script>
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty project that the tarball was installed into."""
    if shutil.which("npm") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("npm is not installed")
    folder = tmp_path_factory.mktemp("project")
    packages.run("npm", "pack", str(packages.ROOT / packages.JAVASCRIPT), folder=folder)
    tarball = folder / f"noutput-{__version__}.tgz"
    assert packages.differences(packages.names(tarball), packages.expected_tarball()) == []
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    install = ("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{tarball.name}")
    packages.run(*install, folder=folder)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    campaign = make_campaign(public=True, questions=(Number(0, 180, name="commute"),))
    folder = tmp_path_factory.mktemp("collector")
    (folder / "commute.json").write_text(campaign.to_json())
    with running(str(folder / "reports.db"), folder / "commute.json") as started:
        yield started


def test_a_commonjs_file_imports_the_package(project: Path) -> None:
    """`require` cannot: the module awaits while it is loaded."""
    script = project / "script.cjs"
    script.write_text('require("noutput");')
    with pytest.raises(ClickException, match=r"ERR_REQUIRE_(ESM|ASYNC_MODULE)"):
        packages.run("node", script.name, folder=project)
    script.write_text(
        'async function main() { console.log(typeof (await import("noutput")).Client); }\nmain();\n'
    )
    assert packages.run("node", script.name, folder=project) == "function\n"


def test_node_uses_every_module_of_the_package(project: Path, server: Running) -> None:
    url = json.dumps(f"{server.url}/campaigns/commute")
    code = f"{IMPORTS}\nconst url = {url};\n{ANSWER}\nconsole.log(JSON.stringify(outcome));\n"
    (project / "answer.js").write_text(code)
    assert json.loads(packages.run("node", "answer.js", folder=project)) == EXPECTED


def test_a_web_page_uses_every_module_of_the_package(project: Path, server: Running) -> None:
    late = IMPORTS.replace("import * as ", "const ").replace(" from ", " = await import(")
    script = f"async (url) => {{ {late.replace(';', ');')} {ANSWER} return outcome; }}"
    with elsewhere(project) as address, chromium() as browser:
        (project / "shop.html").write_text(PAGE)
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(f"{address}shop.html")
        assert page.evaluate(script, f"{server.url}/campaigns/commute") == EXPECTED
    assert complaints == []


def test_the_types_name_what_the_modules_export(project: Path) -> None:
    home = project / "node_modules" / "noutput"
    for name in ("noutput", "enroll"):
        list_names = f'console.log(Object.keys(await import("./{name}.js")).join("\\n"))'
        code = ("node", "--input-type=module", "-e", list_names)
        exported = set(packages.run(*code, folder=home).split())
        types = (home / f"{name}.d.ts").read_text(encoding="utf-8")
        missing = [each for each in exported if f" {each}" not in types]
        assert missing == [], name
