"""An HTTP/2 origin over TLS and ALPN that resets streams: what no C server does on request.

    /usr/bin/python3 http2_origin.py CERTIFICATE KEY

It prints its port. /HOW/N is a file of 200,000 bytes, a pattern of N. The first request of each is answered by half of
it and RST_STREAM: HOW is `length` (with Content-Length, NO_ERROR), `open` (without, NO_ERROR) or `error` (with,
INTERNAL_ERROR). Every later one is answered right, ranges included.
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
                answers[event.stream_id] = answer(connection, event.stream_id, dict(event.headers))
            elif isinstance(event, StreamReset):
                answers.pop(event.stream_id, None)
            elif isinstance(event, ConnectionTerminated):
                return
        send_what_fits(connection, answers)
        channel.sendall(connection.data_to_send())


def handle(plain, context):
    try:
        with context.wrap_socket(plain, server_side=True) as channel:
            serve(channel)
    except OSError:
        pass  # the client went away, which is its right


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=handle, args=(plain, context), daemon=True).start()


main()
