"""What the model gets of attachments."""

from __future__ import annotations

from app.data.attachment_text import NAME_LENGTH, attachment_block, clean_name, with_attachments
from app.data.stored_message import Attachment

CODE = Attachment("a.py", "print(1)\n")
NOTES = Attachment("notes.md", "See:\n````\n```\n````\n")


def test_files_stand_as_blocks_before_the_text() -> None:
    assert with_attachments("What does it do?", [CODE]) == (
        "File: a.py\n```\nprint(1)\n```\n\nWhat does it do?"
    )
    assert with_attachments("Alone", []) == "Alone"


def test_nothing_in_a_file_ends_its_block() -> None:
    assert attachment_block(NOTES) == "File: notes.md\n`````\nSee:\n````\n```\n````\n`````\n\n"


def test_the_whole_is_the_sum_of_what_is_counted() -> None:
    parts = attachment_block(CODE) + attachment_block(NOTES) + "text"
    assert with_attachments("text", [CODE, NOTES]) == parts


def test_names_have_no_folders_and_no_tricks() -> None:
    assert clean_name("/home/me/notes.md") == "notes.md"
    assert clean_name("C:\\Users\\me\\notes.md") == "notes.md"
    assert clean_name("photo\u202egnp.exe") == "photognp.exe"
    assert clean_name("two\nlines\0.txt") == "twolines.txt"
    assert clean_name("می\u200cخواهم.txt") == "می\u200cخواهم.txt"  # a joiner that Persian is spelled with
    assert clean_name("\u202e\n") == "file"
    assert len(clean_name("x" * 500 + ".txt")) == NAME_LENGTH
    assert clean_name("x" * 500 + ".txt").endswith(".txt")
