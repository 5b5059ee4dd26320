"""Passages know where they stand in their document."""

import time

from tools.documents.document import document_of_blocks
from tools.documents.passage_cutting import cut_document
from tools.passages import Block, PassageText

LONG = " ".join(f"Sentence {i} says that parking costs the whole town a good deal of money." for i in range(20))


def passages(*blocks: Block, title: str = "Parking") -> list[PassageText]:
    return cut_document(document_of_blocks("a", blocks, {"title": title}))


def test_no_passage_goes_on_below_another_heading() -> None:
    found = passages(
        Block("Parking", "heading", 1),
        Block("Free parking is paid by all."),
        Block("Costs", "heading", 2),
        Block("It costs a lot."),
        Block("It fills the street."),
    )
    assert found == [
        PassageText("Free parking is paid by all."),
        PassageText("It costs a lot. It fills the street.", section="Costs"),
    ]


def test_pages_of_a_passage() -> None:
    found = passages(Block(LONG, page=3, last_page=4), Block("A last word is said on the next page.", page=5))
    assert [(p.page, p.last_page) for p in found] == [*([(3, 4)] * (len(found) - 1)), (5, 5)]
    assert " ".join(p.text for p in found) == f"{LONG} A last word is said on the next page."


def test_tables_and_captions_stand_apart() -> None:
    rows = "\n".join(f"row {i} | 40 | 40 | 20" for i in range(60))
    found = passages(Block("Prose before."), Block(rows, "table", page=2), Block("Table 1: shares", "caption"))
    assert {p.form for p in found} == {"prose", "table", "caption"}
    assert "\n".join(p.text for p in found if p.form == "table") == rows
    assert all(p.page == 2 for p in found if p.form == "table")


def test_a_table_of_empty_rows_takes_no_time() -> None:
    begun = time.process_time()
    assert [p.text for p in passages(Block(f"a | b{chr(10) * 50_000}c | d", "table"))] == ["a | b\nc | d"]
    assert time.process_time() - begun < 4


def test_items_stay_lines_of_their_own_and_notes_apart() -> None:
    found = passages(Block("free buses", "item"), Block("cheap trams", "item"), Block("See the report.", "note"))
    assert [p.text for p in found] == ["- free buses\n- cheap trams", "See the report."]
