"""The package is typed, and its stubs tell the truth."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STUB = ROOT / "cgcmarl" / "_native.pyi"


def run(*words):
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_type_checks():
    run("mypy", "--strict", "--ignore-missing-imports", "-p", "cgcmarl")


def test_the_stub_of_the_native_half_is_what_was_built():
    run("mypy.stubtest", "cgcmarl._native")


def plain(annotation):
    """A type without what is only a matter of writing: what Rust takes from any sequence or path."""
    if annotation is None:
        return None
    text = ast.unparse(annotation)
    for written, short in [
        ("collections.abc.", ""), ("typing.", ""), ("numpy.typing.", ""), ("builtins.", ""), ("_typeshed.", ""),
        ("str | PathLike[str]", "str"), ("SupportsGetItem[int, ", "list["), ("Sequence[", "list["),
        ("SupportsFloat | SupportsIndex", "float"),
        ("Callable[[int, str], Any]", "Any"), ("Callable[[str], Any]", "Any"), ("Any | None", "Any"),
        ("SupportsIndex", "int"),
    ]:  # fmt: skip
        text = text.replace(written, short)
    return text


def functions(tree):
    """Every function and method with the names and types of its arguments and its type."""
    found = {}
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inside:
            if isinstance(one, ast.FunctionDef):
                arguments = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
                types = [(argument.arg, plain(argument.annotation)) for argument in arguments]
                found[prefix + one.name] = types[bool(prefix) :], plain(one.returns)
    return found


def agree(ours, built):
    """Whether two types are the same, as far as the built module knows: numpy's are left open there."""
    if built is None or "Incomplete" in built or built == "Any" or ours == built:
        return True
    if ours is None:
        return False
    # Parts of a tuple or a list one by one.
    one, other = ast.parse(ours, mode="eval").body, ast.parse(built, mode="eval").body
    if isinstance(one, ast.Subscript) and isinstance(other, ast.Subscript):
        if ast.unparse(one.value) != ast.unparse(other.value):
            return False
        parts = [part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice] for part in (one, other)]
        return len(parts[0]) == len(parts[1]) and all(agree(*map(ast.unparse, pair)) for pair in zip(*parts))
    return False


def test_the_stub_says_what_the_built_module_says_of_itself(tmp_path):
    """The other half: PyO3 writes a stub of the Rust signatures; names, order and types are those we typed."""
    maturin = Path(sys.executable).parent / "maturin"
    command = [maturin, "generate-stubs", "--profile", "release", "--quiet", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (generated,) = tmp_path.rglob("*.pyi")
    ours = functions(ast.parse(STUB.read_text("utf-8")))
    built = functions(ast.parse(generated.read_text("utf-8")))
    assert set(ours) == set(built)
    for name, (arguments, result) in ours.items():
        their_arguments, their_result = built[name]
        assert [word for word, _ in arguments] == [word for word, _ in their_arguments], name
        for (word, own), (_, theirs) in zip(arguments, their_arguments):
            assert agree(own, theirs), f"{name}: {word} is {own} here and {theirs} there"
        assert agree(result, their_result), f"{name} gives {result} here and {their_result} there"
