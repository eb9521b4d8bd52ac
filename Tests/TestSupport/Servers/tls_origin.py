"""An HTTPS origin that asks for a client certificate and serves without one too, and tells what each request brought.

Arguments: certificate, key, the authority of client certificates or -, and then PATH=BODY or PATH>LOCATION for each
route. It prints its port, and for each request PATH|X-Key|Cookie|certificate|Authorization, - for what was not sent.
"""

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

certificate, key, authority = sys.argv[1:4]
routes = {}
for route in sys.argv[4:]:
    cut = min(route.index(mark) for mark in "=>" if mark in route)
    routes[route[:cut]] = (route[cut], route[cut + 1:])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        sent = [self.headers.get(name, "-") for name in ("X-Key", "Cookie", "Authorization")]
        sent.insert(2, "yes" if self.connection.getpeercert() else "-")
        print("|".join([self.path] + sent), flush=True)
        kind, text = routes.get(self.path, (None, ""))
        body = b"" if kind == ">" else text.encode()
        self.send_response({"=": 200, ">": 302, None: 404}[kind])
        if kind == ">":
            self.send_header("Location", text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that went


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
if authority != "-":
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_OPTIONAL
server = Server(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
