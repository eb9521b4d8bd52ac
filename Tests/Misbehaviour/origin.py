"""An HTTP/1.1 origin on loopback that misbehaves by script.

Raw sockets, a thread a connection: http.server is too polite to cut a body, lie about a range or speak garbage.
The first part of a path names a Scene (one tool in one row), so that runs beside each other share nothing.
"""

import collections
import dataclasses
import random
import re
import socket
import struct
import threading
import time

BLOCK = 64 * 1024
REASONS = {200: "OK", 206: "Partial Content", 302: "Found", 304: "Not Modified", 404: "Not Found",
           416: "Range Not Satisfiable", 429: "Too Many Requests", 503: "Service Unavailable"}


@dataclasses.dataclass(frozen=True)
class File:
    """One version of a file, with the validators that a good server gives."""
    data: bytes
    etag: str
    modified: str


def make_file(name, size, version=1):
    """The same bytes in each run of the script, and different ones for each name and version."""
    data = random.Random(f"{name} {version}").randbytes(size)
    return File(data, f'"{name}-v{version}"', f"Mon, 0{version} Jan 2024 00:00:00 GMT")


class ConnectionOver(Exception):
    """Ends the connection: because the script says so, or because the client has gone."""


class Scene:
    """What the origin knows of one tool in one row: how to answer it, and what it has sent it."""

    def __init__(self, name, answer):
        self.name, self.answer = name, answer
        self.lock = threading.Lock()
        self.attempts = collections.Counter()  # by path
        self.body_bytes = 0
        self.active = 0                        # requests that are being answered, for limits
        self.at_half = threading.Event()       # the moment to kill the tool
        self.log = []

    def note(self, text):
        with self.lock:
            self.log.append(text)


class Exchange:
    """One request, and the means to answer it, well or badly."""

    def __init__(self, connection, scene, method, path, headers):
        self.connection, self.scene = connection, scene
        self.method, self.path, self.headers = method, path, headers
        with scene.lock:
            scene.attempts[path] += method == "GET"  # a HEAD is not an attempt
            self.attempt = scene.attempts[path]
        shown = {key: value for key, value in headers.items() if "range" in key or key.startswith("if-")}
        scene.note(f"{method} {path} attempt {self.attempt} {shown or ''}")

    @property
    def range_start(self):
        match = re.fullmatch(r"bytes=(\d+)-\d*", self.headers.get("range", ""))
        return int(match[1]) if match else None

    def range_end(self, size):
        match = re.fullmatch(r"bytes=\d+-(\d+)", self.headers.get("range", ""))
        return min(int(match[1]) + 1, size) if match else size

    # Pieces of an answer

    def raw(self, data):
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise ConnectionOver from error

    def head(self, status, *lines):
        self.scene.note(f"  -> {status} {' | '.join(lines)}")
        self.raw("\r\n".join([f"HTTP/1.1 {status} {REASONS[status]}", *lines, "", ""]).encode())

    def body(self, data, chunked=False, pause=0.0):
        """Sends and counts. A HEAD gets none, and an end of a chunked body is the caller's to send."""
        if self.method == "HEAD":
            return
        for start in range(0, len(data), BLOCK):
            block = data[start:start + BLOCK]
            self.raw(b"%x\r\n%s\r\n" % (len(block), block) if chunked else block)
            with self.scene.lock:
                self.scene.body_bytes += len(block)
            time.sleep(pause)

    def short(self, status, *lines, body=b"<html>no</html>"):
        """A whole answer with a small page."""
        self.head(status, *lines, f"Content-Length: {len(body)}", "Content-Type: text/html")
        self.body(body)

    # Ends of an answer

    def close(self):
        self.scene.note("  -- closed")
        raise ConnectionOver

    def reset(self):
        """RST instead of FIN. A moment before it, since RST also destroys what the client has not read yet."""
        time.sleep(1)
        self.scene.note("  -- reset")
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionOver

    def hold(self):
        """Nothing more, until the client goes."""
        self.scene.note("  -- held")
        self.connection.settimeout(150)
        try:
            while self.connection.recv(BLOCK):
                pass
        except OSError:
            pass
        raise ConnectionOver


class Origin:
    """Listens on a loopback port from its making until the process ends."""

    def __init__(self):
        self.scenes = {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        # A small buffer, so that what was counted as sent has about arrived.
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BLOCK)
        self.address = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(150)
        with connection, connection.makefile("rb") as reader:
            try:
                while exchange := self._next(connection, reader):
                    exchange.scene.answer(exchange)
            except (ConnectionOver, OSError):
                pass

    def _next(self, connection, reader):
        """The next request of a connection; None at its end."""
        line = reader.readline().decode("latin-1").split()
        if len(line) != 3:
            return None
        headers = {}
        while (header := reader.readline().decode("latin-1").strip()):
            key, _, value = header.partition(":")
            headers[key.strip().lower()] = value.strip()
        _, scene, path = line[1].split("/", 2)
        return Exchange(connection, self.scenes[scene], line[0], path, headers) if scene in self.scenes else None
