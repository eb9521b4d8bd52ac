"""An Apache with few workers on loopback, as small hosts have it: each kept connection holds a worker."""

import os

from contents import make_file, write_file_set
from server import Server, free_ports

# Prefork: a worker is a process that serves one connection at a time, and waits for its next request as long as
# KeepAliveTimeout (Debian's is 5 s). Connections beyond the workers wait in the kernel's queue.
CONFIGURATION = """
ServerRoot "{prefix}"
ServerName localhost
Listen 127.0.0.1:{port}
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
{user}
PidFile "{prefix}/httpd.pid"
Mutex fcntl:{prefix}
ErrorLog "{prefix}/error.log"
DocumentRoot "{prefix}/root"
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 100
StartServers {workers}
MinSpareServers 1
MaxSpareServers {workers}
ServerLimit {workers}
MaxRequestWorkers {workers}
<Directory "{prefix}/root">
    Require all granted
</Directory>
"""
MODULES = "/usr/lib/apache2/modules"


class Apache(Server):
    """A running server with files of the given sizes."""

    def __init__(self, prefix, program, workers, sizes):
        self.prefix, self.sizes = prefix, sizes
        (prefix / "root").mkdir(parents=True)
        self.port = free_ports(1)[0]
        (prefix / "httpd.conf").write_text(CONFIGURATION.format(
            prefix=prefix, port=self.port, modules=MODULES, workers=workers,
            # The folder is root's own if root runs this.
            user="User www-data\nGroup www-data" if os.geteuid() == 0 else ""))
        super().__init__([program, "-d", str(prefix), "-f", str(prefix / "httpd.conf"), "-D", "FOREGROUND"])

    def prepare(self):
        self.wait_for(self.port, self.prefix / "error.log")
        digests = {f"{index}.bin": make_file(self.prefix / "root" / f"{index}.bin", size)
                   for index, size in enumerate(self.sizes)}
        addresses = [f"http://127.0.0.1:{self.port}/{name}" for name in digests]
        self.files = write_file_set(self.prefix / "list", addresses, digests, sum(self.sizes))
