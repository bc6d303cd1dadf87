"""Peers that fit a formula without TLS, and the bytes that they send."""
import pathlib
import random
import struct
import subprocess

from sites import Sites, put_proxies


class FitSites(Sites):
    """Sites on a path, with the columns y, x and z. All cells are multiples of 1/16, so that sums are exact."""

    def __init__(self, grove, folder, count, seed=1):
        self.grove, self.count = str(grove), count
        self.folder, self.processes, self.rows = pathlib.Path(folder), {}, []
        draw, files = random.Random(seed), []
        for k in range(count):
            self.rows.append([(draw.randrange(-800, 800) / 8, draw.randrange(1, 999) / 8, draw.randrange(1, 999) / 16)
                              for _ in range(40 + 7 * k)])
            files.append(self.folder.with_name(f"{self.folder.name}-{k}.csv"))
            files[k].write_text("y,x,z\n" + "".join(f"{y},{x},{z}\n" for y, x, z in self.rows[k]))
        subprocess.run([self.grove, "network", "init", "--formula", "y ~ x + z", "--family", "gaussian", "--data",
                        ",".join(map(str, files)), "--graph", "path", "--out", str(self.folder), "--quiet",
                        "--sums", "masked" if count > 2 else "open"], check=True)
        for k in range(count):
            self.set(k, insecure=True, linger=3, contact_wait=0.3, disclosure="off", checkpoint_every=0.3)
        self.proxies = put_proxies(self)

    def bytes_sent(self):
        return b"".join(bytes(seen) for proxy in self.proxies.values() for seen in proxy.seen.values())

    def numbers(self, k):
        """What the site has to hide: its sums of columns, of their squares and products."""
        sums = {}
        for i, a in enumerate("yxz"):
            sums[a] = sum(row[i] for row in self.rows[k])
            for j, b in enumerate("yxz"):
                if i <= j:
                    sums[a + b] = sum(row[i] * row[j] for row in self.rows[k])
        return sums


def patterns(number):
    """The bytes of a number as they would be sent in the open: a double, and the pieces of 96 bits that lie around the
    point of a number in fixed point, each shifted by 16 bits in two words of 64."""
    yield struct.pack("<d", number)
    yield struct.pack("<d", -number)
    whole = abs(int(number * 2**64)) << 128
    for piece in (1, 2):
        shifted = (whole >> (96 * piece) & (2**96 - 1)) << 16
        shifted = shifted if number >= 0 else -shifted % 2**128
        if shifted:
            low, high = shifted % 2**64, shifted >> 64
            yield struct.pack("<QQ", low, high)


def found_in(sent, numbers):
    return {name for name, number in numbers.items() if any(pattern in sent for pattern in patterns(number))}
