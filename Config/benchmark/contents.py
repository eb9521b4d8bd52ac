"""The files that are served, what is asked of them, and whether a folder holds exactly them."""

import dataclasses
import hashlib
import os
import pathlib

BLOCK = 1024 * 1024


@dataclasses.dataclass(frozen=True)
class FileSet:
    """What a command fetches: its addresses in the two forms that tools take, and digests by file name."""
    list_file: pathlib.Path
    curl_config: pathlib.Path
    first_address: str
    digests: dict
    size: int  # of all files together


def write_file_set(folder, addresses, digests, size, are_names_told=False):
    """Writes list and curl's configuration into `folder`, which is made. Where several addresses give one name, curl is
    told each file's, since it would write them over each other; `digests` is then in the addresses' order."""
    folder.mkdir(parents=True, exist_ok=True)
    list_file, curl_config = folder / "list.txt", folder / "curl.cfg"
    first = None
    with open(list_file, "w") as lines, open(curl_config, "w") as config:
        if not are_names_told:
            config.write("remote-name-all\n")
        for address, name in zip(addresses, digests):
            first = first or address
            lines.write(f"{address}\n")
            config.write(f'url = "{address}"\n')
            if are_names_told:
                config.write(f'output = "{name}"\n')
    return FileSet(list_file, curl_config, first, digests, size)


def make_file(path, size):
    """Random bytes, which nothing on the way can compress or take for others; returns their digest."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for start in range(0, size, BLOCK):
            block = os.urandom(min(BLOCK, size - start))
            digest.update(block)
            file.write(block)
    return digest.digest()


def complaint(folder, files, thorough):
    """What is wrong with the folder, or None. Names and sizes always, all bytes only if `thorough`."""
    sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
    if not files:
        return f"wrote {len(sizes)} files" if sizes else None
    size = sum(sizes.values())
    if len(sizes) != len(files.digests) or size != files.size:
        return f"{len(sizes)} files of {size} bytes, not {len(files.digests)} of {files.size}"
    if sizes.keys() != files.digests.keys():
        return f"another name than expected: {min(sizes.keys() - files.digests.keys())}"
    if thorough:
        wrong = [name for name, digest in files.digests.items() if digest_of(folder / name) != digest]
        if wrong:
            return f"{len(wrong)} files with wrong bytes, {wrong[0]} among them"
    return None


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
