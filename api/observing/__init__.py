"""What can be seen of the server from outside: a log line a request, and figures for Prometheus."""
