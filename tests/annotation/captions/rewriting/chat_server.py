"""A chat API on the loopback that answers as it is told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], bytes]


def completion(text: Any, *, refusal: str | None = None, finish: str = "stop") -> Reply:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body = {
        **{"id": "c", "object": "chat.completion", "created": 1, "model": "told"},
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


def failure(status: int, message: str = "no", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message}}).encode()
    return status, {"Content-Type": "application/json", **headers}, body


@dataclass
class ChatServer:
    """``answer`` gets the description and how often it was asked before."""

    url: str
    answer: Callable[[str, int], Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def texts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.requests]

    def reply(self, request: dict[str, Any]) -> Reply:
        text = request["messages"][-1]["content"]
        with self.lock:
            before = self.texts().count(text)
            self.requests.append(request)
        return self.answer(text, before)


@contextmanager
def chat_server(answer: Callable[[str, int], Reply]) -> Iterator[ChatServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers, body = server.reply({**request, "key": self.headers["Authorization"]})
            if status == 0:  # hang up without a word
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: Any) -> None:
            """Who did not wait for the answer is gone."""

    listener = Listener(("127.0.0.1", 0), Handler)
    server = ChatServer(f"http://127.0.0.1:{listener.server_address[1]}/v1", answer)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
