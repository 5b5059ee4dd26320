"""What is asked of an answer that stands before the reader: told by the answer itself, or searched for."""

import asyncio
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pytest
from numpy.typing import NDArray
from test_ui_parts import ANSWER, citation

from agent.answer.model import Answer
from agent.answer.requests import CAN, Question, Reply, read_request
from tools.models.encoders.encoder import MiniLM

TWO = ANSWER.model_copy(
    update={
        "citations": [
            citation(1, 4),
            citation(2).model_copy(update={"date": "2019-05-01", "publisher": "Herald", "kind": "academic"}),
        ],
        "perspectives": [
            ANSWER.perspectives[0],
            ANSWER.perspectives[1].model_copy(
                update={"claims": [ANSWER.perspectives[0].claims[0].model_copy(update={"citations": [2]})]}
            ),
            *ANSWER.perspectives[2:],
        ],
    }
)


class Ask(Protocol):
    """Reads a request of the answer."""

    def __call__(self, words: str, answer: Answer = ...) -> Reply | Question: ...


@pytest.fixture(scope="module")
def asked(encoder: MiniLM) -> Ask:
    known: dict[str, NDArray[np.float32]] = {}

    async def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        missing = [text for text in texts if text not in known]
        known.update(zip(missing, encoder.encode(missing), strict=True))
        return np.array([known[text] for text in texts])

    return lambda words, answer=TWO: asyncio.run(read_request(words, answer, encode))


def told(reply: Reply | Question) -> str:
    assert isinstance(reply, Reply)
    return reply.text


def test_the_answer_tells_what_it_can(asked: Ask) -> None:
    assert told(asked("could you condense that for me")).startswith("In short\n  • ")
    weighed = told(asked("who has got the better evidence then"))
    assert "For: some: 1 quotation from 2 sources" in weighed
    assert told(asked("what exactly is [1]?")).startswith("[1] Title 1. Paper 1, news, 12 March 2026.")
    assert "numbers of this answer are 1, 2" in told(asked("explain claim 7"))


def test_sources_are_kept_by_date_and_by_publisher(asked: Ask) -> None:
    newer = told(asked("leave out anything older than 2024"))
    assert newer.startswith("What rests on 1 source from 2024 on\n  • For: “It lasts.” [1]")
    assert "Nothing of it speaks for: Against." in newer
    assert told(asked("just the Herald please")).startswith("What rests on 1 source from Herald\n  • Against:")
    assert "1 source from Herald" in told(asked("academic sources only"))
    assert "They are: Paper 1, Herald." in told(asked("only from the Guardian"))


@pytest.mark.parametrize("words", ["only from Cllr Faulds", "what does Faulds say?", "What did Cllr Faulds argue?"])
def test_sources_are_kept_by_their_speaker(asked: Ask, words: str) -> None:
    spoken = [
        c.model_copy(update={"speaker": s}) for c, s in zip(TWO.citations, ("Cllr Moen", "Cllr Faulds"), strict=True)
    ]
    reply = told(asked(words, TWO.model_copy(update={"citations": spoken})))
    assert reply.startswith("What rests on 1 source from Cllr Faulds\n  • Against:")


@pytest.mark.parametrize(
    "words", ["before 2020 only please", "nothing after 2020", "just the older sources", "until 2019"]
)
def test_the_older_sources_are_kept_where_these_are_wanted(asked: Ask, words: str) -> None:
    assert re.match(
        r"What rests on 1 source from before \S+( \w+ 2026)?\n  • Against: “It lasts.” \[2]", told(asked(words))
    )


@pytest.mark.parametrize(
    "words", ["isn't this outdated? newer ones please", "drop the old stuff", "nothing from before 2024"]
)
def test_the_newer_sources_are_kept_where_the_old_ones_are_not_wanted(asked: Ask, words: str) -> None:
    assert re.match(r"What rests on 1 source from \S+( \w+ 2026)? on\n  • For: “It lasts.” \[1]", told(asked(words)))


@pytest.mark.parametrize("words", ["How many sources are newer than 2020?", "When was the newest source published?"])
def test_a_question_about_the_sources_is_told(asked: Ask, words: str) -> None:
    assert told(asked(words)).startswith("What rests on 1 source from ")


def test_sources_without_a_date_are_told(asked: Ask) -> None:
    undated = TWO.model_copy(update={"citations": [TWO.citations[0], TWO.citations[1].model_copy(update={"date": ""})]})
    assert told(asked("only newer sources", undated)).endswith("Left out, since their dates are not known: [2]")


def test_a_side_is_told_to_whom_asks_for_it_alone(asked: Ask) -> None:
    for words in ("what do critics say?", "any arguments against?", "what are the sceptics worried about?", "why not?"):
        assert told(asked(words)) == "What speaks for Against\n  • “It lasts.” [2]"
    for words in ("what do its supporters say", "only show me the case for", "reasons to do it", "pros?"):
        assert told(asked(words)) == "What speaks for For\n  • “It lasts.” [1]"


def test_more_is_searched_for_what_was_asked_last(asked: Ask) -> None:
    focused = TWO.model_copy(update={"focus": "the cost"})
    assert asked("dig up more for the against side", focused) == Question("What about the cost?", "deep")


@pytest.mark.parametrize(
    ("words", "question", "depth"),
    [
        ("challenge claim 1", "challenge claim 1", None),  # read where the run begins
        ("I'm not convinced by number 2", "Strongest counter-argument to 2?", None),
        ("dig up more for the against side", TWO.neutral_question, "deep"),
        ("how's this in Finland", "What about Finland?", None),
        ("what would a teacher say?", "What about a teacher?", None),
        ("What about the cost?", "What about the cost?", None),
        ("And in Germany?", "What about Germany?", None),
        ("who benefits most", "And who benefits most?", None),
        ("how many pupils are affected?", "And how many pupils are affected?", None),
        ("Should ferries run at night?", "Should ferries run at night?", None),
        ("Should schools teach a new subject like coding?", "Should schools teach a new subject like coding?", None),
        ("what might a night nurse at a hospital think?", "And what might a night nurse at a hospital think?", None),
        ("another question: should ferries run at night?", "should ferries run at night?", None),
        ("???", "???", None),
        *(
            (fact, fact, None)
            for fact in (
                "How many call-outs did the team have in 2024?",
                "How much was spent since 2020?",
                "Which year did the team begin?",
                "Who paid for the helicopter?",
                "Has the team had more call-outs since 2020?",
            )
        ),
    ],
)
def test_what_has_to_be_searched_for_becomes_a_question(
    asked: Ask, words: str, question: str, depth: str | None
) -> None:
    assert asked(words) == Question(question, depth)  # type: ignore[arg-type]


def test_what_cannot_be_done_says_what_can(asked: Ask) -> None:
    assert asked("translate this into French") == Reply(CAN)
    assert asked("ok thanks") == Reply(CAN)


def test_what_no_source_holds_is_asked_back(asked: Ask) -> None:
    assert told(asked("who disputes that takings fell by 14 percent?")).startswith(
        "Which claim? Name it by its number: 1, 2"
    )
    assert told(asked("explain claim 1")).count("It lasts.") == 1


def test_words_of_a_source_stand_for_it(asked: Ask) -> None:
    quoted = TWO.citations[1].model_copy(update={"quote": "Ferries run aground at night."})
    known = TWO.model_copy(update={"citations": [TWO.citations[0], quoted]})
    assert told(asked("where does the bit about running aground come from?", known)).startswith("[2] ")
    assert asked("I don't believe the bit about running aground", known) == Question("Strongest counter-argument to 2?")
    assert "numbers of this answer are 1, 2" in told(asked("where does the bit about bridges come from?", known))


def test_a_figure_that_a_source_quotes_stands_for_the_source(asked: Ask) -> None:
    quoted = TWO.citations[1].model_copy(update={"quote": "It costs 62,000 a year, and 3.37 a visit."})
    figures = TWO.model_copy(update={"citations": [TWO.citations[0], quoted]})
    for words in ("where does the 62,000 come from", "explain the number 3.37", "what is meant by claim 2"):
        assert told(asked(words, figures)).startswith("[2] ")
    assert "numbers of this answer are 1, 2" in told(asked("explain claim 37", figures))
