import pytest
from test_degrading import STAGES, Reply, answering, run, settings, server, library, library_template, case_of, JUDGES, DOWN, FailingJudge, _of_a_claim, _asked, quick_retries
@pytest.mark.usefixtures("library")
async def test_w(server):
    server.on(STAGES["write"], Reply(hang=True))
    answering(server, again=True)
    a = await run(settings(server), seconds=4)
    print("WRITE", a.notes, a.providers, a.timings)
@pytest.mark.usefixtures("library")
async def test_one(server):
    server.on(lambda body: STAGES["write"] in _asked(body) and "<statement>Voting should not" in _asked(body), "no")
    answering(server)
    a = await run(settings(server), seconds=20, max_rounds=0)
    print("ONE", a.notes, a.providers)
    for p in server.prompts(): print(p[-1500:-900] if 'Write up' in p else p[:50])
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("w", list(JUDGES))
async def test_j(server, w):
    judge = FailingJudge(server, JUDGES[w], DOWN["500"])
    answering(server)
    server.on(STAGES["write"], case_of)
    a = await run(settings(server, judge_url=server.url, judge_model="judge-model"), seconds=20, max_rounds=0)
    print("J", w, judge.asked, judge.failed, a.notes, a.providers, a.coverage)
    for c in a.citations: print(c.support, [m.support for m in c.more], c.quote)
    print([ (p.statement,[(c.text,c.citations) for c in p.claims]) for p in a.perspectives])
