"""HTTP: requests that are tried again."""
