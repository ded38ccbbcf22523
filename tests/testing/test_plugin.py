"""The pytest plugin, in projects of its own: fixtures, recording, and a network that is blocked where the project wants that."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

OTHERS = ("cacheprovider", "hypothesispytest", "pytest_httpx", "respx", "xdist", "timeout")
OPTIONS = tuple(f"-pno:{name}" for name in OTHERS)
"""Without the plugins of this project's tests, which take most of the time."""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """An empty project."""
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*OPTIONS, "-q", *options)


FIXTURES = """
    import socket
    import pytest
    from llm_rest.testing import ToolCall

    def test_llm(llm):
        assert llm.generate("hi").output_text == "Hello."

    def test_script(fake_model):
        model = fake_model([ToolCall("f"), "done"])
        llm = model.client()
        assert llm.generate("hi").function_calls[0].name == "f"
        assert llm.generate("hi").output_text == "done"

    def test_unused(fake_model):
        fake_model(["never asked for"])

    def connect(host):
        with socket.socket() as opened:
            opened.settimeout(0.5)
            opened.connect((host, 9))

    def test_elsewhere():
        connect("192.0.2.1")

    def test_here():
        with pytest.raises(ConnectionRefusedError):
            connect("127.0.0.1")

    @pytest.mark.allow_network
    def test_allowed():
        with pytest.raises(OSError):
            connect("192.0.2.1")
"""


def test_fixtures_are_there_and_the_network_is_blocked_where_the_project_wants_that(project: pytest.Pytester) -> None:
    project.makepyprojecttoml("[tool.pytest.ini_options]\nllm_rest_block_network = true\n")
    project.makepyfile(FIXTURES)
    result = run(project, "--strict-markers")
    result.assert_outcomes(passed=5, errors=1, failed=1)
    unused = "*1 of 1 answers of the fake model made at *.py:15 were not used: 'never asked for'*"
    blocked = "*NetworkBlockedError: the network is blocked*192.0.2.1*allow_network*"
    result.stdout.fnmatch_lines([unused, blocked])


@pytest.mark.slow
def test_record_writes_a_file_once_and_replays_it_afterwards(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makepyfile(
        """
        import os
        from llm_rest import Client

        def test_talk(record):
            with Client("simulator/x") as llm:
                assert llm.generate(f"say {os.environ['WORD']}").output_text == os.environ["WORD"]
        """
    )
    monkeypatch.setenv("WORD", "one")
    run(project).assert_outcomes(passed=1)
    (path,) = (project.path / "cassettes").rglob("test_talk.jsonl")
    before = path.read_bytes()
    run(project).assert_outcomes(passed=1)
    assert path.read_bytes() == before
    monkeypatch.setenv("WORD", "two")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*body.input was "say one", and is "say two"*'])


def test_projects_that_merely_have_the_package_installed_notice_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import socket
        import sys

        def test_nothing_is_loaded_or_replaced():
            assert "connect" not in vars(socket.socket)
            loaded = {name for name in sys.modules if name.startswith("llm_rest")}
            assert loaded == {"llm_rest", "llm_rest.testing", "llm_rest.testing.plugin"}
            assert "msgspec" not in sys.modules
        """
    )
    run(project).assert_outcomes(passed=1)
