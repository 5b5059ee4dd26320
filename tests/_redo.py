import asyncio, json, sys, tempfile, os
from pathlib import Path

for n in [n for n in os.environ if n.startswith(("STEELMAN_", "CHROMA_"))]:
    del os.environ[n]
from tests.golden_answers import asked, golden_answer, golden_settings
from agent.runs.open import open_runs


async def main(names, folder):
    with tempfile.TemporaryDirectory() as d:
        async with open_runs(golden_settings(Path(d)), offline=True) as runs:
            for n in names:
                (folder / f"{n}.json").write_text(
                    json.dumps(await golden_answer(runs, asked()[n]), indent=1, ensure_ascii=False) + "\n"
                )
                print(n, flush=True)


asyncio.run(main(sys.argv[2:], Path(sys.argv[1])))
