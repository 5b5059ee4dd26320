"""HTTP requests with retries."""
