"""A gateway set up in Python: names, limits and access tokens, and a handler of one's own behind the same server.

Prints:

    simulator/quick True
    {'alice': 'ALICE_TOKEN'}
    Through the gateway.
    Good day.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from llm_rest import Client, Message, Request, Response
from llm_rest.responses import AnyEvent, OutputText
from llm_rest.responses.stream import disassemble
from llm_rest.server import Config, Context, Gateway, Keep, Limits, Upstream, create_app, serve_in_thread


class Greeter:
    async def answer(self, request: Request, context: Context) -> Response:
        said = Message(role="assistant", status="completed", content=[OutputText(text="Good day.", annotations=[])])
        return Response(id="resp_1", status="completed", model=request.model or "greeter", output=[said])

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[AnyEvent, None]:
        for event in disassemble(await self.answer(request, context)):
            yield event

    async def count(self, request: Request, context: Context) -> int:
        return 0

    def models(self) -> Sequence[str]:
        return ["greeter"]

    def has_model(self, name: str) -> bool:
        return name == "greeter"


def main() -> None:
    names = {"fast": "simulator/quick"}
    config = Config(default="simulator/any-name", models=names, limits=Limits(concurrent=20), keep=Keep(bytes=10**8))
    print(config.models["fast"], callable(create_app(Gateway(config))))
    upstream = Upstream(model="compatible/llama", base_url="https://llm.example/v1", key_env="OWN_KEY")
    print(Config(models={**names, "own": upstream}, tokens={"alice": "ALICE_TOKEN"}).tokens)
    with serve_in_thread(Gateway(config)) as url, Client("anthropic/fast", base_url=url, api_key="any") as llm:
        print(llm.generate_text("say Through the gateway."))
    with serve_in_thread(Greeter()) as url, Client("compatible/greeter", base_url=f"{url}/v1") as llm:
        print(llm.generate_text("Hi"))


if __name__ == "__main__":
    main()
