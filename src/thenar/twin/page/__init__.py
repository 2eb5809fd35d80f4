"""The twin's side of the browser page: what is shown, what visitors ask for."""
