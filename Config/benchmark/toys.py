"""Servers that take little at a time: Python's own, and an nginx that refuses what exceeds four connections."""

import subprocess
import sys

from contents import make_file, write_file_set
from server import Server, free_ports

# Each response takes a twentieth of a second, so that as many as come at a time are there at a time.
REFUSING = """
daemon off;
pid {prefix}/nginx.pid;
error_log {prefix}/error.log;
worker_processes 1;
{user}
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    limit_conn_zone $binary_remote_addr zone=clients:1m;
    limit_conn_status 503;
    server {{
        listen 127.0.0.1:{port};
        root {prefix}/root;
        limit_conn clients 4;
        limit_rate 2m;
    }}
}}
"""


class Toy(Server):
    """A running server with files of one size."""

    def __init__(self, prefix, port, count, size, command, **streams):
        self.prefix, self.port, self.count, self.size = prefix, port, count, size
        super().__init__(command, **streams)

    def prepare(self):
        self.wait_for(self.port, self.prefix / "error.log")
        digests = {f"{index}.bin": make_file(self.prefix / "root" / f"{index}.bin", self.size)
                   for index in range(self.count)}
        addresses = [f"http://127.0.0.1:{self.port}/{name}" for name in digests]
        self.files = write_file_set(self.prefix / "list", addresses, digests, self.count * self.size)


def python_server(prefix, count, size):
    """Five connections wait to be accepted; one more is tried again by the kernel a second later."""
    (prefix / "root").mkdir(parents=True)
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "http.server", "-d", str(prefix / "root"), "-b", "127.0.0.1", str(port)]
    return Toy(prefix, port, count, size, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def refusing_server(prefix, program, user, count, size):
    (prefix / "root").mkdir(parents=True)
    port = free_ports(1)[0]
    (prefix / "nginx.conf").write_text(REFUSING.format(prefix=prefix, port=port, user=user))
    return Toy(prefix, port, count, size, [program, "-c", str(prefix / "nginx.conf"), "-e", str(prefix / "error.log")])
