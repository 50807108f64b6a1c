"""The compose file: well formed, hardened, and in agreement with the files that it uses."""

from __future__ import annotations

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
    checked = any(each.name == "HEALTHCHECK" for each in containerfile())
    for name in awaited:
        assert "healthcheck" in SERVICES[name] or (checked and "build" in SERVICES[name])


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
        uid, gid = user.text.split(":")
        assert f"/var/lib/noutput:uid={uid},gid={gid},mode=0700" in service["tmpfs"]


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
