"""Writes text by people, models and sources to the page as escaped HTML.

Streamlit's Markdown turns even escaped words into icons, images and links. Only labels of buttons use Markdown, because
Streamlit requires it there (`escaping.escaped`).
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
    """Shows a message that is not an error."""
    st.html(f'<p class="sm-alert" role="status">{text(words)}</p>')


def error(words: str) -> None:
    """Shows an error and what to do next."""
    sentence = words[:1].upper() + words[1:]  # on a terminal the program's name precedes the words
    st.html(f'<p class="sm-alert sm-error" role="alert">{text(sentence)}</p>')
