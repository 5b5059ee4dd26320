"""The page at /docs: every call as the OpenAPI document has it, with a line for curl and a form that sends it."""
