"""The twin's side of the browser page: what it shows, and what its users ask for."""
