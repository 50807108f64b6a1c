"""Versions of the code that a result follows from: hashes of the modules that compute it.

A version changes with every constant and every statement, and not with comments or docstrings.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

__all__ = ["code_version", "modules", "statements"]

_FOLLOWED = ("noutput._random", "noutput.estimate.", "noutput.mechanisms.", "noutput.evaluation.")
_CONSTANTS = "noutput.evaluation.scenarios"  # plain data: units name those that they depend on


@cache
def code_version(*roots: str) -> str:
    """Return a hash of the statements of some modules, and of all that they import.

    Parameters
    ----------
    *roots : str
        Names of modules of `noutput`. What they import from mechanisms, estimators, the
        evaluation and the random source is followed.

    Examples
    --------
    >>> len(code_version("noutput.estimate.em"))
    16
    >>> code_version("noutput.estimate.em") == code_version("noutput.estimate.methods")
    False
    """
    text = "\n".join(f"{name}\n{statements(_source(name))}" for name in modules(*roots))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def modules(*roots: str) -> list[str]:
    """Return the modules that `code_version` looks at, sorted by name.

    Examples
    --------
    >>> modules("noutput.estimate.em")
    ['noutput.estimate.em', 'noutput.estimate.fit']
    """
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in _imports(ast.parse(_source(name))) if _followed(other)]
    return sorted(found)


def statements(source: str) -> str:
    """Return what a source does, without its comments, docstrings and layout.

    Examples
    --------
    >>> statements("LIMIT = 3  # of all")
    'LIMIT = 3'
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kept = [part for part in node.body if not _is_text(part)]
            node.body = kept or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, of a module, class, function or name."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield the names of modules that are imported when a module runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from _imports(node)


def _followed(name: str) -> bool:
    return name.startswith(_FOLLOWED) and name != _CONSTANTS and _spec(name) is not None


@cache
def _spec(name: str) -> ModuleSpec | None:
    """Find a plain module; packages only collect names, and attributes are no modules."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # an attribute of a module
        return None
    return None if spec is None or spec.submodule_search_locations is not None else spec


@cache
def _source(name: str) -> str:
    spec = _spec(name)
    if spec is None or spec.origin is None or not spec.has_location:
        raise ModuleNotFoundError(f"there is no source of {name}")
    return Path(spec.origin).read_text(encoding="utf-8")
