"""Sensor models: from pressure to the counts that a taxel or a barometer reports."""
