"""What can be known of docker/ without an engine: that it names what exists, and that its parts fit together."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from config.embedded.services import BASE_DIR

DOCKER = BASE_DIR / "docker"
FOREIGN = {  # not ours: PostgreSQL's, Python's, what libraries of the workers read, nginx's own
    *("POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PIP_NO_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK", "PATH"),
    *("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE"),
    *("DJANGO_SETTINGS_MODULE", "NGINX_ENVSUBST_FILTER"),
}


def dockerfile() -> list[str]:
    """Its instructions, continued lines joined."""
    text = re.sub(r"\\\n", " ", (DOCKER / "Dockerfile").read_text())
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def stages() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in dockerfile():
        if named := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            found[named[2]] = [named[1]]
        elif found:
            list(found.values())[-1].append(line)
    return found


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


def example() -> dict[str, str]:
    """The example of the file with secrets."""
    lines = (DOCKER / "momentjudge.env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def settings_read() -> set[str]:
    """Every name that our configuration asks the environment for."""
    places = [*(BASE_DIR / "config").rglob("*.py"), DOCKER / "gunicorn.conf.py"]
    text = "\n".join(path.read_text() for path in places)
    found = re.findall(r'(?:env_\w+|_address)\(\s*"([A-Z0-9_]+)"', text) + re.findall(
        r'environ(?:\.get\(|\[)"(\w+)"', text
    )
    return {*found, "DATABASE_URL", "BROKER_URL", "ALLOWED_HOSTS"}


def test_every_copied_file_exists_and_is_not_ignored() -> None:
    let_in = {line[1:] for line in (BASE_DIR / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        source
        for line in dockerfile()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    assert copied
    assert [source for source in copied if not (BASE_DIR / source).exists()] == []
    assert [source for source in copied if Path(source).parts[0] not in let_in] == []


def test_every_stage_stands_on_an_earlier_one() -> None:
    known: set[str] = set()
    for name, (below, *lines) in stages().items():
        taken = [found[1] for line in lines if (found := re.search(r"--from=(\S+)", line))]
        assert below.startswith("python:") or below in known
        assert set(taken) <= known
        known.add(name)


def test_no_image_runs_as_root() -> None:
    for target in ("web", "worker", "gpu-worker"):
        lineage, name = [], target
        while name in stages():
            lineage += stages()[name]
            name = stages()[name][0]
        assert [line for line in lineage if line.startswith("USER ")] == ["USER momentjudge"]


def test_torch_is_the_one_of_the_makefile() -> None:
    pin = re.search(r"^TORCH := (\S+)$", (BASE_DIR / "Makefile").read_text(), re.MULTILINE)
    assert pin is not None
    assert pin[1] in (DOCKER / "Dockerfile").read_text()
    assert f"{pin[1]}" in (BASE_DIR / "requirements" / "ml.in").read_text()


def test_the_packages_are_installed_by_their_hashes() -> None:
    installed = [line for line in dockerfile() if "pip install" in line]
    assert all("--require-hashes" in line for line in installed if "torch==" not in line)
    assert len([line for line in installed if "--require-hashes" in line]) == 2


def test_every_built_target_exists(compose: dict[str, Any]) -> None:
    targets = {service["build"]["target"] for service in compose["services"].values() if "build" in service}
    assert targets == {"web", "worker", "gpu-worker"}
    assert targets <= set(stages())


def test_every_queue_has_a_worker(compose: dict[str, Any]) -> None:
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    routed |= {queue.name for queue in settings.CELERY_TASK_QUEUES}
    said = [service.get("command", "") for service in compose["services"].values()]
    lists = [found[1] for command in said if (found := re.search(r"--queues (\S+)", str(command)))]
    listened = {queue for named in lists for queue in named.split(",")}
    assert listened == routed


def test_one_beat(compose: dict[str, Any]) -> None:
    beats = [service for service in compose["services"].values() if " beat " in str(service.get("command"))]
    assert len(beats) == 1
    assert "replicas" not in beats[0].get("deploy", {})


def test_every_setting_named_is_read(compose: dict[str, Any]) -> None:
    named = set(example())
    for service in compose["services"].values():
        named |= set(service.get("environment", {}))
    for line in dockerfile():
        if line.startswith("ENV "):
            named |= set(re.findall(r"(\w+)=", line))
    ours = {name for name in named - FOREIGN if not name.startswith("MJ_")}
    assert ours - settings_read() == set()


def test_the_template_asks_nginx_for_what_compose_gives(compose: dict[str, Any]) -> None:
    template = (DOCKER / "nginx" / "momentjudge.conf.template").read_text()
    asked = set(re.findall(r"\$\{(MJ_\w+)\}", template)) - {"MJ_..."}
    given = {name for name in compose["services"]["nginx"]["environment"] if name.startswith("MJ_")}
    assert asked == given


def test_nginx_asks_every_web_host(compose: dict[str, Any]) -> None:
    hosts = {name for name in compose["services"] if name.startswith("web-")}
    listed = re.findall(r"server (web-\d+):8000", compose["services"]["nginx"]["environment"]["MJ_WEB_SERVERS"])
    assert set(listed) == hosts
    assert set(compose["services"]["nginx"]["depends_on"]) - {"storage"} == hosts


def test_browsers_reach_the_storage_of_compose_through_nginx(compose: dict[str, Any]) -> None:
    nginx, storage = compose["services"]["nginx"], compose["services"]["storage"]
    assert nginx["environment"]["MJ_BUCKET"] == "${S3_BUCKET:-}"
    assert nginx["environment"]["MJ_STORAGE_SERVER"] == "${S3_BUCKET:+server storage:8333;}"
    assert nginx["depends_on"]["storage"]["required"] is False
    assert "-s3.port=8333" in storage["command"][0]
    assert "ports" not in storage


def test_every_lasting_service_is_healed_and_bounded(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        if name in ("migrate", "storage-bucket"):
            continue
        assert service["restart"] == "unless-stopped", name
        assert service["deploy"]["resources"]["limits"]["memory"], name
        assert "healthcheck" in service or "build" in service, name


def test_everything_waits_for_what_it_needs(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        for other, how in service.get("depends_on", {}).items():
            assert other in compose["services"], f"{name} waits for {other}"
            healthy = how["condition"] == "service_healthy"
            assert not healthy or "healthcheck" in compose["services"][other] or "build" in compose["services"][other]


def test_volumes_are_declared(compose: dict[str, Any]) -> None:
    used = {
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", [])
        if not volume.startswith(".")
    }
    assert used == set(compose["volumes"])


def test_the_example_holds_no_secret() -> None:
    assert example()["SECRET_KEY"] == example()["POSTGRES_PASSWORD"] == "change-me"
    assert "docker/*.env" in (BASE_DIR / ".dockerignore").read_text().splitlines()
    assert "/docker/*.env" in (BASE_DIR / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("script", ["migrate", "healthy", "roll"])
def test_scripts_are_readable_to_bash_and_can_be_run(script: str) -> None:
    path = DOCKER / script
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).returncode == 0
