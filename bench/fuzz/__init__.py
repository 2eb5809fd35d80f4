"""Every parser that reads from outside, and a search for bytes that break it or cost time: ``make fuzz``."""
