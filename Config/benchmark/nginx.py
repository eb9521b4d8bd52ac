"""An nginx of the benchmark's own on loopback, plain and over TLS, and the files that it serves."""

import os
import pathlib
import subprocess

from contents import digest_of, make_file, write_file_set
from server import Server, free_ports

# One worker, so that it does not take every core from the tools; it is the same for all of them.
# The backlog takes thousands of connections at once: else a SYN is lost and costs a second.
CONFIGURATION = """
daemon off;
pid {prefix}/nginx.pid;
worker_processes 1;
worker_rlimit_nofile {descriptors};
{user}
events {{ worker_connections {connections}; multi_accept on; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    server {{
        listen 127.0.0.1:{plain_port} backlog=16384;
        listen 127.0.0.1:{tls_port} ssl backlog=16384;
        listen 127.0.0.1:{http2_port} ssl http2 backlog=16384;
        ssl_certificate {prefix}/certificate.pem;
        ssl_certificate_key {prefix}/key.pem;
        root {prefix}/files;
        location /slow/ {{ limit_rate 16k; }}
        location /many/ {{ rewrite ^ /same/4096.bin break; }}
        location /million/ {{ rewrite ^ /same/40.bin break; }}
        location /named/ {{ rewrite ^ /same/4096.bin break; }}
        location /fresh/ {{ alias {prefix}/files/small/; add_header Cache-Control max-age=86400; }}
    }}
}}
"""

# Debian's and Alpine's, Fedora's, and openSUSE's.
SYSTEM_AUTHORITIES = [pathlib.Path(path) for path in (
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")]


class Nginx(Server):
    """A running server; `files` and `same_file` make what they serve when it is asked for first."""

    def __init__(self, prefix, program, descriptors):
        self.prefix = prefix
        (prefix / "files").mkdir(parents=True)
        self.plain_port, tls_port, http2_port = free_ports(3)
        self.bases = {"plain": f"http://127.0.0.1:{self.plain_port}", "tls": f"https://127.0.0.1:{tls_port}",
                      "http2": f"https://127.0.0.1:{http2_port}"}
        self.certificate = prefix / "authorities.pem"  # for the tools
        self.digests = {}  # by folder, a list
        self.make_certificate()
        (prefix / "nginx.conf").write_text(CONFIGURATION.format(
            prefix=prefix, plain_port=self.plain_port, tls_port=tls_port, http2_port=http2_port,
            descriptors=descriptors,
            # A limited connection holds two descriptors, its socket and its file.
            connections=descriptors // 2,
            # The folder is root's own if root runs this.
            user="user root;" if os.geteuid() == 0 else ""))
        super().__init__([program, "-p", str(prefix), "-c", "nginx.conf", "-e", "error.log"])

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", str(self.prefix / "key.pem"), "-out", str(self.prefix / "certificate.pem")],
            check=True, capture_output=True)
        # A tool that parses the system's certificates for each connection shows it only if they are in the file.
        system = [path.read_text() for path in SYSTEM_AUTHORITIES if path.exists()]
        self.certificate.write_text("".join([*system[:1], (self.prefix / "certificate.pem").read_text()]))

    def prepare(self):
        self.wait_for(self.plain_port, self.prefix / "error.log")

    # Files

    def files(self, folder, count, size, over="plain"):
        """The first `count` files of a folder, `over` one of `bases`. Each has bytes of its own, so that no mix-up
        stays unseen."""
        place = self.prefix / "files" / folder
        place.mkdir(exist_ok=True)
        digests = self.digests.setdefault(folder, [])
        digests += [make_file(place / f"{index}.bin", size) for index in range(len(digests), count)]
        return self.file_set(folder, dict(zip(names(count), digests)), size, over)

    def fresh_files(self, count, size):
        """The files of the folder `small`, which the server calls fresh for a day."""
        digests = self.files("small", count, size).digests
        return self.file_set("fresh", digests, size)

    def same_file(self, folder, count, size):
        """So many names for one file of that size, where as many files would not fit into memory."""
        return self.file_set(folder, dict.fromkeys(names(count), self.same_digest(size)), size)

    def same_digest(self, size):
        place = self.prefix / "files" / "same"
        place.mkdir(exist_ok=True)
        path = place / f"{size}.bin"
        # Once: another list may name it already.
        return digest_of(path) if path.exists() else make_file(path, size)

    def named_file(self, count, names, size):
        """So many addresses that give only a few different names, for one file of that size."""
        numbered = [(index % names, index // names) for index in range(count)]
        digest = self.same_digest(size)
        addresses = [f"{self.bases['plain']}/named/download-{name}?id={number}" for name, number in numbered]
        # As dlm numbers them, by the order of the list.
        digests = {f"download-{name}.{number}" if number else f"download-{name}": digest for name, number in numbered}
        place = self.prefix / "lists" / f"named-{count}"
        return write_file_set(place, addresses, digests, size * count, are_names_told=True)

    def file_set(self, folder, digests, size, over="plain"):
        addresses = (f"{self.bases[over]}/{folder}/{name}" for name in digests)
        place = self.prefix / "lists" / f"{folder}-{len(digests)}-{over}"
        return write_file_set(pathlib.Path(place), addresses, digests, size * len(digests))


def names(count):
    return [f"{index}.bin" for index in range(count)]
