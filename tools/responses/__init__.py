"""What documents answer to a question: a thesis each, the evidence for it, and groups of theses that say the same.

The parts of a multi-perspective search engine (its paper, §4.2), over arrays that a caller brings: no model is asked.
"""
