"""A DNS-over-HTTPS server (RFC 8484): every host has the IPv4 address 127.0.0.1 and no other.

    /usr/bin/python3 doh_server.py CERTIFICATE KEY

It prints its port once it accepts connections, and then the name of each question for an IPv4 address, a line each.
"""

import http.server
import ssl
import struct
import sys

IPV4 = 1


def name_end(message):
    place = 12
    while message[place]:
        place += message[place] + 1
    return place + 1


def shown(message, end):
    labels, place = [], 12
    while place < end - 1:
        labels.append(message[place + 1:place + 1 + message[place]].decode())
        place += message[place] + 1
    return ".".join(labels)


def answer(message):
    end = name_end(message)
    kind, = struct.unpack("!H", message[end:end + 2])
    records = b""
    if kind == IPV4:
        print(shown(message, end), flush=True)
        records = b"\xc0\x0c" + struct.pack("!HHIH", IPV4, 1, 60, 4) + bytes([127, 0, 0, 1])
    counts = struct.pack("!HHHH", 1, 1 if records else 0, 0, 0)
    return message[:2] + b"\x81\x80" + counts + message[12:end + 4] + records


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = answer(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/dns-message")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
