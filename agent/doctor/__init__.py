"""What the doctor tells: which provider serves each stage, and whether each of them can be used."""
