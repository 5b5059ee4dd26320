"""Documents and questions in other languages are told from English ones."""

import pytest

from tools.language.identification import language_of, reads_as_english

GERMAN = (
    "Das Tempolimit auf Autobahnen rettet Leben und senkt den Verbrauch, sagen die einen. Viele Fahrer sind dagegen, "
    "weil sie schneller ankommen wollen und die Strecken gut ausgebaut finden."
)
DUTCH = (
    "De regering wil mobiele telefoons verbieden in de klas. Dat is goed voor leerlingen die moeite hebben om zich te "
    "concentreren, zegt de minister, maar de leraren waren het daar niet mee eens."
)
MIXED = "The Bundesverfassungsgericht struck down the Vorratsdatenspeicherung, and the Süddeutsche was glad of it."


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", GERMAN),
        ("nl", DUTCH),
        # A script that English does not use tells enough.
        ("ja", "日本の捕鯨は伝統であると言う人がいる。しかし多くの国が反対している。"),
        ("zh", "市长关闭了港口。人们很生气。"),
        ("ko", "시장은 항구를 닫았다. 사람들은 화가 났다."),
        ("ar", "أغلق رئيس البلدية الميناء."),
        ("en", "The μ-opioid receptor and the word харьков are what this text is about, and not more."),
        ("en", f"{MIXED * 40} {GERMAN}"),
        ("en", "Ferries should run at night, because they bring people home who work late."),
        # Too little to tell
        *(("", text) for text in ("", "12 | 40", "Kosten Nutzen", "Σ αβ = γδ")),
    ],
)
def test_the_language_of_a_text(code: str, text: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("shud the nite fery stop?", True),
        ("stopp teh nite fery", True),
        ("shoud teh old cran be torn dwn", True),
        ("gibt es the met noch", False),
        ("vi piace the office", False),
        ("bør nattfergen stoppes", False),
    ],
)
def test_a_question_with_a_word_of_english_alone_may_be_misspelt(question: str, english: bool) -> None:
    assert reads_as_english(question) is english
