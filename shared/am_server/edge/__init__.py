"""HTTP around every function: who asks, from where, what it cost, and errors that are always JSON."""
