"""Write all files of a release into a folder, and make its archive."""

import json
from collections.abc import Callable
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from judging.models import Release
from judging.releases import layout
from judging.releases.corpus import write_corpus, write_queries, write_train
from judging.releases.documents import counts_of, datasheet, manifest_facts, readme
from judging.releases.judged import numbers_of, write_judged, write_pools
from judging.releases.judgments import write_judgments
from judging.releases.metadata import croissant, write_settings
from judging.releases.selectors import Scope

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry of an archive: the earliest that the form knows
PIECE = 1 << 20
Step = Release.Step
Tell = Callable[[str, int, int], None]  # step, done, total
Facts = dict[str, Any]


def untold(step: str, done: int, total: int) -> None:
    """Progress that nobody waits for."""


def write_files(release: Release, scope: Scope, folder: Path, tell: Tell = untold) -> Facts:
    """Write every file into ``folder``, which is made if need be; what the manifest says."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, counts = write_content(scope, folder, tell)
    facts = manifest_facts(release, scope, counts)
    content = _digests(folder)
    facts["content_sha256"] = content_digest(content)
    described = json.dumps(croissant(facts, settings["words"], content), ensure_ascii=False, indent=1)
    (folder / layout.CROISSANT).write_text(described + "\n", encoding="utf-8")
    manifest = {**facts, "files": dict(sorted({**content, **_digests(folder, layout.CROISSANT)}.items()))}
    (folder / layout.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    listed = {**manifest["files"], **_digests(folder, layout.MANIFEST)}
    sums = "".join(f"{listed[name]['sha256']}  {name}\n" for name in sorted(listed))
    (folder / layout.SUMS).write_text(sums, encoding="utf-8")
    return manifest


def write_content(scope: Scope, folder: Path, tell: Tell = untold) -> tuple[Facts, Facts]:
    """The files that are not about the others; what settings.json says, and the counts."""
    pools = numbers_of(scope)
    tell(Step.JUDGED, 0, len(scope.listed))
    last = write_judged(scope, folder, pools, lambda done, total: tell(Step.JUDGED, done, total))
    write_queries(scope, folder)
    write_pools(scope, folder, pools)
    with layout.CsvFile(folder, layout.MISSING) as file:
        file.add_all(scope.missing)
    write_corpus(scope, folder, lambda done, total: tell(Step.CORPUS, done, total))
    tell(Step.TRAINING, 0, 0)
    write_train(scope.project, folder, first=last + 1, on_progress=lambda done, total: tell(Step.TRAINING, done, total))
    tell(Step.JUDGMENTS, 0, 1)
    write_judgments(scope.keys, folder, anonymised=scope.is_anonymised)
    settings, counts = write_settings(scope, folder), counts_of(scope)
    (folder / layout.DATASHEET).write_text(datasheet(settings, counts), encoding="utf-8")
    names = {path.name for path in folder.iterdir()} | {layout.README, *layout.ABOUT_THE_RELEASE}
    (folder / layout.README).write_text(readme(settings, counts, names), encoding="utf-8")
    return settings, counts


def content_digest(files: dict[str, Facts]) -> str:
    """Of the names and sums of the files of content: equal where releases hold the same."""
    lines = [f"{files[name]['sha256']}  {name}\n" for name in sorted(files) if name not in layout.ABOUT_THE_RELEASE]
    return sha256("".join(lines).encode()).hexdigest()


def pack(folder: Path, archive: Path, tell: Tell = untold) -> None:
    """A zip archive that depends on names and bytes alone: no times, no rights of files, no order of the disk."""
    files = sorted(folder.iterdir(), key=lambda path: path.name)
    with ZipFile(archive, "w") as packed:
        for done, path in enumerate(files):
            tell(Step.PACKING, done, len(files))
            entry = ZipInfo(path.name, EPOCH)
            entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, 3, 0o644 << 16
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, packed.open(entry, "w") as target:
                while piece := source.read(PIECE):
                    target.write(piece)


def digest_of(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


def _digests(folder: Path, *names: str) -> dict[str, Facts]:
    """Size and SHA-256 of these files, or of all."""
    chosen = names or sorted(path.name for path in folder.iterdir())
    return {name: {"bytes": (folder / name).stat().st_size, "sha256": digest_of(folder / name)} for name in chosen}
