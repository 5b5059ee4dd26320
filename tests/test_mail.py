"""Mail: each message is a document of its sender, and each quoted message one of its own writer."""

import time
from email.message import EmailMessage
from pathlib import Path

import pytest

from tools.documents.readers import read_file
from tools.passages import SourceDocument

HEAD = "From: Ann Lee <ann@x.org>\nSubject: =?utf-8?q?The_weir_=E2=80=93?=\nDate: Thu, 6 Mar 2025 19:12:00 +0100\n"
OWN = "Ann Lee 2025-03-06: Fish pass it."


def outputs(path: Path, text: str | bytes, name: str = "a.eml") -> list[str]:
    """'Writer day: words' of each document, and what is told besides."""
    (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = list(read_file(path / name, name))
    return [_told(each) for each in found]


def _told(found: object) -> str:
    if isinstance(found, SourceDocument):
        return f"{found.author} {found.date}: {' '.join(found.text.split())}"
    return str(found)


@pytest.mark.parametrize(
    ("above", "writer"),
    [
        ("On Wed, 5 Mar 2025 at 10:01, Ben Fox <ben2024@x.org> wrote:", "Ben Fox 2025-03-05"),
        ("On Wed, 5 Mar 2025 10:01:22 +0000 (GMT)\nBen Fox via List <list@x.org> wrote:", "Ben Fox 2025-03-05"),
        ("Ben Fox wrote:", "Ben Fox "),
        (
            "------- Original Message -------\nOn March 5th, 2025 at 10:01 AM, Ben Fox <b@x> wrote:",
            "Ben Fox 2025-03-05",
        ),
        ("", "somebody quoted by Ann Lee "),
    ],
)
def test_marked_quotations(tmp_path: Path, above: str, writer: str) -> None:
    text = f"{HEAD}\nFish pass it.\n\n{above}\n\n> It blocks\n> them.\n>> No.\n"
    first, second, *nested = outputs(tmp_path, text)
    assert (first, second.removesuffix(" No.")) == (OWN, f"{writer}: It blocks them.")
    assert not nested or nested == [f"somebody quoted by {'Ann Lee'} : No."]


@pytest.mark.parametrize(
    "header",
    [
        "-----Original Message-----\nFrom: Ben Fox <b@x>\nSent: Wed, March 5, 2025 9:01 AM\nTo: A;\n Dee\nSubject: W",
        "----- Forwarded message -----\nFrom: Ben Fox <b@x>\nDate: Wed, Mar 5, 2025 at 9 AM\nSubject: W\nTo: <a@x>\n",
        "----- Forwarded Message -----\nSubject: W\nDate: Wed, 5 Mar 2025 10:01:22 +0000\nFrom: Ben Fox <b@x>\nTo: A",
    ],
)
def test_messages_below_their_header(tmp_path: Path, header: str) -> None:
    below = "From: Cy Dow\nSent: 4 March 2025\nTo: Ben\nSubject: Weir\n\nWhy?\n"
    text = f"{HEAD}\nFish pass it.\n\n{header}\n\nIt blocks them.\n\n{below}"
    assert outputs(tmp_path, text) == [OWN, "Ben Fox 2025-03-05: It blocks them.", "Cy Dow 2025-03-04: Why?"]


@pytest.mark.parametrize(
    ("header", "day"),
    [
        ("---------- Forwarded message ----------\nFrom: *Ben Fox* <b@x>\n", ""),
        ("---------- Forwarded message ----------\nFrom: Ben Fox\nDate: 5 March 2025\n", "2025-03-05"),
        ("-----Original Message-----\nFrom: Ben Fox <b@x>", ""),
        ("Begin forwarded message:\n\nFrom: Ben Fox <b@x>\n\nDate: 5 March 2025 at 10:00\n", "2025-03-05"),
        (
            "---------- Weitergeleitete Nachricht ---------\nVon: Ben Fox <b@x>\nDatum: 2025-03-05\nAn: Ann",
            "2025-03-05",
        ),
        ("-----Ursprüngliche Nachricht-----\nVon: Ben Fox <b@x>\nGesendet: 5. März 2025\nAn: A\nBetreff: W", ""),
        ("Anfang der weitergeleiteten Nachricht:\n\nVon: Ben Fox <b@x>\nBetreff: W", ""),
    ],
)
@pytest.mark.parametrize("mark", ["", "> "])
def test_a_forwarded_message_is_its_senders(tmp_path: Path, header: str, day: str, mark: str) -> None:
    forwarded = "".join(f"{mark}{line}\n" for line in f"{header}\n\nIt blocks\nthem.".split("\n"))
    text = f"{HEAD}\nFish pass it.\n\n{forwarded}"
    assert outputs(tmp_path, text) == [OWN, f"Ben Fox {day}: It blocks them."]


@pytest.mark.parametrize("between", ["<br>", "</p><p>"])
def test_a_forwarded_web_page_is_its_senders(tmp_path: Path, between: str) -> None:
    lines = "-------- Forwarded message --------", "From: <b>Ben Fox</b> &lt;b@x&gt;", "Date: 5 March 2025", "To: A"
    body = f"<p>Fish pass it.</p><p>{between.join(lines)}</p><p>It blocks them.</p>"
    text = f"{HEAD}Content-Type: text/html\n\n{body}"
    assert outputs(tmp_path, text) == [OWN, "Ben Fox 2025-03-05: It blocks them."]


def test_a_line_of_dashes_forwards_nothing(tmp_path: Path) -> None:
    text = f"{HEAD}\nFish pass it.\n\n----- A last message -----\n\nFrom now on they may.\n"
    assert outputs(tmp_path, text) == [f"{OWN} ----- A last message ----- From now on they may."]


def test_parts_of_a_message(tmp_path: Path) -> None:
    inner = EmailMessage()
    inner["From"], inner["Date"] = "Ben Fox <b@x.org>", "Wed, 5 Mar 2025 10:01:22 +0000"
    inner.set_content("It blocks them – now.")
    message = EmailMessage()
    message["From"], message["Date"] = "Ann Lee <ann@x.org>", "Thu, 6 Mar 2025 19:12:00 +0100"
    message.set_content("Fish pass it.")
    message.add_alternative("<p>Fish pass it. And more.</p>", subtype="html")
    message.add_attachment(inner)
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    message.add_attachment("Not read.", filename="a.txt")
    assert outputs(tmp_path, bytes(message)) == [OWN, "Ben Fox 2025-03-05: It blocks them – now."]
    [document, _] = read_file(tmp_path / "a.eml", "a.eml")
    assert isinstance(document, SourceDocument)
    assert document.left_out == {"attachments": 2}
    assert document.title == "a"


def boxed(sender: str, day: int, text: str) -> str:
    return (
        f"From x Mon Mar  3 10:00:00 2025\nFrom: {sender}\nSubject: Weir\nDate: {day} Mar 2025 10:00:00\n\n{text}\n\n"
    )


@pytest.mark.parametrize("name", ["a.mbox", "a.txt"])
def test_a_mailbox(tmp_path: Path, name: str) -> None:
    first = boxed("a at x.org (Ann Lee)", 4, "Fish pass it. It is low.\n\nFrom now on they may.")
    second = boxed("'Ben Fox' via River <l@x>", 5, "Ann wrote:\n> Fish pass it.\n\n>From here I see none.\n\n> Why?\n")
    told = outputs(tmp_path, first + second + "From x 10:00:00\nX: y\n\nlost\n\n" + boxed("Cy <c@x>", 6, ""), name)
    assert told == [
        "Ann Lee 2025-03-04: Fish pass it. It is low. From now on they may.",
        "Ben Fox 2025-03-05: From here I see none.",
        "Ann : Why?",
        f"{name}, message 3: is no mail, since it has no header.",
        f"{name}, message 4: holds no text.",
    ]
    keys = [d.identity for d in read_file(tmp_path / name, name) if isinstance(d, SourceDocument)]
    assert keys == [f"{name}, message 1", f"{name}, message 2", f"{name}, message 2, Ann"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", f"{HEAD}Content-Transfer-Encoding: quoted-printable\n\nFish=\n pass it.\n", OWN),
        ("a.txt", "From:\tAnn Lee <a@x>\nSent:\t6 March 2025 13:02\nSubject:\tWeir\n\nFish pass it.", OWN),
        ("a.txt", f"\ufeff{HEAD}\nFish pass it.".replace("\n", "\r\n"), OWN),
        ("a.txt", f"{HEAD}\nCafés – no.".encode("utf-16"), "Ann Lee 2025-03-06: Cafés – no."),
        ("a.txt", "To: All\nFrom: The council\nSubject: Weir\n\nFish pass it.", "The council : Fish pass it."),
        ("a.eml", f"{HEAD}\nCaf\xe9s \x96 no.".encode("latin-1"), "Ann Lee 2025-03-06: Cafés – no."),
        (
            "a.eml",
            f"{HEAD}Content-Type: text/plain; charset=none\ncontent-transfer-encoding: base64\n\nRmlzaCBwYXNzIGl0Lg=@",
            OWN,
        ),
        ("a.eml", "Subject: Weir\n\nFish pass it.", " : Fish pass it."),
        ("a.eml", HEAD, "a.eml: holds no text."),
        ("a.eml", b"%PDF-1.4 \x00", "a.eml: is no mail, since it has no header."),
        ("a.mbox", b"", "a.mbox: is no mail, since it has no header."),
        (
            "a.eml",
            f"{HEAD}Content-Type: multipart/mixed; boundary=b0\n\n"
            + "".join(f"--b{n}\nContent-Type: multipart/mixed; boundary=b{n + 1}\n\n" for n in range(3000)),
            "a.eml: this message is damaged (maximum recursion depth exceeded",
        ),
    ],
)
def test_what_is_mail(tmp_path: Path, name: str, text: str | bytes, expected: str) -> None:
    [told] = outputs(tmp_path, text, name)
    assert told.startswith(expected)


def test_hostile_mail_takes_little_time(tmp_path: Path) -> None:
    started = time.process_time()
    bodies = ["To: " * 15_000, "From:\n" * 15_000, "On 1 " * 15_000, "x wrote:\n" * 9_000, "-" * 90_000, ">" * 90_000]
    bodies += ["---- Original Message ----\n" * 3_000 + "From:"]
    for body in bodies:
        outputs(tmp_path, f"{HEAD}\n{body}")
        outputs(tmp_path, f"From: {body}\nDate: {body}\n\nFish.".replace("\n", " ") + "\n\nFish.")
    assert time.process_time() - started < 6


def test_a_text_around_a_forwarded_message_keeps_both_writers_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "I would still sign the letter.\n\nLena\n\nFrom: Ann Lee\nSent: 4 March 2025 08:15\nTo: Lena Fisk\n"
        "Subject: phones\n\nWe tried lockers for a term.\n"
    )
    found = [document for document in read_file(path, "a.txt") if isinstance(document, SourceDocument)]
    writers = {block.text: document.author for document in found for block in document.blocks}
    assert writers["We tried lockers for a term."] == "Ann Lee"
    assert writers["I would still sign the letter."] != "Ann Lee"


def test_a_timetable_is_no_forwarded_message(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The ferry\n\nDate: 3 May 2024\nFrom: Hill\nTo: Sea\nThe ferry is slow.\n")
    assert [d.author for d in read_file(path, "a.txt") if isinstance(d, SourceDocument)] == [""]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_german_text_around_a_forwarded_message_has_its_subject_as_title(tmp_path: Path, end: str) -> None:
    lines = "Bitte lesen.", "", "Von: Jörg Ång <j@x.de>", "Datum: 3.3.2024", "Betreff: Gebühren", "An: Rat", "", "Nein."
    path = tmp_path / "a.txt"
    path.write_bytes(end.join([*lines, ""]).encode())
    found = [d for d in read_file(path, "a.txt") if isinstance(d, SourceDocument)]
    assert [(d.title, d.author) for d in found] == [("Gebühren", ""), ("Gebühren", "Jörg Ång")]


@pytest.mark.parametrize(("greeting", "kind"), [("Dear Ms Roe,\n\n", "e-mail"), ("Press release\n\n", "press release")])
def test_a_message_is_an_e_mail_unless_it_states_its_kind(tmp_path: Path, greeting: str, kind: str) -> None:
    path = tmp_path / "a.eml"
    path.write_text(f"{HEAD}\n{greeting}Fish pass the weir at night, and nobody counts them.\n")
    [found] = read_file(path, "a.eml")
    assert isinstance(found, SourceDocument)
    assert found.kind == kind
