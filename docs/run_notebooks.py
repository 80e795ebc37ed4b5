"""Run the notebooks of the documentation and keep what they print.

    python docs/run_notebooks.py [NOTEBOOK …]

Each runs in an empty folder. Needs ``pip install '.[docs]'``.
"""

import argparse
import base64
import getpass
import io
import json
import socket
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).parent


def execute(file: Path, folder: Path) -> nbformat.NotebookNode:
    """Return a notebook with its outputs, run in a folder; raises what a cell raises.

    Outputs name the folder ``~/tutorial``, the home ``~`` and the machine ``laptop``. What mgraph
    says when it compiles for the first time is left out.
    """
    notebook = nbformat.read(file, as_version=4)
    options = {"timeout": 600, "coalesce_streams": True}
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, **options).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
        if cell.cell_type == "code":
            cell.outputs = [_clean(each, folder) for each in cell.outputs if not _compiles(each)]
    return notebook


def _compiles(output: nbformat.NotebookNode) -> bool:
    return "compiling for the first use" in output.get("text", "")


def _clean(output: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Return an output without the names of this machine's folders."""
    text = json.dumps(output)
    me = f"{getpass.getuser()}@{socket.gethostname()}"
    for path, name in ((folder, "~/tutorial"), (Path.home(), "~"), (me, "me@laptop")):
        text = text.replace(str(path), name)
    text = text.replace(f" s on {socket.gethostname()}", " s on laptop")
    cleaned = nbformat.from_dict(json.loads(text.replace("\\r\\n", "\\n")))
    if "image/png" in cleaned.get("data", {}):
        cleaned.data["image/png"] = _small(cleaned.data["image/png"])
    return cleaned


def _small(picture: str) -> str:
    """Return a PNG of 128 colours, a quarter of the size."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    small = io.BytesIO()
    image.quantize(128, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def main() -> None:
    """Run the notebooks that are named, or the one that needs no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, default=[FOLDER / "tutorial.ipynb"])
    for file in parser.parse_args().notebooks:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(execute(file, Path(folder)), file)
        print(file)


if __name__ == "__main__":
    main()
