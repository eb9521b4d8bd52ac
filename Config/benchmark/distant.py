"""dlm's own demonstration server as a distant origin: 50 ms to the first byte, 4 MB/s a connection."""

import concurrent.futures
import hashlib
import subprocess
import urllib.request

from contents import write_file_set


class DistantOrigin:
    """A running server with files of one size; their digests come from a client that is not measured."""

    def __init__(self, dlm, folder, count, size):
        self.process = subprocess.Popen(
            [dlm, "demo", "--serve", "--latency", "50", "--connection-rate", "4000000",
             "--files", f"{count}x{size}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True)  # Ctrl-C is for the benchmark; it ends the server
        self.folder, self.count, self.size = folder, count, size

    def __enter__(self):
        try:
            addresses = [self.process.stdout.readline().strip() for _ in range(self.count)]
            if not addresses[-1]:
                raise RuntimeError("dlm demo --serve printed too few addresses")
            with concurrent.futures.ThreadPoolExecutor(32) as pool:
                digests = list(pool.map(self.fetch_digest, addresses))
            names = [address.rpartition("/")[2] for address in addresses]
            digests = dict(zip(names, digests))
            self.files = write_file_set(self.folder, addresses, digests, self.count * self.size)
        except BaseException:
            self.__exit__()
            raise
        return self

    def fetch_digest(self, address):
        # A proxy of the user's must not come between.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address) as answer:
            body = answer.read()
        if len(body) != self.size:
            raise RuntimeError(f"{address} has {len(body)} bytes, not {self.size}")
        return hashlib.sha256(body).digest()

    def __exit__(self, *_):
        # No SIGINT: the server ignores it if whoever started the benchmark in the background had it ignored.
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
