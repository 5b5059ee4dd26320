"""What readers make of the structure of Markdown, plain text and HTML, and of encodings that nobody names."""

from pathlib import Path

import pytest
from test_readers import one, write

from tools.documents.document import decode_text

# Encodings

RUSSIAN = "Мэр сказал, что стены небезопасны и что их ремонт будет стоить больше, чем город может найти."
JAPANESE = "市長は、壁は安全ではなく、修理には町が見つけられる以上の費用がかかると述べた。"
POLISH = "Zażółć gęślą jaźń. Burmistrz powiedział, że mury są niebezpieczne."


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "cp932"),
        (POLISH, "cp1250"),
        ("Où était l’été ? – Là.", "cp1252"),
    ],
)
def test_an_encoding_that_nobody_names_is_found(text: str, codec: str) -> None:
    assert decode_text(text.encode(codec)).text == text


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ('<meta charset="shift_jis">', "cp932"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">', "euc_jp"),
        ('<?xml version="1.0" encoding="utf-8"?>', "utf-8"),
        ('<meta charset="iso-8859-1">', "utf-8"),
        ('<meta charset="utf-8">', "cp932"),
    ],
)
def test_what_a_file_declares_holds_unless_its_bytes_are_others(tmp_path: Path, head: str, codec: str) -> None:
    page = f"{head}<html><body><p>{JAPANESE * 3}</p></body></html>"
    assert one(write(tmp_path / "a.html", page.encode(codec))).text == JAPANESE * 3
