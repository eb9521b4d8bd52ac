"""A SOCKS5 proxy (RFC 1928, RFC 1929) that refuses as it is told: what no packaged one does on request.

    /usr/bin/python3 socks_server.py LOGIN STEP...

It prints its port, and then a line for each connection: what it was asked for, and what it did. LOGIN is `user:password`,
or `-` where it wants none. Each connection takes the next STEP, and all further ones the last:

    go        connects as asked, and answers what came of that (4 for a host that cannot be reached, 5 for one that refuses)
    NUMBER    a reply of that code (RFC 1928 §6), and the end
    close     the end, once it was asked
    silent    nothing more, until the client goes away
    http      words of HTTP instead of SOCKS
"""

import select
import socket
import struct
import sys
import threading

ADDRESS_IPV4, ADDRESS_NAME, ADDRESS_IPV6 = 1, 3, 4
SUCCEEDED, HOST_UNREACHABLE, REFUSED = 0, 4, 5
NO_LOGIN, PASSWORD, NO_METHOD = 0, 2, 255

login = None if sys.argv[1] == "-" else sys.argv[1]
steps = sys.argv[2:] or ["go"]
lock = threading.Lock()


def next_step():
    with lock:
        return steps.pop(0) if len(steps) > 1 else steps[0]


def say(*words):
    with lock:
        print(*words, flush=True)


def exactly(channel, count):
    data = b""
    while len(data) < count:
        piece = channel.recv(count - len(data))
        if not piece:
            raise OSError("the client went away")
        data += piece
    return data


def takes_login(channel, methods):
    """The method, and where it is a password whether that is the right one."""
    if login is None:
        channel.sendall(bytes([5, NO_LOGIN]))
        return True
    if PASSWORD not in methods:
        channel.sendall(bytes([5, NO_METHOD]))
        return False
    channel.sendall(bytes([5, PASSWORD]))
    user = exactly(channel, exactly(channel, 2)[1])
    password = exactly(channel, exactly(channel, 1)[0])
    is_right = f"{user.decode()}:{password.decode()}" == login
    channel.sendall(bytes([1, 0 if is_right else 1]))
    return is_right


def target(channel):
    kind = exactly(channel, 4)[3]
    if kind == ADDRESS_NAME:
        host = exactly(channel, exactly(channel, 1)[0]).decode()
    elif kind == ADDRESS_IPV6:
        host = socket.inet_ntop(socket.AF_INET6, exactly(channel, 16))
    else:
        host = socket.inet_ntop(socket.AF_INET, exactly(channel, 4))
    return host, struct.unpack(">H", exactly(channel, 2))[0]


def reply(channel, code):
    channel.sendall(bytes([5, code, 0, ADDRESS_IPV4]) + bytes(6))


def relay(one, other):
    while True:
        for ready in select.select([one, other], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (other if ready is one else one).sendall(data)


def serve(channel, step):
    if step == "http":
        channel.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        return say("http")
    count = exactly(channel, 2)[1]
    if not takes_login(channel, exactly(channel, count)):
        return say("login refused")
    host, port = target(channel)
    if step == "go":
        try:
            server = socket.create_connection((host, port), timeout=30)
        except ConnectionRefusedError:
            reply(channel, REFUSED)
            return say(host, port, "refused")
        except OSError:
            reply(channel, HOST_UNREACHABLE)
            return say(host, port, "unreachable")
        say(host, port, "connected")
        with server:
            reply(channel, SUCCEEDED)
            relay(channel, server)
    else:
        say(host, port, step)
        if step == "silent":
            channel.recv(1)
        elif step != "close":
            reply(channel, int(step))


def handle(channel, step):
    with channel:
        try:
            serve(channel, step)
        except OSError:
            pass  # the client or the server went away, which is its right


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        channel, _ = listener.accept()
        threading.Thread(target=handle, args=(channel, next_step()), daemon=True).start()


main()
