"""Serves one file as from afar: a round trip of time for each connection, for each request, and for each window of bytes.

usage: fat_origin.py PORT FILE

A connection brings a window of bytes at once, and the next one a round trip later, as TCP does where the receiver's
buffer is what limits it. Nothing limits all connections together but this machine.
"""

import os
import re
import socket
import sys
import threading
import time

ROUND_TRIP, WINDOW = 0.1, 7_500 * 1024  # seconds, bytes: 73 MiB/s a connection


def main():
    port, path = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=128)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, path), daemon=True).start()


def serve(connection, path):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The handshake's round trip, which loopback does not take.
    earliest = time.monotonic() + 2 * ROUND_TRIP
    with connection, open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        requests = connection.makefile("rb")
        try:
            while head := read_head(requests):
                start = max(earliest, time.monotonic() + ROUND_TRIP)
                wanted = re.search(r"\nrange: *bytes=(\d+)-(\d*)", head)
                first, last = (int(wanted[1]), int(wanted[2] or size - 1)) if wanted else (0, size - 1)
                end = min(last + 1, size)
                lines = [f"HTTP/1.1 {'206 Partial Content' if wanted else '200 OK'}", f"Content-Length: {end - first}",
                         "Accept-Ranges: bytes", 'ETag: "1"', "Content-Type: application/octet-stream"]
                if wanted:
                    lines.append(f"Content-Range: bytes {first}-{end - 1}/{size}")
                wait_until(start)
                connection.sendall("\r\n".join([*lines, "", ""]).encode())
                if not head.startswith("head "):
                    send_body(connection, file, first, end, start)
        except OSError:
            pass  # the client has gone


def read_head(requests):
    lines = []
    while (line := requests.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").lower())
    return "".join(lines)


def send_body(connection, file, position, end, start):
    number = 0
    while position < end:
        wait_until(start + number * ROUND_TRIP)
        window = min(position + WINDOW, end)
        while position < window:
            position += os.sendfile(connection.fileno(), file.fileno(), position, window - position)
        number += 1


def wait_until(moment):
    time.sleep(max(0, moment - time.monotonic()))


main()
