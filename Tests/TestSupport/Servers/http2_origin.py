"""An HTTP/2 origin over TLS and ALPN that resets streams: what no C server does on request.

    /usr/bin/python3 http2_origin.py CERTIFICATE KEY

It prints its port. /HOW/N is a file of 200,000 bytes, a pattern of N. The first request of each is answered by half of
it and RST_STREAM: HOW is `length` (with Content-Length, NO_ERROR), `open` (without, NO_ERROR) or `error` (with,
INTERNAL_ERROR). Every later one is answered right, ranges included. HOW `old` is answered over HTTP/1.1 only: over
HTTP/2, GOAWAY with HTTP_1_1_REQUIRED ends the connection.
"""

import socket
import ssl
import sys
import threading

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived, StreamReset, ConnectionTerminated

SIZE = 200_000
seen = set()
seen_lock = threading.Lock()


def body_of(path):
    number = int(path.rsplit("/", 1)[1])
    return bytes((index * 31 + number) % 251 for index in range(SIZE))


def is_first(path):
    with seen_lock:
        if path in seen:
            return False
        seen.add(path)
        return True


class Answer:
    """What is still to be sent on one stream, and how it ends."""

    def __init__(self, data, reset=None):
        self.data = data
        self.reset = reset


def answer(connection, stream, headers):
    path = headers[":path"]
    how = path.split("/")[1]
    body = body_of(path)
    common = [("etag", '"v1"'), ("accept-ranges", "bytes")]
    length = [] if how == "open" else [("content-length", str(len(body)))]
    if is_first(path):
        connection.send_headers(stream, [(":status", "200")] + common + length)
        code = ErrorCodes.INTERNAL_ERROR if how == "error" else ErrorCodes.NO_ERROR
        return Answer(body[: SIZE // 2], code)
    wanted = headers.get("range")
    if wanted is None:
        connection.send_headers(stream, [(":status", "200")] + common + length)
        return Answer(body)
    start = int(wanted.removeprefix("bytes=").rstrip("-"))
    if start >= len(body):
        connection.send_headers(stream, [(":status", "416"), ("content-range", f"bytes */{len(body)}")])
        return Answer(b"")
    rest = body[start:]
    extent = ("content-range", f"bytes {start}-{len(body) - 1}/{len(body)}")
    connection.send_headers(
        stream, [(":status", "206"), extent, ("content-length", str(len(rest)))] + common
    )
    return Answer(rest)


def send_what_fits(connection, answers):
    """As much of each stream as its window, and the connection's, take."""
    for stream, current in list(answers.items()):
        while current.data:
            room = min(connection.local_flow_control_window(stream), connection.max_outbound_frame_size)
            if room <= 0:
                break
            connection.send_data(stream, current.data[:room])
            current.data = current.data[room:]
        if not current.data:
            if current.reset is None:
                connection.end_stream(stream)
            else:
                connection.reset_stream(stream, current.reset)
            del answers[stream]


def serve(channel):
    connection = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    channel.sendall(connection.data_to_send())
    answers = {}
    while received := channel.recv(65536):
        for event in connection.receive_data(received):
            if isinstance(event, RequestReceived):
                if dict(event.headers)[":path"].startswith("/old/"):
                    connection.close_connection(ErrorCodes.HTTP_1_1_REQUIRED, last_stream_id=0)
                    channel.sendall(connection.data_to_send())
                    while channel.recv(65536):
                        pass  # to close it now would reset it, and lose the GOAWAY
                    return
                answers[event.stream_id] = answer(connection, event.stream_id, dict(event.headers))
            elif isinstance(event, StreamReset):
                answers.pop(event.stream_id, None)
            elif isinstance(event, ConnectionTerminated):
                return
        send_what_fits(connection, answers)
        channel.sendall(connection.data_to_send())


def serve_old(channel):
    received = b""
    while b"\r\n\r\n" not in received:
        received += channel.recv(65536)
    body = body_of(received.split()[1].decode())
    channel.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def handle(plain, context):
    try:
        with context.wrap_socket(plain, server_side=True) as channel:
            (serve if channel.selected_alpn_protocol() == "h2" else serve_old)(channel)
    except OSError:
        pass  # the client went away, which is its right


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2", "http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=handle, args=(plain, context), daemon=True).start()


main()
