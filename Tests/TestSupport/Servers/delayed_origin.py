"""An origin that takes its time, as Python's own server does: it accepts connections slowly, and of more than five that
wait for that it drops the next.

    /usr/bin/python3 delayed_origin.py PORT SECONDS one|threads

It prints its port (PORT may be 0) once it accepts connections. Each request takes SECONDS; all at a time with `threads`,
which also keeps connections (HTTP/1.1).
"""

import http.server
import sys
import time

port, delay, threads = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "threads"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1" if threads else "HTTP/1.0"

    def do_GET(self):
        time.sleep(delay)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"body")

    def log_message(self, *_):
        pass


server = (http.server.ThreadingHTTPServer if threads else http.server.HTTPServer)(("127.0.0.1", port), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
