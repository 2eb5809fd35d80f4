"""The browser page: its own process, fed by the running twin through shared memory and a pipe."""
