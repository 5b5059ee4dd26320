"""Documents in other languages are told from English ones."""

import pytest

from tools.language.identification import language_of, name_of_language

FOREIGN = {
    "de": "Das Tempolimit auf Autobahnen rettet Leben und senkt den Verbrauch, sagen die einen. Viele Fahrer sind "
    "dagegen, weil sie schneller ankommen wollen und die Strecken gut ausgebaut finden.",
    "ru": "Многие жители считают, что бесплатный проезд в городском транспорте снизит число машин на улицах, другие "
    "боятся роста налогов.",
    "nl": "De regering wil mobiele telefoons verbieden in de klas. Dat is goed voor leerlingen die moeite hebben om "
    "zich te concentreren, zegt de minister, maar de leraren waren het daar niet mee eens.",
    "ja": "日本の捕鯨は伝統であると言う人がいる。しかし多くの国が反対している。クジラの数は回復しているという"
    "研究もあるが、議論は続いている。",
}


@pytest.mark.parametrize("code", FOREIGN)
def test_other_languages(code: str) -> None:
    assert language_of(FOREIGN[code]) == code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("ja", "市長は港を閉じた。人々は怒っている。船は来ない。魚もない。"),
        ("zh", "市长关闭了港口。人们很生气。"),
        ("ko", "시장은 항구를 닫았다. 사람들은 화가 났다."),
        ("ru", "Порт закрыт. Люди недовольны."),
        ("ar", "أغلق رئيس البلدية الميناء."),
        ("hi", "महापौर ने बंदरगाह बंद कर दिया।"),
    ],
)
def test_a_script_that_english_does_not_use_tells_enough(code: str, text: str) -> None:
    assert language_of(text) == code


def test_a_foreign_script_in_english_says_nothing() -> None:
    assert language_of("The μ-opioid receptor and the word харьков are what this text is about, and not more.") == "en"
    assert language_of("Σ αβ = γδ") == ""


def test_english_with_foreign_words_is_english() -> None:
    text = "The Bundesverfassungsgericht struck down the Vorratsdatenspeicherung, and the Süddeutsche was glad of it."
    assert language_of(text) == "en"
    assert language_of(f"{text * 40} {FOREIGN['de']}") == "en"


def test_english_of_few_function_words() -> None:
    assert language_of("Zoos protect endangered species. Rent control reduces supply. Ban phones. Tax sugar.") in (
        "en",
        "",
    )
    assert language_of("Ferries should run at night, because they bring people home who work late.") == "en"


def test_too_little_to_tell() -> None:
    assert language_of("") == language_of("12 | 40") == language_of("Kosten Nutzen") == ""


def test_names() -> None:
    assert name_of_language("de") == "German"
    assert name_of_language("xx") == "the language 'xx'"
