// Compiles the modules of a folder with the Python of the page, and removes their sources.
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.mountNodeFS("/tree", process.argv[2]);
python.runPython(`
import compileall, pathlib, py_compile
def modules():
    return [path for path in pathlib.Path("/tree").rglob("*.py")]
compileall.compile_dir("/tree", quiet=2, legacy=True, optimize=1, stripdir="/tree",
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
for path in modules():
    if path.with_suffix(".pyc").exists():
        path.unlink()
`);
