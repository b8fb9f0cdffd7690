"""Getting HyperPod's dependency chart: fetched once, verified always, kept in the user's cache folder.

The chart is in no registry. By default it comes out of a git repository at a pinned commit, fetched with the user's own `git`,
and so with their proxies, keys and mirrors. A commit is a hash over all of its content: the cache is checked against it in every
run.
"""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from components.platform.chartrepository import ChartSourceError, extract, fetch, is_sound
from config.chart import CHART_REPOSITORY, ChartSource
from config.places import cache_root


def chart_path(source: ChartSource, root: Path, cache: Path | None = None) -> str:
    """The chart as Helm takes it: a folder, an archive, or an OCI reference. Fetches it where the cache doesn't hold it.

    `root` is the project's folder, `cache` the user's cache folder. Raises ChartSourceError.
    """
    if source.oci is not None:
        return source.oci
    chart = _local(source, root) if source.path is not None else _from_git(source, cache or cache_root())
    if source.sha256 is not None and (found := folder_digest(chart)) != source.sha256:
        message = f"the chart in {chart} is not the declared one: expected digest {source.sha256}, found {found}"
        raise ChartSourceError(message, "find out what has changed in it; if that is wanted, write the new digest into `sha256`")
    return str(chart)


def folder_digest(path: Path) -> str:
    """SHA-256 of a chart's files. Of an archive, what `sha256sum` prints of it; of a folder, what this prints in it:

    `find -L . -type f -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum`
    """
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    lines = (f"{digest}  {name}\n".encode() for name, digest in _digests(path).items())
    return hashlib.sha256(b"".join(lines)).hexdigest()


def lacks_dependencies(chart: Path) -> bool:
    """Whether Helm must fetch charts that this one depends on. Never so for an archive: it is packed with them."""
    if chart.is_file():
        return False
    declared = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8")).get("dependencies") or ()
    there = {entry.name for entry in (chart / "charts").glob("*")}

    def is_there(name: str) -> bool:
        return name in there or any(entry.startswith(f"{name}-") and entry.endswith(".tgz") for entry in there)

    return not all(is_there(dependency["name"]) for dependency in declared)


def working_copy(chart: Path, owner: str, cache: Path | None = None) -> Path:
    """A copy of a chart's folder for Helm to fetch dependencies into: it writes them beside the chart's own files.

    `owner` has it alone: two releases that fetch at a time would get into each other's way. A copy whose files are not the
    chart's is made anew.
    """
    place = (cache or cache_root()) / "charts" / "work" / owner / folder_digest(chart)[:16]
    with _alone(place.parent):
        if not place.is_dir() or _own_files(place) != _own_files(chart):
            _install(place, lambda folder: shutil.copytree(chart, folder, dirs_exist_ok=True))
    return place


def _local(source: ChartSource, root: Path) -> Path:
    path = root / Path(source.path or "").expanduser()
    if not (path.is_file() or (path / "Chart.yaml").is_file()):
        raise ChartSourceError(
            f"there is no chart at {path}", "`path` names a chart's folder or archive, from the project's folder"
        )
    return path


def _from_git(source: ChartSource, cache: Path) -> Path:
    """The chart's folder at the commit. Repository and files are in the cache; what is broken there is made anew."""
    place = cache / "charts" / source.commit
    repository, chart = place / "repository.git", place / "tree" / source.folder
    with _alone(place):
        if not is_sound(repository, source.commit):
            _install(repository, lambda folder: fetch(folder, source.repository or CHART_REPOSITORY, source.commit))
        with tempfile.TemporaryDirectory(dir=place) as temporary:
            fresh = Path(temporary) / "chart"
            extract(repository, source.commit, source.folder, fresh)
            if not (fresh / "Chart.yaml").is_file():
                message = f"commit {source.commit[:12]} has no chart in its folder `{source.folder}`"
                raise ChartSourceError(message, "check `folder` and `commit` under `hyperpod.chart`")
            if not chart.is_dir() or _digests(chart) != _digests(fresh):
                _install(chart, lambda folder: shutil.copytree(fresh, folder, dirs_exist_ok=True))
    return chart


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 by file, in the order of the names' bytes."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in sorted(files, key=str.encode)}


def _own_files(folder: Path) -> dict[str, str]:
    """Digests of a chart's files, without those that Helm writes when it fetches dependencies."""

    def fetched(name: str) -> bool:
        return name == "Chart.lock" or (name.startswith("charts/") and name.count("/") == 1 and name.endswith(".tgz"))

    return {name: digest for name, digest in _digests(folder).items() if not fetched(name)}


def _install(place: Path, fill: Callable[[Path], object]) -> None:
    """Fill a folder and put it into its place whole: an interrupted run leaves nothing half."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as temporary:
        fresh = Path(temporary) / "new"
        fresh.mkdir()
        fill(fresh)
        if place.exists():
            place.rename(Path(temporary) / "old")
        fresh.rename(place)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder of the cache meanwhile."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
