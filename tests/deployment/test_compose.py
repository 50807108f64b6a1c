"""The compose file: well formed, hardened, and in agreement with the files that it uses."""

from __future__ import annotations

import json
import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml

from tests.deployment.files import DEPLOY, ROOT, containerfile

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
# The keys of the Compose Specification that the file may use.
TOP = {"name", "services", "networks", "volumes"}
KEYS = {
    "image", "build", "restart", "user", "read_only", "cap_drop", "cap_add", "security_opt",
    "tmpfs", "environment", "depends_on", "ports", "volumes", "networks", "healthcheck", "shm_size",
}  # fmt: skip
LISTS = {"cap_drop", "cap_add", "security_opt", "tmpfs", "ports", "volumes"}


def test_it_is_well_formed() -> None:
    assert {key for key in COMPOSE if not key.startswith("x-")} == TOP
    for name, service in SERVICES.items():
        assert set(service) <= KEYS, name
        for key in LISTS & set(service):
            assert all(isinstance(each, str) for each in service[key]), (name, key)
        for other, how in service.get("depends_on", {}).items():
            assert other in SERVICES
            assert how == {"condition": "service_healthy"}
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for variable, value in service.get("environment", {}).items():
            assert re.fullmatch(r"[A-Z_]+", variable)
            assert isinstance(value, str)


def test_what_others_wait_for_says_when_it_is_healthy() -> None:
    awaited = {each for service in SERVICES.values() for each in service.get("depends_on", {})}
    assert awaited == {"collector-1", "collector-2", "database"}
    for name in awaited:
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD", name


def test_the_health_check_is_that_of_the_image() -> None:
    """An image in OCI format has none, and Podman builds these."""
    text = next(each for each in containerfile() if each.name == "HEALTHCHECK").text
    options, _, command = text.partition("CMD ")
    wanted = dict(re.findall(r"--([a-z-]+)=(\S+)", options))
    for name in ("collector-1", "collector-2"):
        found = dict(SERVICES[name]["healthcheck"])
        assert found.pop("test") == ["CMD", *json.loads(command)]
        assert {key.replace("_", "-"): str(value) for key, value in found.items()} == wanted


def test_a_database_that_is_being_prepared_is_not_healthy() -> None:
    """Its first start answers over a socket, and TCP is closed until all is there."""
    assert "--host=127.0.0.1" in SERVICES["database"]["healthcheck"]["test"]


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_may_write_to_its_image_or_get_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    if name.startswith("collector"):
        assert service["cap_drop"] == ["ALL"]
        assert "cap_add" not in service
        user = next(each for each in containerfile() if each.name == "USER")
        assert service["user"] == user.text != "0:0"
    for mount in service["tmpfs"]:
        assert ":" not in mount, mount  # engines differ in the options that they take


def test_a_collector_may_write_to_the_volume_of_its_image() -> None:
    """A new volume gets the owner and the mode of the folder below it, under every engine."""
    last = [each for each in containerfile() if each.stage == 1]
    (volume,) = [each.text for each in last if each.name == "VOLUME"]
    user, group = next(each for each in last if each.name == "USER").text.split(":")
    made = f"install --directory --owner={user} --group={group} --mode=0700 {volume}"
    before = last[: [each.name for each in last].index("VOLUME")]
    assert made in [each.text for each in before if each.name == "RUN"]
    for name in ("collector-1", "collector-2"):
        hidden = [each.split(":")[0] for each in SERVICES[name]["tmpfs"]]
        assert not any(volume.startswith(each) for each in hidden)


def test_the_proxy_reads_the_certificate_where_it_is() -> None:
    site = (DEPLOY / "nginx" / "noutput.conf").read_text(encoding="utf-8")
    named = re.findall(r"ssl_certificate(?:_key)? +(\S+)/collect\.example\.\w+;", site)
    assert f"./tls:{named[0]}:ro" in SERVICES["proxy"]["volumes"]
    assert named == ["/etc/ssl/noutput"] * 2  # a folder of its own: a mount hides what is below it
    assert "DAC_OVERRIDE" in SERVICES["proxy"]["cap_add"]  # root reads a key of another user


def test_its_steps_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    steps = page.partition("# not run: needs a container engine\n")[2].partition("```")[0]
    comment = (DEPLOY / "compose.yaml").read_text(encoding="utf-8").partition("name:")[0]
    assert re.findall(r"^#     (.+)$", comment, re.MULTILINE) == steps.splitlines()
    assert any(" token create " in each for each in steps.splitlines())


def test_files_and_volumes_exist() -> None:
    for service in SERVICES.values():
        for mount in service.get("volumes", []):
            source, target = mount.split(":")[:2]
            assert target.startswith("/")
            if source == "./tls":
                continue  # the certificate and its key are the reader's
            if source.startswith("."):
                assert (DEPLOY / source).is_file(), source
                assert mount.endswith(":ro")
            else:
                assert source in COMPOSE["volumes"]
        if "build" in service:
            assert (DEPLOY / service["build"]["context"]).resolve() == ROOT
            assert (ROOT / service["build"]["dockerfile"]).is_file()


def test_only_the_proxy_is_reached_from_outside() -> None:
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["proxy"]
    outside = [name for name in SERVICES if "outside" in SERVICES[name]["networks"]]
    assert outside == ["proxy"]


def test_addresses_agree() -> None:
    (subnet,) = (
        ip_network(each["subnet"]) for each in COMPOSE["networks"]["inside"]["ipam"]["config"]
    )
    places = {name: each["networks"]["inside"]["ipv4_address"] for name, each in SERVICES.items()}
    assert len(set(places.values())) == len(places)
    assert all(ip_address(each) in subnet for each in places.values())
    upstream = (DEPLOY / "nginx" / "upstream-compose.conf").read_text(encoding="utf-8")
    port = next(each for each in containerfile() if each.name == "EXPOSE").text
    collectors = [name for name in SERVICES if name.startswith("collector")]
    wanted = [f"{places[name]}:{port}" for name in collectors]
    assert re.findall(r"server ([\d.:]+);", upstream) == wanted
    for name in collectors:
        environment = SERVICES[name]["environment"]
        assert environment["NOUTPUT_TRUSTED_PROXIES"] == places["proxy"]
        assert f"@{places['database']}/" in environment["NOUTPUT_DATABASE"]


def test_passwords_are_in_no_file() -> None:
    example = (DEPLOY / "env.example").read_text(encoding="utf-8")
    named = re.findall(r"^(\w+)=(.*)$", example, re.MULTILINE)
    assert named == [("POSTGRES_PASSWORD", "")]
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{(\w+)", text)) == {"POSTGRES_PASSWORD"}
    assert text.count("${POSTGRES_PASSWORD:?") == text.count("${")  # refused where it is empty
