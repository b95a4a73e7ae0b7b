"""The disk on which `make run` keeps large bodies until they are whole runs full."""

from pathlib import Path

from tests.config.answers.server import free_port, of_make_run, open_connection, serving
from tests.production.faults.disks import small_disk

HEAD = b"POST /echo/ HTTP/1.1\r\nHost: testserver\r\nContent-Length: 300000\r\n\r\n"


def test_the_client_gets_an_error_and_with_room_again_all_goes_on(tmp_path: Path) -> None:
    port = free_port()
    with small_disk(tmp_path / "receiving") as disk, serving(of_make_run(port), port, tmp_path):
        disk.fill()
        refused, small = open_connection(port), open_connection(port)
        refused.socket.sendall(HEAD + b"x" * 200_000)  # the answer comes before the end of the body
        answer = refused.read("POST")
        assert (answer.status, answer.closes) == (507, True)
        assert b"is full" in answer.body
        assert small.ask("/echo/", "POST", body=b"fits into memory").status == 200
        disk.make_room()
        assert open_connection(port).ask("/echo/", "POST", body=b"x" * 300_000).status == 200
        assert list(disk.folder.iterdir()) == []
