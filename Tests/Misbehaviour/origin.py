"""An HTTP/1.1 origin on loopback that misbehaves by script.

Raw sockets, a thread a connection: http.server is too polite to cut a body, lie about a range or speak garbage.
Each Scene (one tool in one row) has an Origin with a port of its own, so that runs beside each other share nothing: not
the places of a server that takes few connections either.
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
TLS_RECORD = b"\x16"  # how a handshake begins
REASONS = {200: "OK", 206: "Partial Content", 302: "Found", 304: "Not Modified", 401: "Unauthorized",
           403: "Forbidden", 404: "Not Found", 407: "Proxy Authentication Required", 416: "Range Not Satisfiable",
           429: "Too Many Requests", 503: "Service Unavailable"}


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

    def __init__(self, answer):
        self.answer = answer
        self.lock = threading.Lock()
        self.line = threading.Lock()           # held while a slow block is under way: all connections share the rate
        self.attempts = collections.Counter()  # by path
        self.runs = 0                          # of the tool, begun
        self.logins = 0                        # requests that carried one
        self.body_bytes = 0
        self.active = 0                        # requests that are being answered, for limits
        self.challenges = 0                    # logins that were asked for
        self.taken = set()                     # logins that were taken, each only once
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
            scene.logins += "authorization" in headers or "proxy-authorization" in headers
            scene.attempts[path] += method == "GET"  # a HEAD is not an attempt
            self.attempt = scene.attempts[path]
        shown = {key: value for key, value in headers.items()
                 if "range" in key or key.startswith("if-") or key.endswith(("authorization", "cookie"))}
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

    def body(self, data, chunked=False, pause=0.0, hold_at=None):
        """Sends and counts. A HEAD gets none, and an end of a chunked body is the caller's to send.

        `hold_at`: after so many bytes of all bodies of the scene nothing more comes.
        """
        if self.method == "HEAD":
            return
        for start in range(0, len(data), BLOCK):
            block = data[start:start + BLOCK]
            self.raw(b"%x\r\n%s\r\n" % (len(block), block) if chunked else block)
            with self.scene.lock:
                self.scene.body_bytes += len(block)
            with self.scene.line:
                time.sleep(pause)
            if hold_at is not None and self.scene.body_bytes >= hold_at:
                self.scene.at_half.set()
                self.hold()

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
    """Listens on a loopback port for one scene, until it is closed.

    `places`: so many connections are served at a time, idle ones too; further ones are closed at once.
    `workers`: so many connections are served at a time, idle ones too; the kernel lets further ones wait.
    `keep_alive`: after so many seconds without a request a connection is closed.
    """

    def __init__(self, scene, places=None, workers=None, keep_alive=150):
        self.scene, self.places, self.keep_alive = scene, places, keep_alive
        self.workers = threading.Semaphore(workers) if workers else None
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        # A small buffer, so that what was counted as sent has about arrived.
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BLOCK)
        self.authority = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self.listener.close()

    def _accept(self):
        while True:
            if self.workers:
                self.workers.acquire()
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            if self._has_place():
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
            else:
                connection.close()

    def _has_place(self):
        with self.scene.lock:
            if self.places is not None and self.connections >= self.places:
                self.scene.log.append("  -- no place for a connection")
                return False
            self.connections += 1
            return True

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as reader:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.settimeout(self.keep_alive)
                while exchange := self._next(connection, reader):
                    self.scene.answer(exchange)
        except (ConnectionOver, OSError):
            pass
        finally:
            with self.scene.lock:
                self.connections -= 1
            if self.workers:
                self.workers.release()

    def _next(self, connection, reader):
        """The next request of a connection; None at its end."""
        if reader.peek(1)[:1] == TLS_RECORD:
            return self._refuse_tls(connection, reader)
        line = reader.readline().decode("latin-1").split()
        if len(line) != 3:
            return None
        headers = {}
        while (header := reader.readline().decode("latin-1").strip()):
            key, _, value = header.partition(":")
            headers[key.strip().lower()] = value.strip()
        return Exchange(connection, self.scene, line[0], line[1].removeprefix("/"), headers)

    def _refuse_tls(self, connection, reader):
        """As servers and proxies answer TLS where HTTP is spoken. It is read first: unread it would make a RST."""
        reader.read1(BLOCK)
        self.scene.note("TLS\n  -> 400")
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
