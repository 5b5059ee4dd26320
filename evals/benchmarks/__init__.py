"""Speed of the parts and of the whole, for the suite `bench`; the servers, pages and corpora that it needs."""
