"""Studies, news, discussions and the encyclopedia over real HTTP on loopback: what is sent, and what comes back."""

import json
import random
from typing import Any

import pytest
from model_server import Reply
from played_sources import (
    AT_ONCE,
    ITEMS,
    KEY,
    QUESTION,
    SOURCES,
    answer,
    article,
    comment,
    hit,
    listed,
    news,
    paper,
    play,
    question,
    story,
    work,
)

from tools.budget import Budget
from tools.errors import DeadlineError, ProviderDownError, ProviderReplyError
from tools.web.keyword_source import keywords, plain_html
from tools.web.source import SourceResult

NAMES = sorted(SOURCES)
KEYLESS = [name for name in NAMES if name != "semanticscholar"]


# --- what is sent


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (QUESTION, "schools ban smartphones"),
        ("doubts and evidence against a carbon-free COVID-19 policy", "carbon free covid 19 policy"),
        ("NOT women's rights, don't (title:x) -site \"UN\" OR 5%", "women rights title x site un 5"),
        ("Sollten Schulen Handys verbieten?", "schulen handys verbieten"),
        ("Why should we do this?", "why should we do this"),
        ("¿?", ""),
    ],
)
def test_keywords(asked: str, words: str) -> None:
    assert " ".join(keywords(asked)) == words.replace(" x ", " ")


def test_keywords_have_a_longest_text() -> None:
    assert keywords("nuclear power plants", 14) == ["nuclear", "power"]
    assert keywords("EU and UN policy", shortest_word=3) == ["policy"]


SENT: dict[str, tuple[str, dict[str, str]]] = {
    "openalex": (
        "/works",
        {
            "search": "schools ban smartphones",
            "filter": "is_retracted:false,has_abstract:true",
            "per_page": "7",
            "mailto": "who@example.org",
            "api_key": KEY,
        },
    ),
    "europepmc": (
        "/search",
        {
            "query": "TITLE_ABS:schools AND TITLE_ABS:ban AND TITLE_ABS:smartphones AND HAS_ABSTRACT:Y",
            "resultType": "core",
            "format": "json",
            "pageSize": "7",
        },
    ),
    "semanticscholar": ("/paper/search", {"query": "schools ban smartphones", "limit": "7"}),
    "wikipedia": (
        "/w/api.php",
        {"srsearch": "schools ban smartphones", "gsrsearch": "schools ban smartphones", "srlimit": "7", "exintro": "1"},
    ),
    "gdelt": ("/api/v2/doc/doc", {"query": "schools ban smartphones sourcelang:english", "maxrecords": "7"}),
    "hackernews": (
        "/search",
        {
            "query": "schools ban smartphones",
            "optionalWords": "schools ban smartphones",
            "tags": "story",
            "numericFilters": "num_comments>0",
            "hitsPerPage": "7",
        },
    ),
    "stackexchange": (
        "/search/advanced",
        {
            "q": "schools ban smartphones",
            "site": "politics",
            "pagesize": "7",
            "filter": "withbody",
            "key": KEY,
        },
    ),
}


@pytest.mark.parametrize("name", NAMES)
async def test_a_search_is_asked_as_documented(name: str) -> None:
    played = await play(name, listed(name), limit=7)
    path, sent = SENT[name]
    request = played.asked[0]
    assert (played.results, played.error, len(played.asked)) == ([], None, 1)
    assert request.path == path
    assert request.body.items() >= sent.items()
    assert request.headers["user-agent"] == "Steelman/0.1 (mailto:who@example.org)"
    assert request.headers.get("x-api-key") == (KEY if name == "semanticscholar" else None)


async def test_gdelt_is_asked_for_domains() -> None:
    two = await play("gdelt", {}, domains=["bbc.co.uk", "*.gov"])
    query = "schools ban smartphones (domain:bbc.co.uk OR domain:gov) sourcelang:english"
    assert two.asked[0].body["query"] == query
    one = await play("gdelt", {}, domains=["bbc.co.uk"])
    assert one.asked[0].body["query"] == "schools ban smartphones domain:bbc.co.uk sourcelang:english"


async def test_many_keywords_without_a_result_are_asked_again_as_few() -> None:
    long = "Would a higher minimum wage in rural regions destroy jobs of unskilled workers?"
    played = await play("openalex", listed("openalex"), listed("openalex", work()), query=long)
    texts = [request.body["search"] for request in played.asked]
    assert texts == ["higher minimum wage rural regions destroy", "higher minimum wage"]
    assert len(played.results) == 1
    assert len((await play("hackernews", listed("hackernews"), query=long)).asked) == 1  # its words are optional


@pytest.mark.parametrize("name", NAMES)
async def test_a_query_without_words_is_not_asked(name: str) -> None:
    played = await play(name, listed(name), query="¿?")
    assert (played.results, played.error, played.asked) == ([], None, [])


# --- what comes back


async def test_a_work_of_openalex() -> None:
    assert (await play("openalex", listed("openalex", work()))).only() == SourceResult(
        "https://doi.org/10.1016/j.labeco.2016.04.004",
        "Ill communication: Technology, distraction & student performance",
        "",
        "2016-08-09",
        publisher="Labour Economics",
        author="Louis-Philippe Beland, Richard Murphy",
        venue="Labour Economics",
        text="Bans raise test scores. Bans help.",
        extent="abstract",
        open_url="https://eprints.example/1",
    )


async def test_an_article_of_europe_pmc() -> None:
    assert (await play("europepmc", listed("europepmc", article()))).only() == SourceResult(
        "https://doi.org/10.1016/j.lanepe.2025.101211",
        "Smartphone policies and mental wellbeing.",
        "",
        "2025-02-04",
        publisher="The Lancet regional health",
        author="Author A et al.",
        venue="The Lancet regional health",
        text="Background\nPoor mental health is linked to phones.\nFindings\nNo difference (p < 0.05).",
        extent="abstract",
        open_url="https://pmc.example/1",
    )


async def test_a_paper_of_semantic_scholar() -> None:
    assert (await play("semanticscholar", listed("semanticscholar", paper()))).only() == SourceResult(
        "https://doi.org/10.18653/v1/2020.acl-main.447",
        "S2ORC: The Semantic Scholar Open Research Corpus",
        "",
        "2020-07-01",
        publisher="ACL",
        author="Kyle Lo",
        venue="ACL",
        text="We introduce S2ORC, a large corpus.",
        extent="abstract",
        open_url="https://www.aclweb.org/anthology/2020.acl-main.447.pdf",
    )
    assert (await play("semanticscholar", {"total": 0, "offset": 0})).results == []


async def test_an_article_of_wikipedia() -> None:
    url = "https://en.wikipedia.org/wiki/Mobile_phones_in_schools"
    named = hit(pageid=72, page={"pageid": 72, "fullurl": "https://x.example", "pageprops": {"disambiguation": ""}})
    assert (await play("wikipedia", listed("wikipedia", named, hit()))).only() == SourceResult(
        url,
        "Mobile phones in schools",
        "a ban of phones & tablets",
        "2025-02-03",
        publisher="Wikipedia",
        text="Phones in schools are debated.\nSome countries ban them.",
        extent="extract",
        open_url=url,
    )
    assert (await play("wikipedia", {"batchcomplete": True})).results == []


async def test_an_article_of_gdelt() -> None:
    assert (await play("gdelt", listed("gdelt", news()))).only() == SourceResult(
        "https://www.news.example/2025/phones",
        "Schools ban phones, parents say: why?",
        "",
        "2025-11-12",
        publisher="news.example",
        venue="United Kingdom",
    )
    broken = (
        '{"articles": [{"url": "https://a.example/1", "title": "A \\\'b\\\'\nc \\"d\\" \\\\d", "seendate": "2026"}]}'
    )
    assert (await play("gdelt", broken)).only().title == "A 'b' c \"d\" \\d"


async def test_a_post_of_hacker_news_has_its_comments() -> None:
    other = comment(story_id=1, author="elsewhere")
    played = await play("hackernews", listed("hackernews", story()), listed("hackernews", comment(), other))
    assert played.only() == SourceResult(
        "https://news.ycombinator.com/item?id=40944505",
        "Ask HN: Should schools ban phones?",
        "",
        "2024-07-12",
        publisher="Hacker News",
        text="I teach.\nPupils 'multitask'.\nReply by teacher1:\nWe banned them.\nIt helps, see here.",
        extent="post",
    )
    assert played.asked[1].body["tags"] == "comment,(story_40944505)"
    alone = await play("hackernews", listed("hackernews", story()), listed("hackernews"))
    assert alone.only().author == "asker"


async def test_nobody_speaks_for_another_in_a_discussion() -> None:
    forged = comment(comment_text="Ban them.<p>Reply\u200bby Ann Lee:<p>Ann was wrong.", author="a:\nReply by Bob")
    told = story(story_text="Reply by Ann Lee:<p>I am Ann.")
    played = await play("hackernews", listed("hackernews", told), listed("hackernews", forged))
    assert played.only().text == "I am Ann.\nReply by a: Reply by Bob:\nBan them.\nAnn was wrong."


async def test_a_question_of_stack_exchange_has_its_answers() -> None:
    played = await play("stackexchange", listed("stackexchange", question()), listed("stackexchange", answer()))
    assert played.only() == SourceResult(
        "https://politics.stackexchange.com/questions/123/why-do-states-ban-phones",
        'Why do states "ban" phones in schools?',
        "",
        "2020-01-01",
        publisher="Politics Stack Exchange",
        text="Several states ban phones.\nWhy?\nReply by Cy:\nBecause of attention.",
        extent="post",
    )
    assert played.asked[1].path == "/questions/123/answers"
    alone = await play("stackexchange", listed("stackexchange", question()), listed("stackexchange"))
    assert alone.only().author == "Ann & Bob"


@pytest.mark.parametrize("name", ["hackernews", "stackexchange"])
async def test_posts_without_replies_are_better_than_none(name: str) -> None:
    played = await play(name, listed(name, ITEMS[name]()), Reply(status=503, headers=AT_ONCE))
    assert played.only().extent == "post"
    assert "gave posts without replies" in played.notes[0][1]


async def test_one_site_that_fails_leaves_the_others() -> None:
    def two_sites(source: Any) -> None:
        source.sites = ("politics", "skeptics")

    played = await play(
        "stackexchange",
        Reply({"error_id": 400, "error_message": "no such site", "error_name": "bad_parameter"}, status=400),
        listed("stackexchange"),
        change=two_sites,
    )
    assert (played.results, played.error) == ([], None)
    assert "no such site" in played.notes[0][1]


@pytest.mark.parametrize("name", ["openalex", "europepmc", "semanticscholar"])
async def test_retracted_studies_are_left_out(name: str) -> None:
    title = "display_name" if name == "openalex" else "title"
    item = ITEMS[name]
    studies = [
        item(**{title: f"{word} Phones and grades"})
        for word in ("RETRACTED:", "[Retracted Article]", "Retraction note:")
    ]
    studies += [work(is_retracted=True)] if name == "openalex" else []
    studies += [article(pubTypeList={"pubType": ["Retracted Publication"]})] if name == "europepmc" else []
    kept = item(**{title: "Retraction of muscles", "doi": None, "externalIds": None})
    assert (await play(name, listed(name, *studies, kept))).only().title == "Retraction of muscles"
    assert (await play(name, listed(name, *studies))).results == []


async def test_what_a_study_may_lack() -> None:
    bare = {"id": "https://openalex.org/W1", "display_name": "T", "publication_date": "2016-01-01"}
    assert (await play("openalex", listed("openalex", bare))).only() == SourceResult(
        "https://openalex.org/W1", "T", "", "2016"
    )
    bare = {"id": "1", "source": "PPR", "title": "T", "pubYear": "2024", "authorString": "A B, C D."}
    found = (await play("europepmc", listed("europepmc", bare))).only()
    assert (found.url, found.date, found.author, found.extent) == (
        "https://europepmc.org/article/PPR/1",
        "2024",
        "A B, C D.",
        "",
    )
    bare = paper(externalIds=None, publicationDate=None, abstract=None, openAccessPdf={"url": ""}, journal=None)
    found = (await play("semanticscholar", listed("semanticscholar", bare))).only()
    assert found.url.startswith("https://www.semanticscholar.org/paper/")
    assert (found.date, found.text, found.extent, found.open_url) == ("2020", "", "", "")


@pytest.mark.parametrize("name", NAMES)
async def test_results_of_other_domains_are_left_out(name: str) -> None:
    assert (await play(name, listed(name, ITEMS[name]()), listed(name), domains=["who.int"])).results == []


# --- bad days


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "raw",
    ["[]", "null", "3", "", "{", '{"x": 1}', "<html>Sign in to the hotel's network</html>", "[" * 5000, b"\xff\xfe{"],
    ids=str,
)
async def test_replies_that_are_none(name: str, raw: str | bytes) -> None:
    played = await play(name, raw)
    assert isinstance(played.error, ProviderReplyError)
    assert SOURCES[name].title in str(played.error)


@pytest.mark.parametrize("name", NAMES)
async def test_lists_that_are_none(name: str) -> None:
    lists: list[list[Any]] = [["a", 3], [None], [{}], [{"url": 7, "id": ["x"], "link": {}, "objectID": True}]]
    for odd in lists:
        played = await play(name, listed(name, *odd) if name != "wikipedia" else {"query": {"search": odd}})
        assert isinstance(played.error, ProviderReplyError), odd


@pytest.mark.parametrize("name", NAMES)
async def test_refusals(name: str) -> None:
    title = SOURCES[name].title
    for status, error in ((400, ProviderReplyError), (429, ProviderDownError), (500, ProviderDownError)):
        played = await play(name, Reply({"message": f"no {KEY}"}, status=status, headers=AT_ONCE))
        assert type(played.error) is error, status
        assert str(played.error).startswith(title)
        assert f"status {status}: no …" in str(played.error)
        assert len(played.asked) == (1 if status == 400 else 3)
    played = await play(name, Reply("go away", status=403), key="")
    assert isinstance(played.error, ProviderDownError)
    assert "key" not in str(played.error) or name == "semanticscholar"


REFUSED: list[tuple[str, Any, type[Exception], str]] = [
    (
        "gdelt",
        "Your query was too short or too long.\n",
        ProviderReplyError,
        "GDELT refused the query: Your query was too",
    ),
    (
        "gdelt",
        "Please limit requests to one every 5 seconds or …",
        ProviderReplyError,
        "GDELT refused.*one every 5 seconds",
    ),
    (
        "gdelt",
        Reply(raw=b"Please limit requests", status=429, headers=AT_ONCE),
        ProviderDownError,
        "Please limit requests",
    ),
    ("europepmc", {"errCode": 404, "errMsg": "Unsupported field"}, ProviderReplyError, "Unsupported field"),
    ("semanticscholar", {"message": "Too Many Requests", "code": "429"}, ProviderReplyError, "Too Many Requests"),
    (
        "wikipedia",
        {"error": {"code": "maxlag", "info": "Waiting for 10.64.48.35: 6 seconds lagged."}},
        ProviderDownError,
        "lagged",
    ),
    (
        "wikipedia",
        {"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}},
        ProviderDownError,
        "rate limit",
    ),
    (
        "wikipedia",
        {"error": {"code": "search-error", "info": "A query of <b>300</b>"}},
        ProviderReplyError,
        "refused: A query of 300",
    ),
    (
        "stackexchange",
        Reply(
            {"error_id": 502, "error_message": "too many requests from this IP", "error_name": "throttle_violation"},
            status=400,
        ),
        ProviderDownError,
        "status 400: too many requests from this IP",
    ),
    (
        "stackexchange",
        Reply({"error_id": 400, "error_message": "site is required", "error_name": "bad_parameter"}, status=400),
        ProviderReplyError,
        "site is required",
    ),
]


@pytest.mark.parametrize(("name", "reply", "error", "says"), REFUSED)
async def test_refusals_in_a_vendors_own_form(name: str, reply: Any, error: type[Exception], says: str) -> None:
    played = await play(name, reply)
    assert type(played.error) is error
    with pytest.raises(error, match=says):
        raise played.error


@pytest.mark.parametrize("name", NAMES)
async def test_slow_and_cut_replies(name: str) -> None:
    slow = await play(name, Reply(hang=True), seconds=0.1)
    assert isinstance(slow.error, ProviderDownError)
    assert "did not answer in time" in str(slow.error)
    cut = await play(name, Reply(listed(name, ITEMS[name]()), cut=True))
    assert isinstance(cut.error, ProviderDownError)


async def test_a_refusal_is_waited_for_if_the_deadline_allows_it() -> None:
    import time

    full = Reply(status=429, headers={"Retry-After": "1"})
    played = await play("openalex", full, listed("openalex", work()))
    assert len(played.results) == 1
    assert played.asked[1].at - played.asked[0].at >= 1
    soon = await play("openalex", full, listed("openalex", work()), budget=Budget(deadline_at=time.time() + 0.5))
    assert isinstance(soon.error, ProviderDownError)
    late = await play("openalex", listed("openalex"), budget=Budget(deadline_at=time.time() - 1))
    assert isinstance(late.error, DeadlineError)


async def test_a_source_that_limits_requests_is_asked_slowly() -> None:
    def spaced(source: Any) -> None:
        source.pause = 0.5

    refused = await play("gdelt", Reply(status=429), listed("gdelt", news()), change=spaced)
    assert refused.asked[1].at - refused.asked[0].at >= 0.5
    twice = await play("wikipedia", listed("wikipedia"), query="one two three four five", change=spaced)
    assert twice.asked[1].at - twice.asked[0].at >= 0.25  # the first one may have taken a while


async def test_stack_exchange_may_ask_for_a_pause() -> None:
    first = listed("stackexchange", question()) | {"backoff": 0.4}
    played = await play("stackexchange", first, listed("stackexchange", answer()))
    assert played.asked[1].at - played.asked[0].at >= 0.4
    backoffs: list[Any] = ["1", -1, 1e9, True, [], float("nan")]
    for odd in backoffs:
        played = await play("stackexchange", first | {"backoff": odd}, listed("stackexchange", answer()))
        assert "Reply by Cy" in played.only().text
    long = await play("stackexchange", first | {"backoff": 60}, listed("stackexchange", answer()))
    assert len(long.asked) == 1
    assert "takes no more requests at the moment" in long.notes[0][1]


async def test_an_offline_run_asks_nobody() -> None:
    def far(source: Any) -> None:
        source.address = source.home

    for name in NAMES:
        played = await play(name, listed(name), budget=Budget(offline=True), change=far)
        assert isinstance(played.error, ProviderDownError)
        assert "stays offline" in str(played.error)


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "x",
    "20261345T",
    "\ud800",
    "<" * 50,
    "&#0;&#x110000;",
    [],
    [[]],
    [{}],
    {},
    {"a": []},
]


@pytest.mark.parametrize("name", NAMES)
async def test_no_odd_value_breaks_a_reader(name: str) -> None:
    """Each value of a reply, at any depth, is replaced by something of another type."""

    def spoilt(value: Any, odds: random.Random) -> Any:
        if odds.random() < 0.12:
            return odds.choice(ODD)
        if isinstance(value, dict):
            return {key: spoilt(item, odds) for key, item in value.items()}
        return [spoilt(item, odds) for item in value] if isinstance(value, list) else value

    replies = {"hackernews": comment, "stackexchange": answer}
    for seed in range(12):
        odds = random.Random(seed)
        item, more = ITEMS[name], replies.get(name, ITEMS[name])
        first, second = spoilt(listed(name, item(), item()), odds), spoilt(listed(name, more(), more()), odds)
        played = await play(name, json.dumps(first), json.dumps(second))
        assert played.error is None or isinstance(played.error, ProviderReplyError | ProviderDownError)
        for result in played.results:
            assert result.url.startswith("http")
            assert result.title.isprintable()


def test_html_becomes_lines_of_text() -> None:
    html = "<p>One <b>bold</b> &amp; <a href='x'>two</a></p><ul><li>three<li>four</ul>a &lt; b<br/>c<!-- d -->"
    assert list(filter(None, plain_html(html).split("\n"))) == ["One bold & two", "three", "four", "a < b", "c"]
    assert plain_html("E. coli &lt;i&gt;x&lt;/i&gt;") == "E. coli x"
    assert plain_html("p<0.05 and q>3") == "p<0.05 and q>3"
    assert plain_html("&lt;p&gt;a &lt;i&gt;x&lt;/i&gt; &lt;b&gt;y&lt;/b&gt;&lt;/p&gt;") == "a x y"
    for text in ("<!--", "&lt;i&gt;"):
        assert plain_html(text * 200_000)  # in linear time
