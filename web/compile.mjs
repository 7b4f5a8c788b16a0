// Compiles the modules of a folder with the Python of the page, and removes their sources.
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.mountNodeFS("/tree", process.argv[2]);
python.runPython(`
import compileall, pathlib, py_compile
def level(folder):
    # Without docstrings; NumPy hands its own on while it is imported.
    return 1 if folder.name == "numpy" else 2
for place in pathlib.Path("/tree").iterdir():
    compile = compileall.compile_dir if place.is_dir() else compileall.compile_file
    compile(place, quiet=2, legacy=True, optimize=level(place), stripdir="/tree",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
for path in pathlib.Path("/tree").rglob("*.py"):
    if path.with_suffix(".pyc").exists():
        path.unlink()
`);
