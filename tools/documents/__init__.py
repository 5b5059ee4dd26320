"""Files into documents, documents into collections."""
