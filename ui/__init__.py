"""The Streamlit page: ask, watch, see the sides."""
