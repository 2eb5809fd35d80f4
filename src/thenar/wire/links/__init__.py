"""Links: a codec, a transport and an inbox each, one per protocol that a twin serves."""
