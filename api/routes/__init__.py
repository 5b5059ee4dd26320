"""The calls over HTTP, a module for each family; each makes a router."""
