"""What people, models and sources wrote, on the page: always as HTML that was escaped, never through Markdown.

Streamlit's Markdown makes icons, pictures and links of words even where they are escaped, so only the labels of
buttons, which must be Markdown, go through it (`shown.escaped`).
"""

import streamlit as st

from ui.escaping import text


def title(words: str) -> None:
    st.html(f"<h1>{text(words)}</h1>")


def line(words: str) -> None:
    st.html(f"<p>{text(words)}</p>")


def small(words: str) -> None:
    st.html(f'<p class="sm-small">{text(words)}</p>')


def warning(words: str) -> None:
    """Something to know that is nobody's mistake."""
    st.html(f'<p class="sm-alert" role="status">{text(words)}</p>')


def error(words: str) -> None:
    """Something that did not work, and what to do next."""
    sentence = words[:1].upper() + words[1:]  # on a terminal it stands after the program's name
    st.html(f'<p class="sm-alert sm-error" role="alert">{text(sentence)}</p>')
