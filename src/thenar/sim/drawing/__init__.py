"""What a world looks like: pictures drawn without a screen, and the visible shapes as plain data for the page."""
