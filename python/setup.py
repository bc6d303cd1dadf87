"""Builds grove._core with CMake, in the build folder that ./run and ./test use where it fits."""
import pathlib
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent.parent
# That of a virtual environment is the interpreter that made it.
INTERPRETER = pathlib.Path(sys.executable).resolve()


def interpreter_of(cache):
    """The interpreter that a build folder was made for; None: the folder has no Python package."""
    for line in cache.read_text().splitlines():
        if line.startswith(("Python3_EXECUTABLE:", "_Python3_EXECUTABLE:")):
            return pathlib.Path(line.split("=", 1)[1]).resolve()
    return None


def build_folder():
    """build/release if it is made for this interpreter or can be, another one otherwise."""
    release = ROOT / "build" / "release"
    cache = release / "CMakeCache.txt"
    debian = pathlib.Path("/usr/bin/python3")
    usual = interpreter_of(cache) if cache.exists() else debian.exists() and debian.resolve()
    return release if usual == INTERPRETER else ROOT / "build" / f"python-{sys.implementation.cache_tag}"


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        folder = build_folder()
        if not (folder / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "--preset", "release", "-S", ROOT, "-B", folder,
                            f"-DPython3_EXECUTABLE={INTERPRETER}", "-DGROVE_TESTS=OFF",
                            "-DGROVE_BENCH=OFF"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "grove_python"], check=True)
        suffix = self.get_ext_filename(extension.name).rpartition("/")[2]
        target = pathlib.Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / "python" / "grove" / suffix, target)


setup(ext_modules=[Extension("grove._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
