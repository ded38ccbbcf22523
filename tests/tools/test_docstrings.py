"""Google, NumPy and reST docstrings give the same description."""

from __future__ import annotations

import pytest

from llm_rest.tools.docstrings import read

GOOGLE = """The weather now.

    It comes from
    a station.

    Args:
        city (str): Where,
            by its usual name.
        unit: Celsius: C, or F
        **more: Ignored.

    Returns:
        The temperature: a text.

    Raises:
        KeyError: An unknown city.

    Example:
        >>> weather("Oslo")
    """

NUMPY = """The weather now.

    It comes from
    a station.

    Parameters
    ----------
    city : str
        Where,
        by its usual name.
    unit : {"C", "F"}, optional
        Celsius: C, or F

    **more
        Ignored.

    Returns
    -------
    str
        The temperature.

    See Also
    --------
    forecast
    """

REST = """The weather now.

    It comes from
    a station.

    :param str city: Where,
        by its usual name.
    :param unit: Celsius: C, or F
    :type unit: str
    :param more: Ignored.
    :returns: The temperature.
    :raises KeyError: An unknown city.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_style_gives_the_description_and_the_parameters(docstring: str) -> None:
    assert read(docstring) == (
        "The weather now.\n\nIt comes from\na station.",
        {"city": "Where, by its usual name.", "unit": "Celsius: C, or F", "more": "Ignored."},
    )


READ: list[tuple[str | None, tuple[str, dict[str, str]]]] = [
    (None, ("", {})),
    ("One line.", ("One line.", {})),
    ("Looks up: a word.\nNote: this is text.", ("Looks up: a word.\nNote: this is text.", {})),
    ("A.\n\nArgs:\n    x: The x.\n\nMore to say.", ("A.\n\nMore to say.", {"x": "The x."})),
    ("A.\n\nParameters\n----------\nx, y : int\n    Both.", ("A.", {"x": "Both.", "y": "Both."})),
    ("A.\n\n:param x: The x.\n:warning: stays", ("A.\n\n:warning: stays", {"x": "The x."})),
    ("A.\n\nArgs:\n    x: One\n\n        and more.\n    y: Two.", ("A.", {"x": "One and more.", "y": "Two."})),
    (
        "Args:\n        x: The x,\n            and more.\n        y: The y.\n    ",
        ("", {"x": "The x, and more.", "y": "The y."}),
    ),
    ("A.\n\nKeyword Arguments:\n    - `x`: The x.\n    y : The y.", ("A.", {"x": "The x.", "y": "The y."})),
    ("A.\n\nArgs:\n  x (dict[str, int], optional): The x.", ("A.", {"x": "The x."})),
]
"""Docstrings, and the description and the parameters of each."""


def test_what_is_no_section_is_description() -> None:
    assert [(docstring, read(docstring)) for docstring, _ in READ] == READ
