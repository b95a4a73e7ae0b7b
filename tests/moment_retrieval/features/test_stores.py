"""Published layouts are read as they are, and files that are not in order say what is wrong."""

import hashlib
import io
import multiprocessing
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import lmdb
import msgpack
import numpy as np
import pytest

from moment_retrieval.errors import BrokenFeatures, MissingFeatures
from moment_retrieval.features import Trouble, check, open_features
from moment_retrieval.features import hdf5 as hdf5s
from moment_retrieval.features.lmdb_walk import LEAST, walk

PAGE = 4096  # of LMDB
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def hdf5(path: Path, **arrays: object) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


def lmdb_of(folder: Path, messages: dict[str, bytes]) -> Path:
    environment = lmdb.open(str(folder), map_size=1 << 22)
    with environment.begin(write=True) as transaction:
        for name, message in messages.items():
            transaction.put(name.encode(), message)
    environment.close()
    return folder


def packed(array: np.ndarray) -> bytes:
    """As msgpack-numpy writes it."""
    fields = {b"nd": True, b"type": array.dtype.str, b"kind": b"", b"shape": array.shape, b"data": array.tobytes()}
    return msgpack.packb({"features": fields})


def zipped(array: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.savez(target, features=array)
    return target.getvalue()


def test_rows_of_an_hdf5_file_are_those_written_and_masks_are_no_names(tmp_path: Path) -> None:
    arrays = {"one": ROWS, "one-mask": np.ones(4), "two": ROWS[:1], "alone-mask": ROWS, "show/one": ROWS[:2]}
    with open_features(hdf5(tmp_path / "a.h5", **arrays)) as store:
        assert store.names == ["alone-mask", "one", "show/one", "two"]
        assert (len(store), store.width) == (4, 3)
        assert [name in store for name in ("two", "one-mask", "show")] == [True, False, False]
        np.testing.assert_array_equal(store.rows("one"), ROWS)
        np.testing.assert_array_equal(store.rows("show/one"), ROWS[:2])
        with pytest.raises(MissingFeatures, match="^no features of 'three' in a.h5$"):
            store.rows("three")
    with open_features(hdf5(tmp_path / "empty.h5")) as store, pytest.raises(BrokenFeatures, match="holds no features"):
        _ = store.width


def test_what_lies_in_one_piece_is_mapped_and_what_does_not_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["plain"] = ROWS
        file.create_dataset("packed", data=ROWS, compression="gzip", chunks=(2, 3))
        file["half"] = ROWS.astype(np.float16)
    with open_features(path) as store:
        assert not store.rows("plain").flags.owndata and not store.rows("plain").flags.writeable
        for name in store:
            assert store.rows(name).dtype == np.float32
            np.testing.assert_array_equal(store.rows(name), ROWS)


def linked_twice(file: h5py.File) -> None:
    """Groups each of which lies twice in the one before: with 40 of them, 2**40 paths in 45 kB."""
    group = file.create_group("all")
    for _ in range(10):
        inner = group.create_group("left")
        group["right"] = inner
        group = inner


def linked_to_its_own_beginning(file: h5py.File) -> None:
    file["show/again"] = file["/"]


def with_many_names(file: h5py.File) -> None:
    for name in ("show/one", "show/two", "three"):
        file[name] = ROWS


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (linked_twice, "it leads to its group 'all/left.*/right' twice"),
        (linked_to_its_own_beginning, "it leads to its group 'show/again' twice"),
        (lambda file: file.create_group("/".join("abcdefghijklmnopqrstuvwxyz")), "its groups lie more than 16 deep"),
        (lambda file: file.create_group("g" * 1001), "a name of it has more than 1,000 letters"),
        (with_many_names, "it holds more than 3 names"),
    ],
)
def test_groups_that_never_end_are_refused(
    tmp_path: Path, write: Callable[[h5py.File], None], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5s, "MOST_NAMES", 3)
    path = hdf5(tmp_path / "a.h5", one=ROWS)
    with h5py.File(path, "a") as file:
        write(file)
    with open_features(path) as store, pytest.raises(BrokenFeatures, match=f"^a.h5: {problem}"):
        _ = store.names


@pytest.mark.parametrize("message", [packed(ROWS), zipped(ROWS), msgpack.packb({"features": ROWS.tolist()})])
def test_messages_of_lmdb_are_read(tmp_path: Path, message: bytes) -> None:
    folder = lmdb_of(tmp_path / "db", {"one": message, "__keys__": b"x"})
    store = open_features(folder)
    assert (store.names, store.width) == (["one"], 3)
    np.testing.assert_array_equal(store.rows("one"), ROWS)
    np.testing.assert_array_equal(open_features(folder).rows("one"), ROWS)  # two stores of one process


def test_objects_in_an_npz_are_refused_and_never_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (tmp_path.joinpath("sprung").touch, ())

    fields = {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": (1, 1), b"data": pickle.dumps(Trap())}
    messages = {"npz": zipped(np.array([[Trap()]], object)), "msgpack": msgpack.packb({"features": fields})}
    for name, message in messages.items():
        with pytest.raises(BrokenFeatures, match="numbers are expected|objects"):
            _ = open_features(lmdb_of(tmp_path / name, {"one": message})).rows("one")
    assert not (tmp_path / "sprung").exists()


def false_message(**changes: object) -> bytes:
    """A message of msgpack-numpy that lies about something."""
    fields = {b"nd": True, b"type": "<f4", b"kind": b"", b"shape": (1, 3), b"data": ROWS[:1].tobytes()}
    return msgpack.packb({"features": fields | {name.encode(): value for name, value in changes.items()}})


def member(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        file.writestr("features.npy", content)
    return target.getvalue()


def npy(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def array_of(shape: str) -> bytes:
    return npy(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n")


def altered(message: bytes, offset: int, offset_in_directory: int, value: bytes) -> bytes:
    """An npz with other bytes at its member and in its directory."""
    start = message.rindex(b"PK\x01\x02") + offset_in_directory
    content = bytearray(message)
    content[offset : offset + len(value)] = content[start : start + len(value)] = value
    return bytes(content)


def broken_deflate() -> bytes:
    message = bytearray(member(array_of("(4, 3)") + ROWS.tobytes() * 20, zipfile.ZIP_DEFLATED))
    message[42:60] = bytes(b ^ 0xFF for b in message[42:60])
    return bytes(message)


def mostly_zeros() -> bytes:
    """300 MB in 300 kB."""
    return member(array_of("(2000, 4096)") + bytes(300 << 20), zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"PK\x03\x04cut",
        msgpack.packb([1]),
        msgpack.packb({"other": 1}),
        b"\xc1",
        broken_deflate(),
        member(npy("{'descr': '<f4', 'fortran_order': (\n")),
        altered(zipped(ROWS), 6, 8, b"\1"),  # it says that it is encrypted
        altered(zipped(ROWS), 8, 10, b"\x4d\0"),  # packed by no known method
        member(array_of("(1000000000, 1000000)")),
        mostly_zeros,
        member(b"\x93NUMPY\x03\x00" + bytes(20)),
        false_message(type=[[b"a", b"<f4"]]),
        false_message(type=4),
        false_message(type="i4,("),
        false_message(shape="many"),
        false_message(data=7),
    ],
)
def test_no_message_brings_a_check_down(tmp_path: Path, message: bytes | Callable[[], bytes]) -> None:
    """It is listed, and those beside it are looked at."""
    content = message() if callable(message) else message
    folder = lmdb_of(tmp_path / "db", {"a": packed(ROWS), "bad": content, "c": packed(ROWS)})
    [finding] = check({"video": folder}, {})
    assert (finding.trouble, finding.names) == ("shape", ("bad",))
    assert finding.detail.startswith("db: bad: ")


def test_a_file_whose_first_rows_are_broken_is_looked_through_all_the_same(tmp_path: Path) -> None:
    folder = lmdb_of(tmp_path / "db", {"a": b"junk", "b": packed(ROWS), "c": packed(ROWS[:, :2])})
    store = open_features(folder)
    assert store.width == 3
    [finding] = check({"video": store}, {})
    assert (finding.trouble, finding.names) == ("shape", ("a", "c"))
    with pytest.raises(BrokenFeatures, match="rows of 2 numbers, where b has 3"):
        store.rows("c")


def chunked(file: h5py.File, shape: tuple[int, int], chunks: tuple[int, int]) -> None:
    file.create_dataset("bad", shape=shape, maxshape=(None, None), chunks=chunks, dtype=np.float32)


def in_another_file(file: h5py.File) -> None:
    Path(file.filename).with_name("secret").write_bytes(ROWS.tobytes())
    file.create_dataset("bad", shape=(4, 3), dtype=np.float32, external=[("secret", 0, h5py.h5f.UNLIMITED)])


def gathered_from_another_file(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(4, 3), dtype=np.float32)
    layout[:] = h5py.VirtualSource(hdf5(Path(file.filename).with_name("secret.h5"), one=ROWS), "one", shape=(4, 3))
    file.create_virtual_dataset("bad", layout)


def linked_to_another_file(file: h5py.File) -> None:
    file["bad"] = h5py.ExternalLink(hdf5(Path(file.filename).with_name("secret.h5"), one=ROWS), "one")


def linked_in_two_steps(file: h5py.File) -> None:
    linked_to_another_file(file)
    file.move("bad", "hidden/there")
    file["bad"] = h5py.SoftLink("/hidden/there")


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda file: chunked(file, (10**9, 10**6), (1, 1)), "MB of memory"),
        (lambda file: chunked(file, (2, 3), (2**26, 3)), "MB of memory"),
        (in_another_file, "lies in another file"),
        (gathered_from_another_file, "lies in another file"),
        (linked_to_another_file, "lies in another file"),
        (linked_in_two_steps, "lies in another file"),
    ],
)
def test_no_dataset_takes_more_memory_than_rows_need_or_reads_other_files(
    tmp_path: Path, write: Callable[[h5py.File], None], problem: str
) -> None:
    path = hdf5(tmp_path / "a.h5", a=ROWS, c=ROWS)
    with h5py.File(path, "a", libver="latest") as file:
        write(file)
    [finding] = check({"video": path}, {"video": ["a", "bad", "c"]})
    assert (finding.trouble, finding.names) == ("shape", ("bad",)) and problem in finding.detail


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros(3, np.float32), r"the shape is \[3\]"),
        (np.zeros((2, 5), np.float32), "rows of 5 numbers, where first has 3"),
        (np.array([[b"x"]]), "numbers are expected"),
        (np.zeros((3, 0), np.float32), r"the shape is \[3, 0\]"),
    ],
)
def test_rows_of_another_shape_are_refused(tmp_path: Path, array: np.ndarray, problem: str) -> None:
    path = hdf5(tmp_path / "a.h5", first=ROWS, later=array)
    with open_features(path) as store, pytest.raises(BrokenFeatures, match=problem):
        store.rows("later")


def test_a_file_cut_short_says_so(tmp_path: Path) -> None:
    rows = np.ones((500, 64), np.float32)
    path, folder = hdf5(tmp_path / "a.h5", one=rows), lmdb_of(tmp_path / "db", {"one": packed(rows)})
    for file in (path, folder / "data.mdb"):
        os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(BrokenFeatures, match="a.h5: the file is cut short"):
        open_features(path)
    with pytest.raises(BrokenFeatures, match="cut short"):
        open_features(folder)


def test_no_more_of_an_lmdb_folder_is_walked_through_than_it_can_hold(tmp_path: Path) -> None:
    """Pages may lead to one another in endless ways."""
    folder = lmdb_of(tmp_path / "db", dict.fromkeys("abc", b""))
    walk(str(folder), 3 * LEAST)
    with pytest.raises(ValueError, match="it leads to more than it holds"):
        walk(str(folder), LEAST)


def test_an_lmdb_folder_with_a_damaged_page_says_so(tmp_path: Path) -> None:
    messages = {f"{number:03d}": packed(ROWS) for number in range(300)}
    file = lmdb_of(tmp_path / "db", messages) / "data.mdb"
    content = bytearray(file.read_bytes())
    content[2 * PAGE : 12 * PAGE] = bytes(10 * PAGE)  # the root among them
    file.write_bytes(content)
    with pytest.raises(BrokenFeatures, match="^db: its pages cannot be read: .*CORRUPTED"):
        _ = open_features(tmp_path / "db").names
    [finding] = check({"video": tmp_path / "db"}, {"video": ["000"]})
    assert finding.trouble == "unreadable"


def test_an_lmdb_folder_that_ends_its_reader_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of a value is put up: it ends far behind the file."""
    message = packed(np.ones((500, 64), np.float32))
    folder = lmdb_of(tmp_path / "db", {"one": message})
    content = (folder / "data.mdb").read_bytes()
    offset = content.rindex(len(message).to_bytes(4, "little"))
    longer = (len(content) - PAGE).to_bytes(4, "little")
    (folder / "data.mdb").write_bytes(content[:offset] + longer + content[offset + 4 :])
    with open_features(folder) as store, pytest.raises(BrokenFeatures, match="^db: it is damaged"):
        _ = store.width
    monkeypatch.setattr(lmdb, "open", lambda *_, **__: pytest.fail("mapped"))
    open_features(folder).close()  # a page of the site may do so: nothing is mapped


def test_rows_on_a_damaged_page_of_an_lmdb_folder_say_so_by_name(tmp_path: Path) -> None:
    store = open_features(lmdb_of(tmp_path / "db", {f"{number:03d}": packed(ROWS) for number in range(300)}))
    assert len(store) == 300
    file = tmp_path / "db" / "data.mdb"
    content = file.read_bytes()
    with file.open("r+b") as stream:
        stream.seek(content.index(b"\x03\x00150") // PAGE * PAGE)
        stream.write(bytes(PAGE))
    with pytest.raises(BrokenFeatures, match="^db: 150: cannot be read: .*CORRUPTED"):
        store.rows("150")


def test_what_is_no_file_of_features_says_so(tmp_path: Path) -> None:
    (tmp_path / "junk.h5").write_bytes(b"junk" * 100)
    (tmp_path / "notes.txt").write_text("no")
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "data.mdb").write_bytes(b"junk" * 5000)
    problems = {"junk.h5": "not a readable HDF5", "notes.txt": "neither", "db": "not a readable LMDB"}
    for name, problem in {**problems, "nothing": "no such"}.items():
        with pytest.raises(BrokenFeatures, match=problem):
            open_features(tmp_path / name)


def total(store: object) -> float:
    return float(store.rows("one").sum())


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
@pytest.mark.parametrize("form", ["hdf5", "lmdb"])
def test_another_process_reads_the_store_it_was_given(tmp_path: Path, start_method: str, form: str) -> None:
    path = hdf5(tmp_path / "a.h5", one=ROWS) if form == "hdf5" else lmdb_of(tmp_path / "db", {"one": packed(ROWS)})
    store = open_features(path)
    with multiprocessing.get_context(start_method).Pool(1) as pool:
        assert pool.apply(total, (store,)) == total(store) == ROWS.sum()


def checksum(path: Path) -> str:
    with open_features(path) as store:
        return store.checksum()


def test_every_change_changes_the_checksum_which_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hdf5(tmp_path / "a.h5", **{f"{number:03d}": np.ones((40, 1024), np.float32) for number in range(30)})
    checksums = {checksum(path)}
    for number in range(30):
        with h5py.File(path, "r+") as file:
            file[f"{number:03d}"][:] = np.nan
        os.utime(path, ns=(number, number))  # clocks of file systems are slow
        checksums.add(checksum(path))
    assert len(checksums) == 31
    path = hdf5(tmp_path / "a.h5", one=ROWS)
    digests: list[str] = []
    file_digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *args: digests.append("read") or file_digest(*args))
    assert checksum(path) == checksum(path) == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert digests == ["read"]


GOOD = np.ones((4, 3), np.float32)


def test_files_in_order_give_no_findings_and_every_trouble_is_found_with_its_names(tmp_path: Path) -> None:
    video, subtitle = hdf5(tmp_path / "v.h5", a=GOOD, b=GOOD), hdf5(tmp_path / "s.h5", a=GOOD * 0, b=GOOD[:3])
    progress: list[tuple[int, int]] = []
    findings = check(
        {"video": video, "subtitle": subtitle},
        {"video": ["a", "b"], "subtitle": ["a", "b"]},
        on_progress=lambda n_done, total: progress.append((n_done, total)),
    )
    assert findings == [] and progress == [(1, 4), (2, 4), (3, 4), (4, 4)]
    broken = GOOD.copy()
    broken[1, 1] = np.inf
    arrays = {"a": GOOD, "cube": GOOD[None], "empty": GOOD[:0], "inf": broken, "zero": GOOD * 0}
    video, subtitle = hdf5(tmp_path / "v.h5", **arrays), hdf5(tmp_path / "s.h5", a=GOOD[:2])
    findings = check({"video": video, "subtitle": subtitle}, {"video": [*arrays, "gone"], "subtitle": ["a"]})
    names = {(one.kind, one.trouble): one.names for one in findings}
    assert names == {
        ("video", Trouble.SHAPE): ("cube",),
        ("video", Trouble.EMPTY): ("empty",),
        ("video", Trouble.NOT_FINITE): ("inf",),
        ("video", Trouble.ZERO): ("zero",),
        ("video", Trouble.MISSING): ("gone",),
        ("subtitle", Trouble.LENGTH): ("a",),
    }
    assert {one.trouble for one in findings if not one.is_fatal} == {Trouble.ZERO, Trouble.LENGTH}
    [finding] = check({"video": hdf5(tmp_path / "v.h5", a=GOOD)}, {"video": [f"v{i}" for i in range(50)]})
    assert (finding.count, len(finding.names)) == (50, 20)
    assert str(finding).startswith("video: no features: 50 (v0, v1") and str(finding).endswith("and 30 more)")
    (tmp_path / "v.h5").write_bytes(b"junk")
    [finding] = check({"video": tmp_path / "v.h5"}, {"video": ["a"]})
    assert finding.trouble is Trouble.UNREADABLE and "v.h5" in finding.detail
