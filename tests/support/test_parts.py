from __future__ import annotations

from pathlib import Path

from tests.__main__ import parts


def test_every_file_of_tests_is_in_one_part_of_the_suite() -> None:
    root = Path(__file__).parents[2]
    found = sorted(file for files in parts().values() for file in files)
    assert found == sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))
