"""Real peers of a study as processes. The optimum is that of sites.py."""
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from sites import ACCURACY, COLUMNS, L2, Sites, make_rows, newton, read_rows, write_rows

NAMES = ["amsterdam", "berlin", "cork", "dublin", "essen"]


def free_addresses(count):
    """Below the ports that the system gives to outgoing connections, so that they stay free."""
    found, port = [], 21000 + time.time_ns() % 9000
    while len(found) < count:
        port += 1
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                found.append(f"127.0.0.1:{port}")
            except OSError:
                pass
    return found


class Study(Sites):
    """Sites in a folder each, in a ring, that have accepted one study. The last one only dials."""

    def __init__(self, grove, folder, weighting="sample", days=730):
        self.grove, self.count, self.weighting = str(grove), len(NAMES), weighting
        self.folder = pathlib.Path(folder)
        self.processes, self.tables = {}, ["table.csv"] * self.count
        self.addresses = free_addresses(self.count)
        for k, address in enumerate(self.addresses):
            self.home(k).mkdir(parents=True)
            self.write(k, make_rows(9000 + k, 60 + 20 * k))
            self.run(k, "site", "new", NAMES[k], "--listen", address, "--days", str(days),
                     *(["--outbound-only"] if k + 1 == self.count else []))
        for k in range(self.count):
            for other in range(self.count):
                if other != k:
                    shutil.copy(self.home(k) / f"{NAMES[k]}.crt", self.home(other))
        self.run(0, "study", "new", "trial", "--graph", "ring", "--members", ",".join(f"{name}.crt" for name in NAMES),
                 "--columns", ",".join(COLUMNS), "--label-column", "outcome", "--labels", "no,yes", "--loss",
                 "logistic", "--l2", str(L2), "--intercept", "--weighting", weighting)
        for k in range(self.count):
            if k > 0:
                shutil.copy(self.home(0) / "trial.study", self.home(k))
            self.accept(k)

    def name(self, k):
        return NAMES[k]

    def state(self, k):
        return self.home(k) / "state/trial"

    def run(self, k, *arguments):
        subprocess.run([self.grove, *arguments], cwd=self.home(k), check=True, capture_output=True, text=True)

    def write(self, k, rows, table="table.csv"):
        self.tables[k] = table
        write_rows(self.home(k) / table, rows)

    def accept(self, k):
        self.run(k, "study", "accept", "trial.study", "--data", self.tables[k], "--yes")

    def start(self, *which):
        for k in which or range(self.count):
            with open(self.home(k) / "log.txt", "a") as log:
                self.processes[k] = subprocess.Popen(
                    [self.grove, "peer", "--study", "trial.study", "--data", self.tables[k], "--stay"],
                    cwd=self.home(k), stdout=log, stderr=log)

    def change(self, k, rows):
        """The site ends its peer, accepts the study for another table, and starts again."""
        self.kill(k, signal.SIGTERM)
        self.write(k, rows, f"table{time.monotonic_ns()}.csv")
        self.accept(k)
        self.start(k)

    def retrain(self, k, rows):
        """The table of the site changes while its peer runs, which is told to read it again."""
        self.write(k, rows, self.tables[k])
        self.accept(k)
        self.run(k, "peer", "retrain", "--study", "trial.study")

    def next_version(self):
        """The last site ends its peer. The others accept the study without it, and their peers go on with that."""
        self.count -= 1
        self.kill(self.count, signal.SIGTERM)
        self.run(0, "study", "change", "trial.study", "--remove", NAMES[self.count], "--out", "next.study")
        for k in range(self.count):
            shutil.copy(self.home(0) / "next.study", self.home(k) / "trial.study")
            self.accept(k)
            self.run(k, "peer", "retrain", "--study", "trial.study")

    def optimum(self):
        tables = [read_rows(self.home(k) / self.tables[k]) for k in range(self.count)]
        return newton([sum(tables, [])] if self.weighting == "sample" else tables)

    def wait_for_models(self, limit=60):
        """Returns the errors of the models, which are below ACCURACY unless the network hangs."""
        best, until = self.optimum(), time.monotonic() + limit
        while max(errors := [self.error(k, best) for k in range(self.count)]) >= ACCURACY:
            if time.monotonic() > until:
                break
            time.sleep(0.1)
        return errors
