"""The calls of OpenAI's that answer questions, so that its clients work by changing the base address."""
