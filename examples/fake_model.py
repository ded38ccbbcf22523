"""Test a function that calls a model: a fake model with a script, and the requests it got."""

from llm_rest import Client, RateLimitError
from llm_rest.testing import FakeModel


def summarize(llm: Client, text: str) -> str:
    """The function under test."""
    return llm.generate_text(f"Summarize in one sentence:\n{text}", max_output_tokens=100)


def test_the_text_is_in_the_prompt_and_a_rate_limit_is_retried() -> None:
    """Runs with pytest too, where `fake_model` is a fixture."""
    fake = FakeModel([RateLimitError("slow down", retry_after=0.01), "It rained."])
    with fake.client() as llm:
        assert summarize(llm, "Rain all day.") == "It rained."
    assert [request.max_output_tokens for request in fake.requests] == [100, 100]
    assert "Rain all day." in str(fake.requests[0].input)
    fake.check()  # the whole script was used


if __name__ == "__main__":
    test_the_text_is_in_the_prompt_and_a_rate_limit_is_retried()
    print("passed")
