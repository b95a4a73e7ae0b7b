"""One message to an address that somebody typed: where it may go, and what comes back."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from judging.webhooks import sending
from judging.webhooks.sending import NotSent, message_send
from tests.loopback import Server, serving

GETADDRINFO = socket.getaddrinfo


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        one.replies = [(204, b"", {})]
        yield one


def send(url: str, *, allows_private: bool = True) -> int:
    return message_send(url, body=b"{}", headers={"X-One": "1"}, allows_private=allows_private)


def resolve_to(patch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Have every name stand for these addresses; return the names that were asked for."""
    names = []

    def getaddrinfo(host: str, port: int, *more: Any, **options: Any) -> list[Any]:
        names.append(host)
        if host in addresses:
            return GETADDRINFO(host, port, *more, **options)
        kind = socket.SOCK_STREAM
        return [(socket.AF_INET, kind, 6, "", (address, port)) for address in addresses]

    patch.setattr(sending.socket, "getaddrinfo", getaddrinfo)
    return names


def test_a_message_arrives(server: Server) -> None:
    assert send(f"{server.address}/hook?a=1") == 204
    ((method, path, headers, body),) = server.requests
    assert (method, path, body) == ("POST", "/hook?a=1", b"{}")
    assert headers["X-One"] == "1"
    assert headers["Host"] == server.address.removeprefix("http://")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "2130706433", "127.1", "[::ffff:127.0.0.1]"])
def test_a_private_address_is_refused_however_it_is_written(host: str, server: Server) -> None:
    port = server.server_address[1]
    with pytest.raises(NotSent):
        send(f"http://{host}:{port}/", allows_private=False)
    assert server.requests == []


def test_every_address_of_a_name_is_looked_at(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "93.184.216.34", "127.0.0.1")
    with pytest.raises(NotSent, match="not on the public Internet"):
        send("http://example.org/", allows_private=False)


def test_the_connection_goes_to_the_address_that_was_looked_at(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands for another address a moment later changes nothing: it is asked for once."""
    names = resolve_to(monkeypatch, "127.0.0.1")
    port = server.server_address[1]
    addresses = []
    create = socket.create_connection

    def connect(address: tuple[str, int], *options: Any) -> socket.socket:
        addresses.append(address)
        return create(address, *options)

    monkeypatch.setattr(sending.socket, "create_connection", connect)
    assert send(f"http://example.org:{port}/") == 204
    assert names[:1] == ["example.org"] and names.count("example.org") == 1
    assert addresses == [("127.0.0.1", port)]
    assert server.requests[0][2]["Host"] == f"example.org:{port}"


def test_redirects_are_not_followed(server: Server) -> None:
    with serving() as other:
        other.replies = [(200, b"", {})]
        server.replies = [(302, b"", {"Location": other.address})]
        with pytest.raises(NotSent, match="Redirects are not followed") as failure:
            send(server.address)
        assert (failure.value.status, other.requests) == (302, [])


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_what_is_no_success(server: Server, status: int) -> None:
    server.replies = [(status, b"x" * 100_000, {})]
    with pytest.raises(NotSent, match=f"answered {status}") as failure:
        send(server.address)
    assert failure.value.status == status


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotSent, match="refused") as failure:
        send(f"http://127.0.0.1:{port}/")
    assert failure.value.status is None
    monkeypatch.setattr(sending.socket, "getaddrinfo", lambda *where, **how: (_ for _ in ()).throw(socket.gaierror()))
    with pytest.raises(NotSent, match="cannot be resolved"):
        send("http://no-such-name.example/")


@pytest.fixture
def slow() -> Iterator[tuple[int, list[bytes], Thread]]:
    """A server that goes on saying that the request may continue."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        received: list[bytes] = []

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                received.append(connection.recv(65536))
                try:
                    for _ in range(500_000):  # for seconds, as nothing would end the test otherwise
                        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                except OSError:
                    received.append(b"cut off")

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1], received, thread


def test_the_next_address_is_tried_where_one_cannot_be_connected(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to(monkeypatch, "127.0.0.2", "127.0.0.1")  # on the first of them nobody listens
    assert send(f"http://example.org:{server.server_address[1]}/") == 204
    resolve_to(monkeypatch, "127.0.0.2", "127.0.0.3")
    with pytest.raises(NotSent, match="example.org did not answer: Connection refused"):
        send(f"http://example.org:{server.server_address[1]}/")
    assert len(server.requests) == 1


def test_a_message_goes_to_one_address_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was connected may have taken the message, so that no other address gets it."""
    resolve_to(monkeypatch, "127.0.0.1", "127.0.0.1")
    server.replies = [None]
    with pytest.raises(NotSent):
        send(f"http://example.org:{server.server_address[1]}/")
    assert len(server.requests) == 1


class TestDeadline:
    """One for all: the name, the connection, the request and its answer."""

    def test_a_name_that_takes_long_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        end = Event()
        monkeypatch.setattr(sending, "DEADLINE_S", 0.2)
        monkeypatch.setattr(sending.socket, "getaddrinfo", lambda *where, **how: end.wait(60))
        begin = monotonic()
        with pytest.raises(NotSent, match="not resolved within 0.2 s"):
            send("http://slow.example/")
        assert monotonic() - begin < 5
        end.set()

    def test_addresses_that_do_not_answer_share_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        resolve_to(monkeypatch, "127.0.0.2", "127.0.0.3", "127.0.0.4")
        monkeypatch.setattr(sending, "DEADLINE_S", 0.6)
        limits: list[float] = []

        def connect(address: tuple[str, int], timeout: float) -> socket.socket:
            limits.append(timeout)
            Event().wait(timeout)
            raise TimeoutError

        monkeypatch.setattr(sending.socket, "create_connection", connect)
        begin = monotonic()
        with pytest.raises(NotSent, match="nothing came within 0.6 s"):
            send("http://example.org/")
        assert len(limits) == 3 and sum(limits) <= 0.6 <= monotonic() - begin + 0.05

    def test_what_the_name_took_is_not_there_for_the_answer(
        self, slow: tuple[int, list[bytes], Thread], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limits: list[float] = []
        timer = sending.Timer
        monkeypatch.setattr(sending, "Timer", lambda seconds, end: limits.append(seconds) or timer(seconds, end))
        monkeypatch.setattr(sending, "DEADLINE_S", 0.8)

        def getaddrinfo(host: str, *more: Any, **options: Any) -> list[Any]:
            if host == "slow.example":
                Event().wait(0.5)
            return GETADDRINFO("127.0.0.1", *more, **options)

        monkeypatch.setattr(sending.socket, "getaddrinfo", getaddrinfo)
        with pytest.raises(NotSent, match="nothing came within 0.8 s"):
            send(f"http://slow.example:{slow[0]}/")
        (limit,) = limits
        assert limit <= 0.3


def test_a_server_that_never_ends_is_cut_off(
    slow: tuple[int, list[bytes], Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "DEADLINE_S", 0.3)
    with pytest.raises(NotSent, match="did not answer"):
        send(f"http://127.0.0.1:{slow[0]}/")
    slow[2].join(timeout=60)
    assert slow[1][1:] == [b"cut off"]


def test_a_server_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "DEADLINE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(NotSent, match="nothing came within"):
        send(f"http://127.0.0.1:{listener.getsockname()[1]}/")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and its certificate, for hook.example."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook.example")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("hook.example")]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    content = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    path = tmp_path_factory.mktemp("certificates") / "hook.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + content)
    return path


class TestEncryption:
    """By a server of hook.example, whose certificate is signed by nobody else."""

    @pytest.fixture
    def server(self, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        resolve_to(monkeypatch, "127.0.0.1")
        with serving(context) as one:
            one.replies = [(204, b"", {})]
            yield one

    @pytest.fixture
    def trusts(self, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """This machine accepts the certificate."""
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    def test_a_certificate_that_nobody_vouches_for_is_refused(self, server: Server) -> None:
        with pytest.raises(NotSent, match="certificate is not accepted .self.signed"):
            send(f"https://hook.example:{server.server_address[1]}/")
        assert server.requests == []

    @pytest.mark.usefixtures("trusts")
    def test_a_certificate_of_the_host_is_accepted(self, server: Server) -> None:
        assert send(f"https://hook.example:{server.server_address[1]}/hook") == 204
        ((method, path, _, body),) = server.requests
        assert (method, path, body) == ("POST", "/hook", b"{}")

    @pytest.mark.usefixtures("trusts")
    @pytest.mark.parametrize("host", ["other.example", "a.hook.example", "127.0.0.1"])
    def test_a_certificate_of_another_host_is_refused(self, host: str, server: Server) -> None:
        with pytest.raises(NotSent, match="certificate is not accepted .*(Hostname|IP address) mismatch"):
            send(f"https://{host}:{server.server_address[1]}/")
        assert server.requests == []

    @pytest.mark.usefixtures("trusts")
    def test_a_server_that_does_not_encrypt_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        resolve_to(monkeypatch, "127.0.0.1")
        with serving() as plain, pytest.raises(NotSent, match="could not be encrypted"):
            send(f"https://hook.example:{plain.server_address[1]}/")


def test_a_server_that_never_ends_shaking_hands_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "DEADLINE_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(b"\x16\x03\x03\x40\x00")  # a record of 16,384 bytes begins
                while True:
                    connection.sendall(b"\0")
                    Event().wait(0.02)

        Thread(target=drip, daemon=True).start()
        with pytest.raises(NotSent):
            send(f"https://127.0.0.1:{listener.getsockname()[1]}/")


def test_what_does_not_speak_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"220 mail.example ESMTP\r\n")

        Thread(target=answer, daemon=True).start()
        with pytest.raises(NotSent, match="not HTTP"):
            send(f"http://127.0.0.1:{listener.getsockname()[1]}/")
