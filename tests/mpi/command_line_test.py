#!/usr/bin/env python3
"""`grove train --runtime mpi` on the command line: records, messages, exit codes, shards, checkpoints.

Usage: command_line_test.py GROVE MPIEXEC
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GROVE, MPIEXEC = sys.argv[1:3]
BASE = ["synthetic:ijcnn-like,samples=300", "--agents", "6", "--tolerance", "0"]
SMALL = [*BASE, "--rounds", "20"]


def simulate(*options, command="train"):
    return subprocess.run([GROVE, command, *options], capture_output=True, text=True, timeout=120)


def mpirun(processes, *options, command="train"):
    return subprocess.run(
        [MPIEXEC, "-np", str(processes), GROVE, command, "--runtime", "mpi", *options],
        capture_output=True, text=True, timeout=120)


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def essence(record):
    """What must not depend on where a run takes place."""
    record.pop("ranks", None)
    for name in ("runtime", "checkpoint", "checkpoint-every", "shards", "data", "partition",
                 "samples"):
        record["config"].pop(name)
    record["outcome"].pop("seconds")
    for row in record["trace"]:
        row.pop("seconds")
    return record


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def file(self, name):
        return str(self.path / name)

    def errors(self, result):
        return [line for line in result.stderr.splitlines() if line.startswith("grove:")]


    def tables(self):
        """Four sites; y is 0 or 1."""
        files = []
        for site in range(4):
            rows = "".join(f"{(7 * k * k + 3 * k + site) % 5 % 2},{k % 13 + site},{'abc'[k % 3]}\n"
                           for k in range(30))
            files.append(self.file(f"site{site}.csv"))
            pathlib.Path(files[-1]).write_text("y,x,p\n" + rows)
        return files

    def test_a_fit_has_the_bits_of_the_simulator(self):
        for family in ("binomial", "poisson"):
            options = ["y ~ x + p", *self.tables(), "--family", family, "--quiet", "--robust"]
            alone, together = self.file("alone.json"), self.file("together.json")
            one = simulate(*options, "--model", alone, command="fit")
            self.assertEqual(one.returncode, 0, one.stderr)
            for processes in (2, 3):
                many = mpirun(processes, *options, "--model", together, command="fit")
                self.assertEqual(many.returncode, 0, many.stderr)
                self.assertEqual(read(alone), read(together))

    def test_a_fit_names_the_site_that_cannot_take_part(self):
        tables = self.tables()
        pathlib.Path(tables[3]).write_text("y,x,p\n1,2,a\n0,oops,b\n1,3,a\n")
        result = mpirun(2, "y ~ x", *tables, "--family", "binomial", command="fit")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(self.errors(result)), 1, result.stderr)
        self.assertIn("site3.csv:3", result.stderr)

    def test_record_is_that_of_the_simulator_and_printed_once(self):
        one = simulate(*SMALL, "--record", self.file("one.json"))
        three = mpirun(3, *SMALL, "--record", self.file("three.json"))
        self.assertEqual((one.returncode, three.returncode), (0, 0), three.stderr)
        self.assertEqual(essence(read(self.file("one.json"))), essence(read(self.file("three.json"))))
        self.assertEqual(three.stdout.count("stopped at the limit of 20 rounds"), 1)
        ranks = read(self.file("three.json"))["ranks"]
        self.assertEqual([rank["agents"] for rank in ranks], [2, 2, 2])
        for rank in ranks:
            self.assertGreater(rank["compute_seconds"], 0)
            self.assertGreater(rank["exchange_seconds"], 0)
            self.assertGreater(rank["wait_seconds"], 0)

    def test_noise_is_that_of_the_simulator(self):
        options = ["synthetic:ijcnn-like,samples=300", "--agents", "6", "--weighting", "sample",
                   "--method", "tree-newton", "--sums", "masked", "--rounds", "2000",
                   "--dp", "epsilon=1,delta=1e-6,bound=3,steps=5"]
        alone, together = self.file("alone.json"), self.file("together.json")
        self.assertEqual(simulate(*options, "--record", alone).returncode, 0)
        self.assertEqual(mpirun(2, *options, "--record", together).returncode, 0)
        self.assertEqual(read(alone)["outcome"]["status"], "budget_spent")
        self.assertEqual(essence(read(alone)), essence(read(together)))

    def test_compare_gives_the_records_of_the_simulator_and_one_table(self):
        methods = [*SMALL, "--methods", "druid-vl,pg-extra,exact-admm"]
        one = simulate(*methods, "--record", self.file("one.json"), command="compare")
        three = mpirun(3, *methods, "--record", self.file("three.json"), command="compare")
        self.assertEqual((one.returncode, three.returncode), (0, 0), three.stderr)
        runs = [[(run["method"], essence(run["record"])) for run in read(self.file(name))["runs"]]
                for name in ("one.json", "three.json")]
        self.assertEqual([method for method, _ in runs[0]], ["druid-vl", "pg-extra", "exact-admm"])
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(three.stdout.count("pg-extra"), one.stdout.count("pg-extra"))

    def test_tuning_and_seeds_give_what_they_give_in_the_simulator(self):
        options = [*SMALL, "--methods", "druid-vl,nids", "--tune", "--seeds", "2"]
        one = simulate(*options, "--record", self.file("one.json"), command="compare")
        two = mpirun(2, *options, "--record", self.file("two.json"), command="compare")
        self.assertEqual((one.returncode, two.returncode), (0, 0), two.stderr)
        one, two = read(self.file("one.json")), read(self.file("two.json"))
        self.assertEqual(len(one["runs"]), 4)
        self.assertEqual(one["tuning"], two["tuning"])
        self.assertEqual([essence(run["record"]) for run in one["runs"]],
                         [essence(run["record"]) for run in two["runs"]])

    def test_errors_are_printed_once_with_exit_code_2(self):
        for options, wanted in [(["--agents", "none"], "--agents"),
                                (["--agents", "2"], "--agents"),
                                (["no-such-file.svm"], "no-such-file.svm"),
                                (["--shards", "nowhere-{rank}.svm"], "nowhere-0.svm"),
                                (["--record", "/no/such/folder/r.json"], "--record"),
                                (["--runtim", "mpi"], "--runtim")]:
            result = mpirun(3, *options)
            self.assertEqual(result.returncode, 2, (options, result.stderr))
            self.assertEqual(len(self.errors(result)), 1, (options, result.stderr))
            self.assertIn(wanted, self.errors(result)[0])

    def test_divergence_ends_with_exit_code_3_and_one_diagnosis(self):
        result = mpirun(2, *BASE, "--rounds", "200", "--loss", "squared", "--method", "pg-extra",
                        "--step", "1e6")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(len(self.errors(result)), 1, result.stderr)

    def test_several_processes_without_the_mpi_runtime_are_refused(self):
        result = subprocess.run([MPIEXEC, "-np", "2", GROVE, "train", *SMALL],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(self.errors(result)), 1, result.stderr)
        self.assertIn("--runtime", self.errors(result)[0])

    def test_shards_give_what_their_union_gives_in_the_simulator(self):
        # Rows of made-up numbers; process r gets rows r, r+3, ... The last feature and one class
        # are missing from some shards.
        rows = []
        for k in range(60):
            features = [(k * 7 % 11) / 11, (k * 5 % 13) / 13, (k * 3 % 17) / 17]
            label = "+1" if k % 3 == 0 and k % 2 == 0 else "-1"
            text = f"{label} 1:{features[0]!r} 2:{features[1]!r}"
            rows.append(text + (f" 3:{features[2]!r}" if k % 3 == 0 else ""))
        pathlib.Path(self.file("all.svm")).write_text("\n".join(rows) + "\n")
        pathlib.Path(self.file("owner")).write_text("\n".join(str(k % 3) for k in range(60)) + "\n")
        for rank in range(3):
            pathlib.Path(self.file(f"part-{rank}.svm")).write_text("\n".join(rows[rank::3]) + "\n")
        common = ["--agents", "3", "--graph", "path", "--rounds", "30", "--tolerance", "0",
                  "--l2", "0.01", "--penalty", "0.05", "--weighting", "sample"]
        one = simulate(self.file("all.svm"), "--partition", self.file("owner"), *common,
                       "--record", self.file("one.json"))
        self.assertEqual(one.returncode, 0, one.stderr)
        three = mpirun(3, "--shards", self.file("part-{rank}.svm"), *common,
                       "--record", self.file("three.json"))
        self.assertEqual(three.returncode, 0, three.stderr)
        self.assertEqual(essence(read(self.file("one.json"))), essence(read(self.file("three.json"))))

    def test_shards_that_no_process_reads_are_named(self):
        for rank in range(4):
            pathlib.Path(self.file(f"part-{rank}.svm")).write_text("1 1:0.5\n-1 1:-0.25\n1 2:1\n")
        two = mpirun(2, "--shards", self.file("part-{rank}.svm"), "--rounds", "2", "--record",
                     self.file("two.json"))
        self.assertEqual(two.returncode, 0, two.stderr)
        notes = [line for line in two.stderr.splitlines() if "not read" in line]
        self.assertEqual(len(notes), 1, two.stderr)
        for part in ["2 files", "part-2.svm to ", "part-3.svm", "2 processes", "expected 4"]:
            self.assertIn(part, notes[0])
        self.assertEqual(sum("not read" in note for note in read(self.file("two.json"))["notes"]), 1)
        for rank in (2, 3):
            pathlib.Path(self.file(f"part-{rank}.svm")).unlink()
        two = mpirun(2, "--shards", self.file("part-{rank}.svm"), "--rounds", "2")
        self.assertEqual(two.returncode, 0, two.stderr)
        self.assertNotIn("not read", two.stderr)

    def test_shards_with_other_columns_are_refused(self):
        for rank, header in enumerate(["a,b,y", "b,a,y"]):
            pathlib.Path(self.file(f"part-{rank}.csv")).write_text(header + "\n1,2,0\n3,4,1\n")
        result = mpirun(2, "--shards", self.file("part-{rank}.csv"), "--agents", "2")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(self.errors(result)), 1, result.stderr)
        self.assertIn("part-1.csv: has other columns", self.errors(result)[0])

    def test_checkpoints_resume_to_the_record_of_an_uninterrupted_run(self):
        options = [*BASE, "--link", "edge", "--loss-rate", "0.2", "--delay", "3",
                   "--participation", "0.7"]
        whole = simulate(*options, "--rounds", "40", "--record", self.file("whole.json"))
        self.assertEqual(whole.returncode, 0, whole.stderr)
        keep = ["--checkpoint", self.file("state"), "--checkpoint-every", "7"]
        # Two processes up to round 20 (the last checkpoint is of round 14), then three.
        first = mpirun(2, *options, *keep, "--rounds", "20")
        self.assertEqual(first.returncode, 0, first.stderr)
        second = mpirun(3, *options, *keep, "--rounds", "40", "--record", self.file("resumed.json"))
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(essence(read(self.file("whole.json"))), essence(read(self.file("resumed.json"))))

    def test_a_checkpoint_of_another_run_or_a_damaged_one_is_refused(self):
        keep = ["--checkpoint", self.file("state"), "--checkpoint-every", "5"]
        self.assertEqual(mpirun(2, *SMALL, *keep).returncode, 0)
        other = mpirun(2, *SMALL, *keep, "--penalty", "0.01")
        self.assertEqual(other.returncode, 2)
        self.assertEqual(len(self.errors(other)), 1, other.stderr)
        self.assertIn("--penalty", self.errors(other)[0])
        damaged = pathlib.Path(self.file("state")) / "checkpoint.grove"
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 1
        damaged.write_bytes(content)
        refused = mpirun(2, *SMALL, *keep)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("checksum", self.errors(refused)[0])

    def workers(self, mark):
        """Process ids of the ranks whose command line has `mark`, without their guardians."""
        ranks = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                arguments = (entry / "cmdline").read_bytes().decode().split("\0")
                parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except (OSError, UnicodeDecodeError):
                continue
            if mark in arguments and arguments[0].endswith("grove"):
                ranks[entry.name] = parent
        return [int(process) for process, parent in ranks.items() if parent in ranks]

    def test_a_killed_process_ends_the_job_with_exit_code_4_and_the_run_can_go_on(self):
        options = [*BASE, "--rounds", "4000", "--measure-every", "100"]
        whole = simulate(*options, "--record", self.file("whole.json"))
        self.assertEqual(whole.returncode, 0, whole.stderr)
        keep = ["--checkpoint", self.file("state"), "--checkpoint-every", "100"]
        job = subprocess.Popen(
            [MPIEXEC, "-np", "3", GROVE, "train", "--runtime", "mpi", *options, *keep],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        checkpoint = pathlib.Path(self.file("state")) / "checkpoint.grove"
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        victims = self.workers(self.file("state"))
        self.assertEqual(len(victims), 3)
        os.kill(victims[-1], signal.SIGKILL)
        killed = time.monotonic()
        _, errors = job.communicate(timeout=60)
        self.assertLess(time.monotonic() - killed, 20)
        self.assertEqual(job.returncode, 4, errors)
        reported = [line for line in errors.splitlines() if line.startswith("grove:")]
        self.assertEqual(len(reported), 1, errors)
        self.assertIn("was lost: ended by signal 9", reported[0])
        again = mpirun(2, *options, *keep, "--record", self.file("resumed.json"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(essence(read(self.file("whole.json"))), essence(read(self.file("resumed.json"))))

    def test_free_running_reaches_the_optimum_with_one_process_slowed_tenfold(self):
        options = ["synthetic:ijcnn-like,samples=1200", "--link", "edge", "--free-running",
                   "--graph", "ring", "--l2", "1e-3", "--penalty", "0.01", "--tolerance", "1e-7",
                   "--rounds", "100000", "--threads", "1"]
        result = mpirun(3, *options, "--slow-rank", "1:10", "--record", self.file("free.json"))
        self.assertEqual(result.returncode, 0, result.stderr)
        record = read(self.file("free.json"))
        self.assertEqual(record["outcome"]["status"], "converged")
        self.assertLess(record["trace"][-1]["relative_error"], 1e-8)
        slow, fast = record["ranks"][1], record["ranks"][0]
        self.assertLess(slow["activations"], fast["activations"])
        dimension = record["problem"]["features"]
        header_bytes = 24
        for rank in record["ranks"]:
            self.assertEqual(rank["bytes_sent"],
                             rank["vectors_sent"] * (header_bytes + 8 * dimension))

    def test_free_running_has_matrix_weighted_links_by_default(self):
        options = ["synthetic:ijcnn-like,samples=1200", "--link", "edge", "--free-running", "--graph", "ring",
                   "--l1", "1e-3", "--tolerance", "1e-7", "--rounds", "100000", "--threads", "1"]
        for penalty in ["auto", "low-rank:4", "diagonal"]:
            result = mpirun(3, *options, "--penalty", penalty, "--slow-rank", "1:10", "--record",
                            self.file("free.json"))
            self.assertEqual(result.returncode, 0, result.stderr)
            record = read(self.file("free.json"))
            self.assertEqual(record["config"]["penalty"], "full" if penalty == "auto" else penalty)
            self.assertEqual(record["outcome"]["status"], "converged")
            self.assertLess(record["trace"][-1]["relative_error"], 1e-8)

    def test_free_running_is_refused_where_it_cannot_be(self):
        for options, wanted in [(["--free-running"], "--link edge"),
                                (["--free-running", "--link", "edge", "--participation", "0.5"],
                                 "--participation"),
                                (["--free-running", "--link", "edge", "--checkpoint",
                                  self.file("state")], "--checkpoint")]:
            result = mpirun(2, *options)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(wanted, self.errors(result)[0])
        self.assertEqual(simulate("--free-running").returncode, 2)
        self.assertIn("--speeds", self.errors(mpirun(2, "--speeds", "2"))[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
