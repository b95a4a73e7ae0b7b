"""Checks of docker/ without an engine: that it names what exists, and that its parts fit together."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.celery_app import QUEUES
from core.backup import database
from core.embedded.services import BASE_DIR

DOCKER = BASE_DIR / "docker"
DEPLOYMENT = (BASE_DIR / "docs" / "deployment.md").read_text()
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
FOREIGN = {  # not ours: PostgreSQL's, Python's, what libraries of the workers read, nginx's and compose's own
    *("POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PIP_NO_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK", "PATH"),
    *("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE"),
    *("DJANGO_SETTINGS_MODULE", "NGINX_ENVSUBST_FILTER", "SITE_HOST"),
    *("COMPOSE_PROFILES", "STORAGE_SERVER", "WORKERS"),
}


def dockerfile() -> list[str]:
    """Its instructions, continued lines joined."""
    text = re.sub(r"\\\n", " ", (DOCKER / "Dockerfile").read_text())
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def stages() -> dict[str, list[str]]:
    by_stage: dict[str, list[str]] = {}
    for line in dockerfile():
        if match := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            by_stage[match[2]] = [match[1]]
        elif by_stage:
            list(by_stage.values())[-1].append(line)
    return by_stage


def example() -> dict[str, str]:
    """The example of the file with secrets."""
    lines = (DOCKER / "momentjudge.env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def settings_read() -> set[str]:
    """Every name that our configuration asks the environment for."""
    paths = [*(BASE_DIR / "config").rglob("*.py"), *(BASE_DIR / "core").rglob("*.py"), DOCKER / "gunicorn.conf.py"]
    text = "\n".join(path.read_text() for path in paths)
    names = re.findall(r'(?:env_\w+|_address)\(\s*"([A-Z0-9_]+)"', text) + re.findall(
        r'environ(?:\.get\(|\[)"(\w+)"', text
    )
    return {*names, "DATABASE_URL", "BROKER_URL", "ALLOWED_HOSTS"}


def test_every_copied_file_exists_and_is_not_ignored() -> None:
    let_in = {line[1:] for line in (BASE_DIR / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copies = [line.split()[1:-1] for line in dockerfile() if line.startswith("COPY ") and "--from" not in line]
    copied = [source for sources in copies for source in sources]
    assert copied
    for source in copied:
        assert (BASE_DIR / source).exists() and Path(source).parts[0] in let_in, source


def test_images_are_built_of_earlier_stages_and_none_runs_as_root() -> None:
    earlier: set[str] = set()
    for name, (below, *lines) in stages().items():
        sources = [match[1] for line in lines if (match := re.search(r"--from=(\S+)", line))]
        assert below.startswith("python:") or below in earlier
        assert set(sources) <= earlier
        earlier.add(name)
    targets = {service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert targets == {"web", "worker", "gpu-worker"} <= earlier
    for target in targets:
        lineage, stage = [], target
        while stage in earlier:
            lineage += stages()[stage]
            stage = stages()[stage][0]
        assert [line for line in lineage if line.startswith("USER ")] == ["USER momentjudge"]


def test_packages_are_installed_by_their_hashes_and_torch_is_the_one_of_the_makefile() -> None:
    installed = [line for line in dockerfile() if "pip install" in line]
    assert ["torch==" not in line for line in installed] == ["--require-hashes" in line for line in installed]
    assert sum("--require-hashes" in line for line in installed) == 2
    (pin,) = re.findall(r"^TORCH := (\S+)$", (BASE_DIR / "Makefile").read_text(), re.MULTILINE)
    for path in (DOCKER / "Dockerfile", BASE_DIR / "requirements" / "ml.in"):
        assert pin in path.read_text()


def test_every_queue_has_a_worker_and_a_unit_of_systemd() -> None:
    commands = {name: str(service.get("command", "")) for name, service in SERVICES.items()}
    queues = {
        name: match[1].split(",") for name, line in commands.items() if (match := re.search(r"--queues (\S+)", line))
    }
    assert {queue for listened in queues.values() for queue in listened} == set(QUEUES)
    assert [name for name, listened in queues.items() if "judging" in listened] == ["judging"]
    assert (queues["judging"], "--concurrency 1 " in commands["judging"]) == (["judging"], True)
    (pool,) = re.findall(r"--queues (\S+)", (DOCKER / "systemd" / "momentjudge-worker@.service").read_text())
    alone = set(re.findall(r"momentjudge-queue@(\w+)", DEPLOYMENT))
    assert alone | set(pool.split(",")) == set(QUEUES)
    assert "judging" in alone
    (beat,) = [service for service in SERVICES.values() if " beat " in str(service.get("command"))]
    assert "replicas" not in beat.get("deploy", {})


def test_every_setting_named_is_read_and_every_variable_is_in_the_example() -> None:
    names = set(example()).union(*(service.get("environment", {}) for service in SERVICES.values()))
    for line in dockerfile():
        if line.startswith("ENV "):
            names |= set(re.findall(r"(\w+)=", line))
    assert {name for name in names - FOREIGN if not name.startswith("MJ_")} - settings_read() == set()
    variables = re.findall(r"(?<!\$)\$\{(\w+)", (DOCKER / "compose.yaml").read_text())
    assert set(variables) - {"MOMENTJUDGE_TAG", "TORCH_INDEX"} <= set(example())


def test_nginx_gets_what_its_template_asks_for_and_asks_every_web_host() -> None:
    nginx = SERVICES["nginx"]
    template = (DOCKER / "nginx" / "momentjudge.conf.template").read_text()
    variables = set(re.findall(r"\$\{(MJ_\w+)\}", template)) - {"MJ_..."}
    assert variables == {name for name in nginx["environment"] if name.startswith("MJ_")}
    hosts = {name for name in SERVICES if name.startswith("web-")}
    assert set(re.findall(r"server (web-\d+):8000", nginx["environment"]["MJ_WEB_SERVERS"])) == hosts
    assert set(nginx["depends_on"]) - {"storage"} == hosts


def test_nginx_serves_while_a_web_host_is_down() -> None:
    """A name that nobody has keeps nginx from starting, unless it is to be asked for again (`resolve`)."""
    nginx = SERVICES["nginx"]
    servers = re.findall(r"server \S+[^;\n]*", "\n".join(map(str, nginx["environment"].values())))
    assert len(servers) == 3 and all(" resolve" in line for line in servers)
    assert nginx["environment"]["MJ_RESOLVER"].startswith("resolver 127.0.0.11 ")
    assert {how["condition"] for how in nginx["depends_on"].values()} == {"service_started"}
    assert tuple(map(int, re.findall(r"\d+", nginx["image"])[:2])) >= (1, 28)


def test_browsers_reach_the_storage_of_compose_through_nginx() -> None:
    nginx, storage = SERVICES["nginx"], SERVICES["storage"]
    assert nginx["environment"]["MJ_BUCKET"] == "${STORAGE_SERVER:+${S3_BUCKET}}"
    assert nginx["environment"]["MJ_STORAGE_SERVER"] == "${STORAGE_SERVER:+server ${STORAGE_SERVER} resolve;}"
    assert nginx["depends_on"]["storage"]["required"] is False
    assert "-s3.port=8333" in storage["command"][0]
    assert "ports" not in storage


def test_every_lasting_service_is_healed_and_bounded_and_waits_for_what_it_needs() -> None:
    checked = {name for name, service in SERVICES.items() if "healthcheck" in service or "build" in service}
    for name, service in SERVICES.items():
        if name not in ("migrate", "manage", "storage-bucket"):
            assert service["restart"] == "unless-stopped", name
            assert service["deploy"]["resources"]["limits"]["memory"], name
            assert name in checked
        for other, how in service.get("depends_on", {}).items():
            assert other in (checked if how["condition"] == "service_healthy" else SERVICES), f"{name}: {other}"


def test_what_is_not_ours_gets_no_secret_but_its_own() -> None:
    assert [name for name, service in SERVICES.items() if ("env_file" in service) is not ("build" in service)] == []
    postgres, storage = (set(map(str, SERVICES[name]["environment"].values())) for name in ("postgres", "storage"))
    assert postgres == {"${POSTGRES_USER:?}", "${POSTGRES_PASSWORD:?}", "${POSTGRES_DB:?}"}
    assert storage == {"${S3_ACCESS_KEY_ID:-}", "${S3_SECRET_ACCESS_KEY:-}"}


def test_nginx_sees_of_the_data_what_it_sends() -> None:
    nginx = SERVICES["nginx"]
    (media,) = [mount for mount in nginx["volumes"] if isinstance(mount, dict) and mount["source"] == "data"]
    assert (media["read_only"], media["volume"]["subpath"]) == (True, "media")
    assert media["target"] == nginx["environment"]["MJ_MEDIA"]
    assert not [volume for volume in nginx["volumes"] if str(volume).startswith("data:")]
    assert 'mkdir -p "${MOMENTJUDGE_VAR:-var}/media"' in (DOCKER / "migrate").read_text()


def test_volumes_are_declared() -> None:
    volumes = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    mounted = {volume["source"] if isinstance(volume, dict) else volume.split(":")[0] for volume in volumes}
    assert {name for name in mounted if not name.startswith(".")} == set(COMPOSE["volumes"])


def test_nobody_comes_as_the_gateway_of_docker() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published and all(port.startswith(("0.0.0.0:", "127.0.0.1:")) for port in published)


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Map mount points of a container to their sources."""
    return {target: source for source, target, *_ in (volume.split(":") for volume in service["volumes"])}


def compose_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the ``docker compose`` commands in docs/, and their words after the options."""
    for page in (BASE_DIR / "docs").glob("*.md"):
        for command_line in re.findall(r"docker compose ([^`\n]+)", page.read_text()):
            words = shlex.split(re.sub(r"--(file|profile|volume) \S+", "", command_line), comments=True)
            command, *rest = (word for word in words if word.isascii() and not word.startswith("-"))
            yield command, rest


def test_commands_of_the_pages_reach_services_database_files_and_the_folder_of_backups() -> None:
    one = [words[0] for command, words in compose_commands() if command in ("run", "exec")]
    many = [word for command, words in compose_commands() if command in ("up", "stop") for word in words]
    assert {"manage", "redis", "prometheus", "web-1"} <= {*one, *many} <= set(SERVICES)
    manage, worker = SERVICES["manage"], SERVICES["worker"]
    assert (manage["env_file"], manage["image"]) == (worker["env_file"], worker["image"])
    assert manage["entrypoint"] == ["python", "manage.py"]
    assert set(manage["depends_on"]) == {"postgres", "redis"}  # not migrate: it would fill what is to be restored
    assert mounts(manage)["/srv/momentjudge/var"] == mounts(worker)["/srv/momentjudge/var"] == "data"
    folders = {words[2] for _, words in compose_commands() if {"backup", "restore"} & set(words[1:2])}
    assert folders == {"/backups"} <= set(mounts(manage))
    (user,) = re.findall(r"useradd --uid (\d+) ", (DOCKER / "Dockerfile").read_text())
    assert f"install --directory --owner {user} --group {user} --mode 700 backups" in DEPLOYMENT


def test_the_image_holds_programs_that_read_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of base.lock alone, as the image has no other."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(database, "DEBIAN", tmp_path)
    server = int(SERVICES["postgres"]["image"].removeprefix("postgres:").split("-")[0])
    for name in ("pg_dump", "pg_restore"):
        assert database.program(name, server=server).name == name


def test_prometheus_finds_its_files_and_every_web_host() -> None:
    config = yaml.safe_load((DOCKER / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    mounted = mounts(SERVICES["prometheus"])
    files = {"/etc/prometheus/prometheus.yml", job["authorization"]["credentials_file"], *config["rule_files"]}
    assert files <= set(mounted)
    assert all((DOCKER / source).exists() for source in mounted.values() if source.endswith(".yml"))
    (targets,) = (each["targets"] for each in job["static_configs"])
    assert targets == [f"{name}:8000" for name in SERVICES if name.startswith("web-")]


def test_the_example_holds_no_secret() -> None:
    assert example()["SECRET_KEY"] == example()["POSTGRES_PASSWORD"] == "change-me"
    for pattern in ("docker/*.env", "docker/*.token", "docker/backups", "docker/tls"):
        assert pattern in (BASE_DIR / ".dockerignore").read_text().splitlines()
        assert f"/{pattern}" in [line.rstrip("/") for line in (BASE_DIR / ".gitignore").read_text().splitlines()]


@pytest.mark.parametrize("script", ["migrate", "healthy", "roll", "momentjudge"])
def test_scripts_are_readable_to_bash_and_can_be_run(script: str) -> None:
    path = DOCKER / script
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).returncode == 0
