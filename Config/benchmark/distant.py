"""dlm's own demonstration server as a distant origin: 50 ms to the first byte, 4 MB/s a connection."""

import concurrent.futures
import hashlib
import subprocess
import urllib.request

from contents import write_file_set
from server import Server


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
