"""What flowed, into files that others can open."""
