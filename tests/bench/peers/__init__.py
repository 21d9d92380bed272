"""Other memories doing the same work in the same run, each in an environment of its own under .cache/peers."""
