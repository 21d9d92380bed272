"""What turns the code into running functions: the local gateway, emulators, packaging, smoke test and cost model."""
