"""HTTP: requests that are tried again, and second requests beside slow ones."""
