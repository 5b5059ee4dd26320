"""What a request passes before it is answered: whose it is, how many there may be, how long it may take."""
