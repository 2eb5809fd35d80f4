"""How far a hand and its twin differ under the same commands, as findings with a size."""
