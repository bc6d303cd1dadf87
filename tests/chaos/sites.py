"""Real peers of one network as processes with TLS, and the optimum that they must reach.

The optimum is computed here by Newton's method in plain Python, from the files that the sites have. It shares no code
with the program under test.
"""
import csv
import json
import math
import os
import pathlib
import queue
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

L2 = 0.01
COLUMNS = ["age", "bmi", "dose"]
TOLERANCE = 1e-9
ACCURACY = 1e-6  # relative error of a model that counts as the optimum


def solve(matrix, vector):
    """The solution of a linear system, by elimination with pivots."""
    size = len(vector)
    rows = [list(matrix[i]) + [vector[i]] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    solution = [0.0] * size
    for i in reversed(range(size)):
        rest = sum(rows[i][k] * solution[k] for k in range(i + 1, size))
        solution[i] = (rows[i][size] - rest) / rows[i][i]
    return solution


def newton(sites):
    """argmin over x of the mean over the sites of: mean logistic loss + L2/2 |w|^2. The last entry is the intercept."""
    size = len(sites[0][0][0]) + 1
    x = [0.0] * size
    for _ in range(60):
        gradient = [0.0] * size
        hessian = [[0.0] * size for _ in range(size)]
        for rows in sites:
            weight = 1 / (len(rows) * len(sites))
            for features, label in rows:
                full = features + [1.0]
                margin = sum(a * b for a, b in zip(full, x))
                p = 1 / (1 + math.exp(-margin))
                for i in range(size):
                    gradient[i] += weight * (p - label) * full[i]
                    for k in range(size):
                        hessian[i][k] += weight * p * (1 - p) * full[i] * full[k]
        for i in range(size - 1):
            gradient[i] += L2 * x[i]
            hessian[i][i] += L2
        step = solve(hessian, gradient)
        x = [a - b for a, b in zip(x, step)]
        if max(abs(value) for value in step) < 1e-14:
            break
    return x


def gradient(rows, x):
    """Of the mean logistic loss + L2/2 |w|^2 of one site."""
    result = [L2 * value for value in x[:-1]] + [0.0]
    for features, label in rows:
        full = features + [1.0]
        p = 1 / (1 + math.exp(-sum(a * b for a, b in zip(full, x))))
        result = [g + (p - label) * a / len(rows) for g, a in zip(result, full)]
    return result


def make_rows(seed, count, shift=0.0):
    """Rows of (features, label), with labels that depend on the features. `shift` changes what the labels mean."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        features = [round(draw.gauss(0, 1), 3) for _ in COLUMNS]
        margin = (1 + shift) * features[0] - features[1] + 0.5 * shift - 0.3
        rows.append((features, int(draw.random() < 1 / (1 + math.exp(-margin)))))
    return rows


def write_rows(path, rows, order=None, labels=("no", "yes"), columns=COLUMNS):
    order = order or list(range(len(columns)))
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([columns[k] for k in order] + ["outcome"])
        for features, label in rows:
            out.writerow([features[k] for k in order] + [labels[label]])


def read_rows(path):
    with open(path, newline="") as file:
        return [([float(row[name]) for name in COLUMNS], int(row["outcome"] == "yes")) for row in csv.DictReader(file)]


class Sites:
    """A network made with `grove network init`, whose peers are started and disturbed one by one."""

    def __init__(self, grove, folder, count=4, graph="ring", seed=1, rows=60, **settings):
        self.grove, self.count = str(grove), count
        self.folder = pathlib.Path(folder)
        self.processes = {}
        data = self.folder.with_suffix(".csv")
        write_rows(data, [row for k in range(count) for row in make_rows(1000 * seed + k, rows)])
        assignment = self.folder.with_suffix(".sites")
        assignment.write_text("".join(f"{k}\n" for k in range(count) for _ in range(rows)))
        subprocess.run([self.grove, "network", "init", "--agents", str(count), "--graph", graph, "--data", str(data),
                        "--label-column", "outcome", "--partition", str(assignment), "--l2", str(L2), "--intercept",
                        "--tolerance", str(TOLERANCE), "--out", str(self.folder), "--quiet"], check=True)
        for k in range(count):
            self.set(k, **{"linger": 3, "forget_after": 60, "contact_wait": 0.3, "checkpoint_every": 0.3, **settings})

    def name(self, k):
        return f"peer-{k}"

    def home(self, k):
        return self.folder / self.name(k)

    def state(self, k):
        return self.home(k) / "state"

    def set(self, k, **settings):
        """Changes keys of peer.toml; `forget_after` stands for forget-after, and None removes a key."""
        toml = self.home(k) / "peer.toml"
        lines = toml.read_text().splitlines()
        for key, value in settings.items():
            key = key.replace("_", "-")
            lines = [line for line in lines if not line.startswith(key + " = ")]
            if value is not None:
                text = json.dumps(value) if not isinstance(value, bool) else str(value).lower()
                lines.insert(0, f"{key} = {text}")
        toml.write_text("\n".join(lines) + "\n")

    def get(self, k, key):
        for line in (self.home(k) / "peer.toml").read_text().splitlines():
            if line.startswith(key + " = "):
                return json.loads(line.split(" = ", 1)[1])
        return None

    def start(self, *which):
        for k in which or range(self.count):
            log = open(self.home(k) / "log.txt", "a")
            self.processes[k] = subprocess.Popen([self.grove, "peer", "--config", str(self.home(k) / "peer.toml")],
                                                 stdout=log, stderr=log)
            log.close()

    def kill(self, k, how=signal.SIGKILL):
        os.kill(self.processes[k].pid, how)
        if how in (signal.SIGKILL, signal.SIGTERM):
            self.processes[k].wait()

    def codes(self, *which, limit=120):
        """Waits for the ends of the peers. A peer that does not end in time hangs."""
        until = time.monotonic() + limit
        result = {}
        for k in which or range(self.count):
            try:
                result[k] = self.processes[k].wait(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                result[k] = "hung"
        return result

    def end_all(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()

    def log(self, k):
        path = self.home(k) / "log.txt"
        return path.read_text() if path.exists() else ""

    def wait_for(self, condition, limit=60):
        until = time.monotonic() + limit
        while not condition():
            assert time.monotonic() < until, "never true"
            time.sleep(0.05)

    def status(self):
        answer = subprocess.run([self.grove, "network", "status", str(self.folder), "--json"], capture_output=True,
                                text=True)
        return json.loads(answer.stdout) if answer.stdout else {}

    def wait_for_work(self, *which, activations=20):
        def worked():
            status = self.status()
            return all((status.get(self.name(k)) or {}).get("activations", 0) >= activations for k in which)
        self.wait_for(worked)

    def wait_for_checkpoints(self, *which):
        """Until the peers work. A status takes so long on a busy machine that the peers could end first."""
        self.wait_for(lambda: all((self.state(k) / "checkpoint.bin").exists() for k in which))

    def slow(self, *which):
        """Delays messages, so that there is time to disturb the peers."""
        for k in which or range(self.count):
            self.set(k, fault_delay=0.1, heartbeat=0.4)

    def quick(self, *which):
        for k in which or range(self.count):
            self.set(k, fault_delay=None, heartbeat=None)

    def shard(self, k):
        return self.home(k) / "shard.csv"

    def optimum(self, *which):
        return newton([read_rows(self.shard(k)) for k in which or range(self.count)])

    def model(self, k):
        path = self.state(k) / "model.json"
        if not path.exists():
            return None
        model = json.loads(path.read_text())
        by_name = dict(zip(model["columns"], model["coefficients"]))
        return [by_name[name] for name in COLUMNS] + [model["intercept"]]

    def error(self, k, best):
        model = self.model(k)
        if model is None:
            return math.inf
        return math.dist(model, best) / math.hypot(*best)

    def summary(self, k):
        path = self.state(k) / "summary.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def forget(self, *which):
        for k in which:
            shutil.rmtree(self.state(k), ignore_errors=True)


class Proxy:
    """A TCP proxy in front of one listening address, whose directions can be cut without closing a connection."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.open = {"there": True, "back": True}
        self.delay = 0  # seconds, in each direction
        self.seen = {"there": bytearray(), "back": bytearray()}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(self.target, timeout=5)
                server.settimeout(None)
            except OSError:  # the peer does not listen yet; the caller must see that at once
                client.close()
                continue
            for source, sink, way in ((client, server, "there"), (server, client, "back")):
                threading.Thread(target=self.forward, args=(source, sink, way), daemon=True).start()

    def forward(self, source, sink, way):
        late = queue.Queue(maxsize=10000)

        def send():
            try:
                while True:
                    due, data = late.get()
                    time.sleep(max(0.0, due - time.monotonic()))
                    while not self.open[way]:
                        time.sleep(0.05)
                    if not data:
                        break
                    sink.sendall(data)
            except OSError:
                pass
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        threading.Thread(target=send, daemon=True).start()
        try:
            while True:
                data = source.recv(65536)
                self.seen[way] += data
                late.put((time.monotonic() + self.delay, data))
                if not data:
                    return
        except OSError:
            late.put((time.monotonic(), b""))
            return


def put_proxies(sites):
    """One proxy for every link. Returns them by the pair of peers; the first of the pair dials."""
    proxies = {}
    for k in range(sites.count):
        addresses = []
        for entry in sites.get(k, "neighbours"):
            name, address = entry.split("@")
            other = int(name.split("-")[1])
            if k < other:
                proxies[k, other] = Proxy(address)
                address = proxies[k, other].address
            addresses.append(f"{name}@{address}")
        sites.set(k, neighbours=addresses)
    return proxies
