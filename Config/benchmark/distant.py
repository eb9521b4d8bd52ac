"""Distant origins: dlm's own demonstration server, 50 ms to the first byte, 4 MB/s a connection; and `fat_origin.py`."""

import concurrent.futures
import hashlib
import pathlib
import subprocess
import sys
import urllib.request

from contents import write_file_set
from server import Server, free_ports


class DistantOrigin(Server):
    """A running server with files of one size; their digests come from a client that is not measured."""

    def __init__(self, dlm, folder, count, size):
        super().__init__(
            [dlm, "demo", "--serve", "--latency", "50", "--connection-rate", "4000000",
             "--files", f"{count}x{size}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.folder, self.count, self.size = folder, count, size

    def prepare(self):
        addresses = [self.process.stdout.readline().strip() for _ in range(self.count)]
        if not addresses[-1]:
            raise RuntimeError("dlm demo --serve printed too few addresses")
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            digests = list(pool.map(self.fetch_digest, addresses))
        names = [address.rpartition("/")[2] for address in addresses]
        digests = dict(zip(names, digests))
        self.files = write_file_set(self.folder, addresses, digests, self.count * self.size)

    def fetch_digest(self, address):
        # A proxy of the user's must not come between.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address) as answer:
            body = answer.read()
        if len(body) != self.size:
            raise RuntimeError(f"{address} has {len(body)} bytes, not {self.size}")
        return hashlib.sha256(body).digest()

    def __exit__(self, *_):
        super().__exit__()
        self.process.stdout.close()


class FatOrigin(Server):
    """A running server with one file, whose name and digest are known."""

    def __init__(self, folder, path, digest):
        self.folder, self.path, self.digest, self.port = folder, path, digest, free_ports(1)[0]
        program = pathlib.Path(__file__).with_name("fat_origin.py")
        super().__init__([sys.executable, "-I", str(program), str(self.port), str(path)])

    def prepare(self):
        self.wait_for(self.port, self.folder / "none.log")
        address = f"http://127.0.0.1:{self.port}/{self.path.name}"
        self.files = write_file_set(self.folder, [address], {self.path.name: self.digest}, self.path.stat().st_size)
