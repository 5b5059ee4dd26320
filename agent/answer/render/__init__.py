"""The answer as text for a terminal, Markdown, HTML and docx; all of them say the same in the same words."""
