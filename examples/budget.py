"""A budget for a whole program: calls and runs of tools share it, and stop before it is exceeded.

Usage:
    python examples/budget.py                                             # the simulator, with made-up prices
    python examples/budget.py 5.00 anthropic/claude-haiku-4-5 data.json   # dollars, a model, a file of genai-prices
"""

import sys

from llm_rest import Budget, BudgetError, Client


def main(dollars: str = "0.0013", model: str = "simulator/demo", prices: str = "fixtures/prices/prices.json") -> None:
    """Ask until the budget is used up; print what each answer cost."""
    budget = Budget(usd=float(dollars))
    with Client(model, budget=budget, prices=prices) as llm:
        try:
            for n in range(1, 1000):
                reply = llm.generate(f"Write {n} words about budgets.", max_output_tokens=50)
                cost = "unknown" if reply.cost is None else f"${reply.cost / 1e9:.6f}"
                print(f"answer {n}: {cost}")
        except BudgetError as error:
            print(f"stopped: {error}")
    print(budget)


if __name__ == "__main__":
    main(*sys.argv[1:])
